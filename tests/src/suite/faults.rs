//! Publishing when the platform fails.
//!
//! Checks of one account run one after the other, and nothing else publishes to it, because an
//! armed fault hits the next call of any kind.

mod access;
mod answers;
mod comments;
mod files;
mod page;
mod silence;

use std::time::Duration;

use serde_json::{Value, json};

use super::publishing::once;
use crate::{
    browser::Page,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, text},
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    [silence::checks(), answers::checks(), access::checks(), files::checks(), comments::checks()]
        .into_iter()
        .flatten()
        .collect()
}

/// Checks of the sandbox's page of faults.
pub(super) fn sandbox_checks() -> Vec<Check> {
    page::checks()
}

/// The lane of each account, and its index on the consent page.
pub(super) const MEADOW: (Option<&str>, usize) = (Some("faults of @meadow"), 2);
const WINDMILL: (Option<&str>, usize) = (Some("faults of @windmill"), 3);
const ORCHARD: (Option<&str>, usize) = (Some("faults of @orchard"), 4);
const FERRY: (Option<&str>, usize) = (Some("faults of @ferry"), 5);

/// A user connected to an account that faults are armed for.
struct FaultFixture<'a> {
    deployment: &'a Deployment,
    user: User<'a>,
    connection: Value,
    at: usize,
    account: String,
}

/// A published post: the API's response, and its entry on the timeline.
struct PublishedPost {
    post: Value,
    entry: Value,
}

impl<'a> FaultFixture<'a> {
    async fn new(deployment: &'a Deployment, (_, at): (Option<&str>, usize)) -> Result<Self> {
        let mut user = deployment.new_user().await?;
        let connection = user.connect(at).await?;
        let account = text(&connection, "username")?.to_owned();
        deployment.disarm(&account).await?;
        Ok(Self { deployment, user, connection, at, account })
    }

    /// Arms a fault for this account. It strikes once, unless it has other settings.
    async fn arm(&self, mut fault: Value) -> Result {
        fault["account"] = json!(self.account);
        self.deployment.arm(&fault).await
    }

    async fn disarm(&self) -> Result {
        self.deployment.disarm(&self.account).await
    }

    /// The first fault that is armed for the account; null when there is none.
    async fn armed(&self) -> Result<Value> {
        let response =
            self.deployment.http().get(format!("{}/sandbox/faults", self.deployment.sandbox())).send().await?;
        let all: Vec<Value> = serde_json::from_str(&response.text().await?)?;
        Ok(all.into_iter().find(|it| it["account"] == self.account.as_str()).unwrap_or_default())
    }

    /// The page of a post's attempts.
    async fn open_attempts(&mut self, id: i64) -> Result<Page> {
        self.user.browser.open(&format!("{}/account/posts/{id}/attempts", self.deployment.origin())).await
    }

    /// Schedules a post with this text for the next second.
    async fn schedule(&self, content: &str) -> Result<i64> {
        self.user.schedule(content, &[&self.connection], 1).await
    }

    /// Like `schedule`, with this many images.
    async fn schedule_with(&self, content: &str, pictures: usize) -> Result<i64> {
        let mut media = Vec::new();
        for _ in 0..pictures {
            media.push(self.user.picture().await?);
        }
        let on = targets(&[&self.connection])?;
        let body =
            json!({ "content": content, "platforms": on, "media": media, "scheduled_at": moment::in_seconds(1) });
        integer(&self.user.create(&body).await?, "id")
    }

    /// Arms a fault and publishes a post: the user is shown these texts, if any, and the post is
    /// public exactly once at the end.
    async fn publish_once(&self, fault: Value, expected_messages: &[&str], seconds: u64) -> Result<PublishedPost> {
        let content = fresh(text(&fault, "kind")?);
        self.arm(fault).await?;
        let id = self.schedule(&content).await?;
        self.is_out_once(id, &content, expected_messages, seconds).await
    }

    /// Like `publish_once`, for a post that is already scheduled.
    async fn is_out_once(
        &self,
        id: i64,
        content: &str,
        expected_messages: &[&str],
        seconds: u64,
    ) -> Result<PublishedPost> {
        if !expected_messages.is_empty() {
            self.shows_message(id, expected_messages).await?;
        }
        let post = self.user.reaches(id, "published", seconds).await?;
        let target = &post["platforms"][0];
        same(&target["error_message"], &Value::Null, "error_message of a published entry")?;
        let entry = once(self.deployment, content).await?;
        same(&target["platform_post_id"], &entry["id"], "platform_post_id and the id on the platform")?;
        // Without this, a fault that never struck would pass.
        same(self.armed().await?, Value::Null, "faults of the account that did not strike")?;
        Ok(PublishedPost { post, entry })
    }

    /// Waits until the post shows why it is not published yet; returns that message.
    async fn shows_message(&self, id: i64, expected: &[&str]) -> Result<String> {
        let what = format!("an error_message of post {id} with {expected:?}");
        let found = moment::eventually(Duration::from_secs(40), &what, || async {
            let post = self.user.show(id).await?;
            let message = post["platforms"][0]["error_message"].as_str().unwrap_or_default().to_owned();
            Ok(expected.iter().all(|it| message.contains(it)).then_some((post, message)))
        });
        let (post, message) = found.await?;
        ensure!(["scheduled", "publishing"].contains(&text(&post, "status")?), "a post that waits is {post}");
        Ok(message)
    }

    /// Waits until the connection needs reconnection.
    async fn is_lost(&self, seconds: u64) -> Result {
        self.user.loses_grant(&self.connection, seconds).await
    }

    /// Connects the account again.
    async fn reconnect(&mut self) -> Result {
        let reconnected = self.user.connect(self.at).await?;
        same(&reconnected["id"], &self.connection["id"], "id of the connection after reconnecting")?;
        same(&reconnected["needs_reconnection"], &json!(false), "needs_reconnection")
    }
}
