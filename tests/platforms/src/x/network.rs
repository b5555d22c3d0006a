//! The API as the conformance suite sees it.

use domain::media::{FileType, MimeType};
use platforms::conformance::network::{Network, PublicPost};
use serde_json::json;

use super::tweets::Tweet;
use super::{Memory, X};
use crate::fake::network::{medium, oauth_network};

impl Network for X {
    oauth_network!("x");

    fn describes(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    fn takes_repeats(&self) -> bool {
        false
    }

    fn posts_by_hand(&self, text: &str) {
        let now = self.here.clock.now();
        self.here.memory().add(text, Vec::new(), json!({}), now);
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
        Some(medium(file.bytes(), file.words.clone()))
    });
    PublicPost { id: tweet.id.clone(), text: tweet.text.clone(), media: media.collect() }
}
