//! The API as the conformance suite sees it.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use domain::clock::Clock;
use domain::media::{FileType, MimeType};
use platforms::conformance::network::{Call, Decision, Network, PublicMedium, PublicPost, Trouble};
use serde_json::Value;
use url::Url;

use super::little::Read;
use super::posts::Post;
use super::{LinkedIn, MEMBER, Memory, PAGE_URN, Products};
use crate::stand_in::network::oauth_network;
use crate::stand_in::oauth::{Authorizes, decide};

#[async_trait]
impl<P: Products> Network for LinkedIn<P> {
    async fn start(clock: Clock) -> Self {
        Self::start(clock).await
    }

    fn name(&self) -> &'static str {
        "linkedin"
    }

    oauth_network!();

    fn settings(&self) -> Value {
        let mut settings = P::settings();
        settings["url"] = self.base_url().into();
        settings
    }

    fn describes(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    /// What pages have posted.
    fn can_be_asked(&self) -> bool {
        P::has_pages()
    }

    fn takes_repeats(&self) -> bool {
        false
    }

    async fn send_back(&self, url: &str, decision: Decision) -> Url {
        decide(url, MEMBER, decision).await
    }

    /// It never says when it wants to be asked again, and its response to the publish call
    /// has its id in a header and no body.
    fn can(&self, call: Call, trouble: Trouble) -> bool {
        let is_other = matches!(trouble, Trouble::Limited { .. } | Trouble::CutBody | Trouble::EmptyBody);
        !(call == Call::Publish && is_other) && (call != Call::Refresh || P::has_pages())
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
            let text = Read::of(&format!("by hand, number {number}"));
            memory.add(PAGE_URN, text, Value::Null, "PUBLIC", now);
        }
    }

    fn public(&self) -> Vec<PublicPost> {
        let memory = self.here.memory();
        memory.posts.iter().map(|it| public_post(&memory, it)).collect()
    }
}

fn public_post(memory: &Memory, post: &Post) -> PublicPost {
    let media = post.files().into_iter().filter_map(|(id, words)| {
        let bytes = memory.files.get(id)?.bytes();
        let mime_type = MimeType::sniff(&bytes).expect("the service sends files of its own types");
        Some(PublicMedium { mime_type, bytes, alt_text: words.map(str::to_owned) })
    });
    PublicPost { id: post.urn.clone(), text: post.text.shown(), media: media.collect() }
}
