//! Discord as the conformance suite sees it.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use domain::clock::Clock;
use platforms::Answers;
use platforms::conformance::network::{Call, Decision, Network, PublicPost, Trouble};
use serde_json::{Value, json};
use url::Url;

use super::Discord;

#[async_trait]
impl Network for Discord {
    const NAME: &'static str = "discord";

    async fn start(clock: Clock) -> Self {
        Self::start(clock).await
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.address]
    }

    fn settings(&self) -> Value {
        json!({ "url": self.base_url() })
    }

    fn answers(&self) -> Answers {
        Answers::from([("webhook".to_owned(), self.webhook_url().into())])
    }

    fn direct_answers(&self) -> Option<Answers> {
        Some(self.answers())
    }

    fn has_page(&self) -> bool {
        false
    }

    fn can_be_asked(&self) -> bool {
        false
    }

    fn ends_grants(&self) -> bool {
        false
    }

    async fn send_back(&self, url: &str, _: Decision) -> Url {
        panic!("there is no page: {url}")
    }

    fn trouble(&self, call: Call, trouble: Trouble, count: usize) {
        self.here.memory().troubles.order(call, trouble, count);
    }

    fn can(&self, call: Call, _: Trouble) -> bool {
        matches!(call, Call::Exchange | Call::Publish | Call::Revoke)
    }

    fn echo(&self) -> bool {
        self.here.echo.store(true, Ordering::Relaxed);
        true
    }

    /// Somebody deletes the webhooks in the settings of the channel.
    fn revoke(&self) {
        for webhook in &mut self.here.memory().webhooks {
            webhook.is_deleted = true;
        }
    }

    /// They do not end.
    fn end_access_tokens(&self) {}

    fn public(&self) -> Vec<PublicPost> {
        let memory = self.here.memory();
        let post =
            |it: &super::Message| PublicPost { id: it.id.clone(), text: it.text.clone(), media: it.media.clone() };
        memory.messages.iter().map(post).collect()
    }

    /// Without the white space around it.
    fn shown(&self, text: &str) -> String {
        text.trim().to_owned()
    }

    fn grants(&self) -> usize {
        self.here.memory().webhooks.iter().filter(|it| !it.is_deleted).count()
    }

    fn calls(&self, call: Call) -> usize {
        self.here.memory().troubles.calls(call)
    }
}
