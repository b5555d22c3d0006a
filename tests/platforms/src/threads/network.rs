//! Threads as the conformance suite sees it.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use domain::clock::Clock;
use platforms::conformance::network::{Call, Decision, Network, PublicMedium, PublicPost, Trouble};
use serde_json::{Value, json};
use url::Url;

use super::making::Content;
use super::posts::Post;
use super::{Threads, USERNAME};
use crate::stand_in::network::oauth_network;
use crate::stand_in::oauth::{Authorizes, decide};

#[async_trait]
impl Network for Threads {
    async fn start(clock: Clock) -> Self {
        Self::start(clock).await
    }

    fn name(&self) -> &'static str {
        "threads"
    }

    oauth_network!();

    fn settings(&self) -> Value {
        json!({ "url": self.base_url() })
    }

    /// There is no call for it.
    fn ends_grants(&self) -> bool {
        false
    }

    async fn send_back(&self, url: &str, decision: Decision) -> Url {
        decide(url, USERNAME, decision).await
    }

    fn fetched(&self) -> Vec<String> {
        self.here.memory().fetched.clone()
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
            let text = format!("by hand, number {number}");
            memory.add(Content { text, said: json!({}), ..Content::default() }, now);
        }
    }

    fn public(&self) -> Vec<PublicPost> {
        self.here.memory().posts.iter().map(public_post).collect()
    }
}

fn public_post(post: &Post) -> PublicPost {
    let media = post.content.files.iter().map(|it| PublicMedium {
        mime_type: it.file.mime_type,
        bytes: it.file.bytes.clone(),
        alt_text: it.words.clone(),
    });
    PublicPost { id: post.id.clone(), text: post.content.text.clone(), media: media.collect() }
}
