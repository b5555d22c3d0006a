//! `FakePlatform` for the conformance suite.

use domain::media::{FileType, MimeType};
use platforms::conformance::fake_platform::{FakePlatform, PublicPost};
use serde_json::json;

use super::tweets::Tweet;
use super::{Memory, X};
use crate::fake::fake_platform::{medium, oauth_fake_platform};

impl FakePlatform for X {
    oauth_fake_platform!("x");

    fn has_alt_texts(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    fn accepts_repeated_texts(&self) -> bool {
        false
    }

    fn publish_manual_post(&self, text: &str) {
        let now = self.fake.clock.now();
        self.fake.memory().add(text, Vec::new(), json!({}), None, now);
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        memory.tweets.iter().map(|it| public_post(&memory, it)).collect()
    }

    /// Without surrounding white space.
    fn displayed_text(&self, text: &str) -> String {
        text.trim().to_owned()
    }
}

fn public_post(memory: &Memory, tweet: &Tweet) -> PublicPost {
    let media = tweet.media.iter().filter_map(|id| {
        let file = memory.files.get(id)?;
        Some(medium(file.bytes(), file.words.clone()))
    });
    let (id, text, reply_to) = (tweet.id.clone(), tweet.text.clone(), tweet.parent.clone());
    PublicPost { id, text, media: media.collect(), reply_to }
}
