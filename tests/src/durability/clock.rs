//! Moves the clock of the service by an hour while posts are due.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    faulty_disk::{FaultyDisk, Shim},
    measured::Measured,
};
use crate::{
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::Result,
    harness::Harness,
    http_response::integer,
    promises::{self, PromisedPost, Version, Wanted, count_acknowledged},
};

/// The sweep finds a delivery that no timer will wake 60 s after it is due.
const PATIENCE_S: u64 = 200;

/// A second publish call would follow within this time.
const SETTLES: Duration = Duration::from_secs(8);

struct Scene {
    deployment: Deployment,
    disk: FaultyDisk,
    _harness: Harness,
}

impl Scene {
    async fn new(shim: &Shim) -> Result<Self> {
        let disk = FaultyDisk::new(shim)?;
        let harness = disk.start().await?;
        let deployment = Deployment::new(harness.ready().clone()).await?;
        Ok(Self { deployment, disk, _harness: harness })
    }

    /// Waits until every post with this state is public.
    async fn wait_until_public(&self, posts: &[PromisedPost]) -> Result {
        for version in posts.iter().flat_map(|it| &it.versions).filter(|it| it.wanted == Wanted::Published) {
            self.deployment.appears(&version.content, PATIENCE_S).await?;
        }
        Ok(())
    }

    async fn measure(&self, user: &User<'_>, posts: &[PromisedPost]) -> Result<Measured> {
        promises::wait_for_publishing(user, Duration::from_secs(PATIENCE_S)).await?;
        tokio::time::sleep(SETTLES).await;
        let broken = promises::find_broken(user, posts, 0).await?;
        Ok(Measured { starts: 1, acknowledged: count_acknowledged(posts), broken, is_loss_expected: false })
    }
}

/// Posts that are due within the hour are late, but published once, also after the clock is set
/// right again.
pub(super) async fn jump_forward(shim: &Shim) -> Result<Measured> {
    let scene = Scene::new(shim).await?;
    let mut user = scene.deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let mut posts = Vec::new();
    for seconds in [2, 2, 10, 10, 1800, 3595] {
        posts.push(schedule(&user, &connection, seconds, Wanted::Published).await?);
    }
    posts.push(schedule(&user, &connection, 7200 + 600, Wanted::Later).await?);

    tokio::time::sleep(Duration::from_millis(1500)).await;
    scene.disk.inject("clock +3600")?;
    posts.push(publish_now(&user, &connection).await?);
    scene.wait_until_public(&posts).await?;
    tokio::time::sleep(SETTLES).await;
    scene.disk.inject("")?;
    scene.measure(&user, &posts).await
}

/// A published post is not due again, and one that was due in some seconds is published once, as
/// soon as the clock is set right again.
pub(super) async fn jump_back(shim: &Shim) -> Result<Measured> {
    let scene = Scene::new(shim).await?;
    let mut user = scene.deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let mut posts = Vec::new();
    for seconds in [2, 2, 10, 10] {
        posts.push(schedule(&user, &connection, seconds, Wanted::Published).await?);
    }
    let later = schedule(&user, &connection, 3600, Wanted::Later).await?;

    scene.wait_until_public(&posts[..1]).await?;
    scene.disk.inject("clock -3600")?;
    let now = publish_now(&user, &connection).await?;
    scene.wait_until_public(std::slice::from_ref(&now)).await?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    scene.disk.inject("")?;
    posts.extend([later, now]);
    scene.measure(&user, &posts).await
}

async fn schedule(user: &User<'_>, connection: &Value, seconds: i64, wanted: Wanted) -> Result<PromisedPost> {
    let content = fresh(&format!("due in {seconds} s"));
    let id = user.schedule(&content, &[connection], seconds).await?;
    Ok(promised(id, content, wanted))
}

/// Publishes a post at once, by the clock of the service. Its rate limit headers are those of
/// another hour, which [`crate::client::Api`] does not accept.
async fn publish_now(user: &User<'_>, connection: &Value) -> Result<PromisedPost> {
    let content = fresh("written after the jump");
    let body = json!({ "content": content, "platforms": targets(&[connection])?, "scheduled_at": "now" });
    let url = format!("{}/posts", user.deployment.base());
    let response = user.deployment.http().post(url).bearer_auth(user.api.token()).json(&body).send().await?;
    let status = response.status().as_u16();
    let text = response.text().await?;
    ensure!(status == 201, "a post after the jump: {status} {text}");
    Ok(promised(integer(&serde_json::from_str(&text)?, "id")?, content, Wanted::Published))
}

fn promised(id: i64, content: String, wanted: Wanted) -> PromisedPost {
    let versions = vec![Version { content, wanted, promised_at: Some(0) }];
    PromisedPost { id, accounts: 1, has_picture: false, versions }
}
