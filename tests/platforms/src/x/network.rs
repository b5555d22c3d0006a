//! The API as the conformance suite sees it.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use domain::clock::Clock;
use domain::media::{FileType, MimeType};
use platforms::conformance::network::{Call, Decision, Network, PublicMedium, PublicPost, Trouble};
use serde_json::{Value, json};
use url::Url;

use super::tweets::Tweet;
use super::{HANDLE, Memory, X};
use crate::stand_in::network::oauth_network;
use crate::stand_in::oauth::{Authorizes, decide};

#[async_trait]
impl Network for X {
    async fn start(clock: Clock) -> Self {
        Self::start(clock).await
    }

    fn name(&self) -> &'static str {
        "x"
    }

    oauth_network!();

    fn settings(&self) -> Value {
        json!({ "url": self.base_url() })
    }

    fn describes(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    fn takes_repeats(&self) -> bool {
        false
    }

    async fn send_back(&self, url: &str, decision: Decision) -> Url {
        decide(url, HANDLE, decision).await
    }

    fn echo(&self) -> bool {
        self.here.echo.store(true, Ordering::Relaxed);
        true
    }

    fn end_access_tokens(&self) {
        let now = self.here.clock.now();
        self.here.oauth().end_access_tokens(now);
    }

    fn translate_refusals(&self) -> bool {
        self.here.memory().troubles.translate();
        true
    }

    fn others_post(&self, count: usize) {
        let now = self.here.clock.now();
        let mut memory = self.here.memory();
        for number in 1..=count {
            memory.add(&format!("by hand, number {number}"), Vec::new(), json!({}), now);
        }
    }

    fn public(&self) -> Vec<PublicPost> {
        let memory = self.here.memory();
        memory.tweets.iter().map(|it| public_post(&memory, it)).collect()
    }

    /// Without the white space around it.
    fn shown(&self, text: &str) -> String {
        text.trim().to_owned()
    }
}

fn public_post(memory: &Memory, tweet: &Tweet) -> PublicPost {
    let media = tweet.media.iter().filter_map(|id| {
        let file = memory.files.get(id)?;
        let bytes = file.bytes();
        let mime_type = MimeType::sniff(&bytes).expect("the service sends files of its own types");
        Some(PublicMedium { mime_type, bytes, alt_text: file.words.clone() })
    });
    PublicPost { id: tweet.id.clone(), text: tweet.text.clone(), media: media.collect() }
}
