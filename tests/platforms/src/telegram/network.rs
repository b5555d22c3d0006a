//! The Bot API as the conformance suite sees it.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use domain::clock::Clock;
use platforms::Answers;
use platforms::conformance::network::{Call, Decision, Network, PublicPost, Trouble};
use serde_json::{Value, json};
use url::Url;

use super::{CHANNEL, TOKEN, Telegram};

#[async_trait]
impl Network for Telegram {
    async fn start(clock: Clock) -> Self {
        Self::start(clock).await
    }

    fn name(&self) -> &'static str {
        "telegram"
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.address]
    }

    fn settings(&self) -> Value {
        json!({ "url": self.base_url() })
    }

    fn answers(&self) -> Answers {
        let memory = self.here.memory();
        let chat = if memory.is_group { memory.id().to_string() } else { format!("@{CHANNEL}") };
        Answers::from([("token".to_owned(), TOKEN.into()), ("chat".to_owned(), chat.into())])
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
        panic!("Telegram has no page: {url}")
    }

    fn trouble(&self, call: Call, trouble: Trouble, count: usize) {
        self.here.memory().troubles.order(call, trouble, count);
    }

    fn can(&self, call: Call, _: Trouble) -> bool {
        matches!(call, Call::Exchange | Call::Publish | Call::Account)
    }

    fn echo(&self) -> bool {
        self.here.echo.store(true, Ordering::Relaxed);
        true
    }

    fn revoke(&self) {
        self.here.memory().is_kicked = true;
    }

    /// They do not end.
    fn end_access_tokens(&self) {}

    /// False: many refusals have one code, and only their messages distinguish them.
    fn translate_refusals(&self) -> bool {
        false
    }

    fn public(&self) -> Vec<PublicPost> {
        let memory = self.here.memory();
        let post =
            |it: &super::Message| PublicPost { id: it.id.to_string(), text: it.text.clone(), media: it.media.clone() };
        memory.messages.iter().map(post).collect()
    }

    /// Without the white space around it.
    fn shown(&self, text: &str) -> String {
        text.trim().to_owned()
    }

    fn grants(&self) -> usize {
        let memory = self.here.memory();
        usize::from(!memory.is_kicked && !memory.is_revoked)
    }

    fn calls(&self, call: Call) -> usize {
        self.here.memory().troubles.calls(call)
    }
}
