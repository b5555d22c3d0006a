//! A user of the service with an account on a real server, and the scenes that are the same on each.

use std::{sync::MutexGuard, time::Duration};

use fakes::conformance::fake_platform::{Call, FakePlatform, InjectedFault, PublicPost};
use fakes::fake::injected_faults::InjectedFaults;
use serde_json::{Value, json};

use super::connecting::connect;
use crate::{
    deployment::{User, fresh},
    ensure,
    error::{Result, same},
    http_response::{integer, text},
    moment, picture,
};

/// Enough seconds to be sure that a call which was cut off had no effect, and to repeat it.
pub(super) const SETTLED_SECONDS: u64 = 180;

pub(super) struct OnServer<'a> {
    pub(super) user: &'a User<'a>,
    pub(super) server: &'a dyn FakePlatform,
}

impl OnServer<'_> {
    pub(super) async fn connect(&self) -> Result<Value> {
        connect(self.user, self.server).await
    }

    /// A post with this text, due in a second.
    pub(super) fn post(&self, connection: &Value, content: &str) -> Result<Value> {
        let id = integer(connection, "id")?;
        let target = json!({ "connected_account_id": id, "options": self.server.options() });
        Ok(json!({ "content": content, "platforms": [target], "scheduled_at": moment::in_seconds(1) }))
    }

    /// Publishes a post; returns its target.
    pub(super) async fn publish(&self, body: &Value) -> Result<Value> {
        let id = integer(&self.user.create(body).await?, "id")?;
        Ok(self.user.reaches(id, "published", SETTLED_SECONDS).await?["platforms"][0].clone())
    }

    /// Schedules a post that the server refuses; returns the error that the user reads.
    pub(super) async fn refusal(&self, body: &Value) -> Result<String> {
        let id = integer(&self.user.create(body).await?, "id")?;
        let failed = self.user.reaches(id, "failed", 60).await?;
        Ok(text(&failed["platforms"][0], "error_message")?.to_owned())
    }

    /// The only public post with this in its text.
    pub(super) fn find(&self, part: &str) -> Result<PublicPost> {
        let mut found: Vec<_> = self.server.public_posts().into_iter().filter(|it| it.text.contains(part)).collect();
        same(found.len(), 1, &format!("posts with {part:?}"))?;
        Ok(found.remove(0))
    }

    /// Publishes a post with a picture after [`lose_each`], which returned `calls`; returns its text.
    pub(super) async fn lose_responses(&self, connection: &Value, calls: usize) -> Result<String> {
        let content = fresh("responses are lost");
        let bytes = picture::png(64, 48, [30, 120, 90]);
        let mut body = self.post(connection, &content)?;
        body["media"] = json!([self.user.upload("image/png", &bytes).await?]);

        let target = self.publish(&body).await?;

        let public = self.find(&content)?;
        same(&target["platform_post_id"], &json!(public.id), "its id")?;
        ensure!(public.media.len() == 1 && public.media[0].bytes == bytes, "other files: {:?}", public.media);
        same(self.server.call_count(Call::Publish) - calls, 1, "publish calls")?;
        Ok(content)
    }

    /// The user revokes the grant at the platform. The post that finds out waits for the new one.
    pub(super) async fn revoke_and_reconnect(&self, connection: &Value) -> Result {
        self.server.revoke();
        let content = fresh("after the revocation");
        let id = integer(&self.user.create(&self.post(connection, &content)?).await?, "id")?;
        self.user.loses_grant(connection, 60).await?;
        // The connection is marked first, and the post gets its message after that.
        moment::eventually(Duration::from_secs(30), "the post says what to do", async || {
            let message = self.user.show(id).await?["platforms"][0]["error_message"].to_string();
            Ok(message.contains("onnect").then_some(()))
        })
        .await?;

        let reconnected = self.connect().await?;

        same(&reconnected["id"], &connection["id"], "id of the connection")?;
        self.user.reaches(id, "published", SETTLED_SECONDS).await?;
        self.find(&content).map(drop)
    }

    pub(super) async fn disconnect(&self, connection: &Value) -> Result {
        same(self.server.grant_count(), 1, "grants before")?;
        self.user.disconnect(connection).await?;
        moment::eventually(Duration::from_secs(30), "the end of the grant", async || {
            Ok((self.server.grant_count() == 0).then_some(()))
        })
        .await
    }
}

/// The responses to the next upload, creation of a draft and publish call will be lost. Returns the
/// number of publish calls so far.
pub(super) fn lose_each(mut faults: MutexGuard<'_, InjectedFaults>) -> usize {
    faults.order(Call::Upload, InjectedFault::LoseResponse, 1);
    // The first one looks for the draft, the second one creates it.
    faults.order_after(Call::Process, 1, InjectedFault::LoseResponse);
    faults.order(Call::Publish, InjectedFault::LoseResponse, 1);
    faults.calls(Call::Publish)
}
