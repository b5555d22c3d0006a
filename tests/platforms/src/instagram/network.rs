//! Instagram as the conformance suite sees it.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use domain::clock::Clock;
use domain::media::{Facts, FileType, MimeType};
use platforms::conformance::network::{Call, Decision, Network, PublicMedium, PublicPost, Trouble};
use platforms::conformance::samples::sample;
use serde_json::{Value, json};
use url::Url;

use super::making::{Content, File, Kind};
use super::posts::Post;
use super::{HANDLE, Instagram};
use crate::meta::fetched::Fetched;
use crate::stand_in::network::oauth_network;
use crate::stand_in::oauth::{Authorizes, decide};

#[async_trait]
impl<const BY_FACEBOOK: bool> Network for Instagram<BY_FACEBOOK> {
    async fn start(clock: Clock) -> Self {
        Self::start(clock).await
    }

    fn name(&self) -> &'static str {
        "instagram"
    }

    oauth_network!();

    fn settings(&self) -> Value {
        if BY_FACEBOOK {
            json!({ "url": self.base_url(), "login": "facebook" })
        } else {
            json!({ "url": self.base_url() })
        }
    }

    fn describes(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    /// Instagram's login has no call for it.
    fn ends_grants(&self) -> bool {
        BY_FACEBOOK
    }

    async fn send_back(&self, url: &str, decision: Decision) -> Url {
        decide(url, HANDLE, decision).await
    }

    fn fetched(&self) -> Vec<String> {
        self.here.memory().fetched.clone()
    }

    fn echo(&self) -> bool {
        self.here.echo.store(true, Ordering::Relaxed);
        true
    }

    fn end_access_tokens(&self) {
        let (mut oauth, now) = (self.here.oauth(), self.here.clock.now());
        self.here.change_password(&mut oauth, now);
    }

    fn translate_refusals(&self) -> bool {
        self.here.memory().troubles.translate();
        true
    }

    /// Each with a picture, without which nothing is posted.
    fn others_post(&self, count: usize) {
        let now = self.here.clock.now();
        let mut memory = self.here.memory();
        for number in 1..=count {
            let bytes = sample(MimeType::Jpeg, 200).bytes;
            let fetched = Fetched { mime_type: MimeType::Jpeg, bytes, facts: Facts::default() };
            let files = vec![File { fetched, words: None, tags: Value::Null }];
            let caption = format!("by hand, number {number}");
            memory.add(Content { kind: Kind::Post, caption, files, said: json!({}), ..Content::default() }, now);
        }
    }

    fn public(&self) -> Vec<PublicPost> {
        self.here.memory().posts.iter().map(public_post).collect()
    }
}

fn public_post(post: &Post) -> PublicPost {
    let media = post.content.files.iter().map(|it| PublicMedium {
        mime_type: it.fetched.mime_type,
        bytes: it.fetched.bytes.clone(),
        alt_text: it.words.clone(),
    });
    PublicPost { id: post.id.clone(), text: post.content.caption.clone(), media: media.collect() }
}

impl Post {
    /// What it is, and what it says beside its text and its files.
    pub(super) fn described(&self) -> Value {
        let kind = match self.content.kind {
            Kind::Reel => "reel",
            Kind::Story => "story",
            Kind::Post | Kind::Item => "post",
        };
        let mut said = self.content.said.clone();
        said["kind"] = kind.into();
        said["comments"] = json!(self.comments);
        said["user_tags"] = self.content.files.iter().map(|it| it.tags.clone()).collect();
        said
    }
}
