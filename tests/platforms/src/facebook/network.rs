//! The API as the conformance suite sees it.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use domain::clock::Clock;
use domain::media::{FileType, MimeType};
use platforms::conformance::network::{Call, Decision, Network, PublicMedium, PublicPost, Trouble};
use serde_json::{Value, json};
use url::Url;

use super::posts::Post;
use super::{CONFIGURATION, Facebook, Memory, PAGE, PERSON};
use crate::stand_in::network::oauth_network;
use crate::stand_in::oauth::{Authorizes, decide};

#[async_trait]
impl<const CONFIGURED: bool> Network for Facebook<CONFIGURED> {
    async fn start(clock: Clock) -> Self {
        Self::start(clock).await
    }

    fn name(&self) -> &'static str {
        "facebook"
    }

    oauth_network!();

    fn settings(&self) -> Value {
        let mut settings = json!({ "url": self.base_url() });
        if CONFIGURED {
            settings["config_id"] = CONFIGURATION.into();
        }
        settings
    }

    fn describes(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    fn takes_repeats(&self) -> bool {
        false
    }

    async fn send_back(&self, url: &str, decision: Decision) -> Url {
        decide(url, PERSON, decision).await
    }

    fn echo(&self) -> bool {
        self.here.echo.store(true, Ordering::Relaxed);
        true
    }

    fn end_access_tokens(&self) {
        let now = self.here.clock.now();
        self.here.oauth().end_access_tokens(now);
        self.here.memory().has_other_password = true;
    }

    fn translate_refusals(&self) -> bool {
        self.here.memory().troubles.translate();
        true
    }

    fn others_post(&self, count: usize) {
        let now = self.here.clock.now();
        let mut memory = self.here.memory();
        for number in 1..=count {
            memory.add_post(PAGE, &format!("by hand, number {number}"), Vec::new(), None, now);
        }
    }

    fn public(&self) -> Vec<PublicPost> {
        let memory = self.here.memory();
        memory.posts.iter().map(|it| public_post(&memory, it)).collect()
    }

    /// Without the white space around it.
    fn shown(&self, text: &str) -> String {
        text.trim().to_owned()
    }
}

fn public_post(memory: &Memory, post: &Post) -> PublicPost {
    let of_photo = |id: &String| {
        let photo = memory.photos.get(id)?;
        Some(PublicMedium { mime_type: photo.mime_type, bytes: photo.bytes.to_vec(), alt_text: photo.words.clone() })
    };
    let of_video = |id: &String| {
        let bytes = memory.videos.get(id)?.bytes.clone();
        let mime_type = MimeType::sniff(&bytes).expect("the service sends files of its own types");
        Some(PublicMedium { mime_type, bytes, alt_text: None })
    };
    let media = post.photos.iter().filter_map(of_photo).chain(post.video.iter().filter_map(of_video)).collect();
    // A video is known by its own id.
    PublicPost { id: post.video.clone().unwrap_or_else(|| post.id.clone()), text: post.text.clone(), media }
}
