//! Starts the service on what a power cut left, and compares it with the promises.

use std::{path::Path, time::Duration};

use serde_json::json;

use super::recording::{Promised, Promises, Upload};
use crate::{
    deployment::{Deployment, User, fresh, targets},
    error::Result,
    harness::Harness,
    http_response::{integer, list, text},
    moment,
    promises::{self, Broken, PromisedPost, Version, Wanted},
};

/// The lease of a delivery whose process died is 90 s; then its outcome is looked up.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(150);

/// Considers the promises until `position`.
pub(super) async fn find_broken(data: &Path, promises: &Promises, position: u64) -> Result<Broken> {
    let harness = match Harness::start_on(data, 0, &[]).await {
        Ok(harness) => harness,
        Err(error) => return Ok(lost(vec![format!("the service does not start: {error}")])),
    };
    let deployment = Deployment::new(harness.ready().clone()).await?;
    let Promised { at, value: token } = &promises.token;
    if position < *at {
        return Ok(Broken::default());
    }
    let api = deployment.stranger()?.with_token(Some(token));
    let user = User::from_token(&deployment, api, deployment.browser()?).await?;
    if user.id == 0 {
        return Ok(lost(vec!["the user's token".to_owned()]));
    }
    let mut posts = promises.posts.clone();
    let mut broken = Broken::default();
    match publish_anew(&user, promises, position).await? {
        NewPost::Accepted(post) => posts.push(post),
        NewPost::NothingConnected => {}
        NewPost::Refused(reason) => broken.lost.push(reason),
    }
    for upload in promises.uploads.iter().filter(|it| it.at <= position) {
        broken.lost.extend(difference(&user, &upload.value).await?);
    }
    promises::wait_for_publishing(&user, PUBLISH_TIMEOUT).await?;
    // A second publish call would follow soon.
    tokio::time::sleep(Duration::from_secs(3)).await;
    broken.extend(promises::find_broken(&user, &posts, position).await?);
    broken.lost.extend(damaged_pictures(&user, promises).await?);
    Ok(broken)
}

fn lost(lost: Vec<String>) -> Broken {
    Broken { lost, ..Broken::default() }
}

enum NewPost {
    Accepted(PromisedPost),
    /// No connection was promised.
    NothingConnected,
    Refused(String),
}

/// On all promised connections. The post is published if their credentials can be read.
async fn publish_anew(user: &User<'_>, promises: &Promises, position: u64) -> Result<NewPost> {
    let connected: Vec<_> = promises.connections.iter().filter(|it| it.at <= position).map(|it| &it.value).collect();
    if connected.is_empty() {
        return Ok(NewPost::NothingConnected);
    }
    let content = fresh("after the cut");
    let on = targets(&connected)?;
    let body = json!({ "content": content, "platforms": on, "scheduled_at": moment::in_seconds(0) });
    let response = user.api.post("/posts", &body).await?;
    if response.status != 201 {
        return Ok(NewPost::Refused(response.test_error("a post on the connections").to_string()));
    }
    let versions = vec![Version { content, wanted: Wanted::Published, promised_at: Some(0) }];
    let id = integer(&response.json()?, "id")?;
    Ok(NewPost::Accepted(PromisedPost { id, accounts: connected.len(), has_picture: false, versions }))
}

/// From what was sent; `None` if there is none.
async fn difference(user: &User<'_>, upload: &Upload) -> Result<Option<String>> {
    let body = json!({ "content": fresh("a picture after the cut"), "media": [upload.path] });
    let response = user.api.post("/posts", &body).await?;
    if response.status != 201 {
        return Ok(Some(response.test_error(&format!("the upload {}", upload.path)).to_string()));
    }
    let received = user.deployment.http().get(text(&response.json()?["media"][0], "url")?).send().await?;
    let status = received.status().as_u16();
    let is_whole = status == 200 && received.bytes().await? == upload.bytes;
    Ok((!is_whole).then(|| format!("the download of {} is {status}, or has other bytes", upload.path)))
}

async fn damaged_pictures(user: &User<'_>, promises: &Promises) -> Result<Vec<String>> {
    let mut damaged = Vec::new();
    for post in user.deployment.all_posts().await? {
        for picture in list(&post, "media")? {
            let link = url::Url::parse(user.deployment.origin())?.join(text(picture, "url")?)?;
            let bytes = user.deployment.http().get(link).send().await?.bytes().await?;
            if promises.uploads.iter().all(|it| bytes != it.value.bytes) {
                damaged.push(format!("the published picture of {}", post["text"]));
            }
        }
    }
    Ok(damaged)
}
