//! The Web API as the conformance suite sees it.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use domain::clock::Clock;
use domain::media::{FileType, MimeType};
use domain::options::{OptionValue, Options};
use platforms::conformance::network::{Call, Decision, Network, PublicMedium, PublicPost, Trouble};
use serde_json::{Value, json};
use url::Url;

use super::{CHANNEL, Memory, Message, Rotation, Slack, TEAM, chat};
use crate::stand_in::network::oauth_network;
use crate::stand_in::oauth::{Authorizes, decide};

#[async_trait]
impl<R: Rotation> Network for Slack<R> {
    async fn start(clock: Clock) -> Self {
        Self::start(clock).await
    }

    fn name(&self) -> &'static str {
        "slack"
    }

    oauth_network!();

    fn settings(&self) -> Value {
        json!({ "url": self.base_url() })
    }

    fn options(&self) -> Options {
        [("channel".to_owned(), OptionValue::Text(CHANNEL.to_owned()))].into_iter().collect()
    }

    fn describes(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    async fn send_back(&self, url: &str, decision: Decision) -> Url {
        decide(url, TEAM, decision).await
    }

    /// "ok" says that the files are being shared.
    fn confirms_files(&self) -> bool {
        false
    }

    fn can(&self, call: Call, _: Trouble) -> bool {
        call != Call::Refresh || R::ON
    }

    /// Refusals are codes.
    fn echo(&self) -> bool {
        self.here.echo.store(true, Ordering::Relaxed);
        false
    }

    fn end_access_tokens(&self) {
        let now = self.here.clock.now();
        self.here.oauth().end_access_tokens(now);
    }

    fn others_post(&self, count: usize) {
        let now = self.here.clock.now();
        let mut memory = self.here.memory();
        for number in 1..=count {
            memory.say(CHANNEL, &format!("by hand, number {number}"), None, Vec::new(), now);
        }
    }

    /// Refusals are codes, without words.
    fn translate_refusals(&self) -> bool {
        false
    }

    fn public(&self) -> Vec<PublicPost> {
        let memory = self.here.memory();
        let now = self.here.clock.now();
        let is_ours = |it: &&Message| it.at <= now && (it.metadata.is_some() || !it.files.is_empty());
        memory.messages.iter().filter(is_ours).map(|it| public_post(&memory, it)).collect()
    }
}

fn public_post(memory: &Memory, message: &Message) -> PublicPost {
    let files = message.files.iter().filter_map(|it| memory.files.get(it));
    let media = files.map(|it| {
        let bytes = it.bytes.clone().unwrap_or_default().to_vec();
        let mime_type = MimeType::sniff(&bytes).expect("the service sends files of its own types");
        PublicMedium { mime_type, bytes, alt_text: it.description.clone() }
    });
    let id = message.files.first().cloned().unwrap_or_else(|| format!("{}:{}", message.channel, message.ts));
    PublicPost { id, text: chat::shown(&message.text), media: media.collect() }
}
