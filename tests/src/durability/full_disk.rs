//! Refuses every change of the data folder for a while, as a full or a read-only disk does.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    faulty_disk::{FaultyDisk, Shim},
    measured::Measured,
};
use crate::{
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::Result,
    http_response::HttpResponse,
    moment, picture,
    promises::{self, PromisedPost, Version, Wanted, count_acknowledged},
};

/// Written before the fault.
const POSTS: u32 = 24;

/// The fault lasts at least this long; posts become due meanwhile.
const LASTS: Duration = Duration::from_secs(8);

/// A delivery whose result could not be stored waits for its lease, 90 s, and for the sweep.
const PUBLISH_TIMEOUT: Duration = Duration::from_mins(4);

/// Checks afterwards that every acknowledged post is published once.
pub(super) async fn writes_are_refused(shim: &Shim, fault: &str) -> Result<Measured> {
    let disk = FaultyDisk::new(shim)?;
    let harness = disk.start().await?;
    let deployment = Deployment::new(harness.ready().clone()).await?;
    let mut user = deployment.new_user().await?;
    let (a, b) = (user.connect(0).await?, user.connect(1).await?);
    let picture = user.picture().await?;
    let mut posts = Vec::new();
    for number in 0..POSTS {
        posts.push(promises::write_post(&user.api, [&a, &b], &picture, number, &|| 0).await?);
    }
    // One becomes due in each second of the fault.
    for seconds in 1..=8 {
        let content = fresh("due meanwhile");
        let id = user.schedule(&content, &[&a], seconds).await?;
        let versions = vec![Version { content, wanted: Wanted::Published, promised_at: Some(0) }];
        posts.push(PromisedPost { id, accounts: 1, has_picture: false, versions });
    }
    let upload = user.api.post("/media", &json!({ "mime_type": "image/png" })).await?.ok(201)?;

    disk.inject(fault)?;
    let until = Instant::now() + LASTS;
    while Instant::now() < until {
        refuse_each_write(&user, &a, &upload, &mut posts, fault).await?;
    }
    disk.inject("")?;

    promises::wait_for_publishing(&user, PUBLISH_TIMEOUT).await?;
    // A second publish call would follow soon.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let broken = promises::find_broken(&user, &posts, 0).await?;
    user.create(&json!({ "content": fresh("after the fault") })).await?;
    Ok(Measured { starts: 1, acknowledged: count_acknowledged(&posts), broken, is_loss_expected: false })
}

/// One of each kind. A server error is the expected response.
async fn refuse_each_write(
    user: &User<'_>,
    connection: &Value,
    upload: &Value,
    posts: &mut [PromisedPost],
    fault: &str,
) -> Result {
    let on = targets(&[connection])?;
    let body = json!({ "content": fresh("refused"), "platforms": on, "scheduled_at": moment::in_seconds(0) });
    is_refused(&user.api.post("/posts", &body).await?, fault)?;
    is_refused(&user.api.post("/media", &json!({ "mime_type": "image/png" })).await?, fault)?;
    let status = user.put(upload, &picture::png(64, 48, [9, 9, 9])).await?;
    ensure!(500 <= status, "an upload returned {status} with {fault}");

    let is_draft = |post: &&mut PromisedPost| post.versions.last().is_some_and(|it| it.wanted == Wanted::Draft);
    if let Some(post) = posts.iter_mut().find(is_draft) {
        let content = fresh("refused change");
        let response = user.api.patch(&format!("/posts/{}", post.id), &json!({ "content": content })).await?;
        is_refused(&response, fault)?;
        // A change is atomic, but its response does not say whether it was stored.
        post.versions.push(Version { content, wanted: Wanted::Draft, promised_at: None });
    }
    Ok(())
}

/// The client has checked that the body is an error with a message.
fn is_refused(response: &HttpResponse, fault: &str) -> Result {
    if 500 <= response.status {
        return Ok(());
    }
    Err(response.test_error(&format!("expected a server error with {fault}")))
}
