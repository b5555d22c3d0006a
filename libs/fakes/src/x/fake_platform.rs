//! `FakePlatform` for the conformance suite.

use serde_json::json;

use super::tweets::Tweet;
use super::{Memory, X};
use crate::conformance::fake_platform::{FakePlatform, PublicPost};
use crate::fake::fake_platform::{describes_images_only, medium, oauth_fake_platform, trims_texts};

impl FakePlatform for X {
    oauth_fake_platform!("x");
    describes_images_only!();
    trims_texts!();

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
}

fn public_post(memory: &Memory, tweet: &Tweet) -> PublicPost {
    let media = tweet.media.iter().filter_map(|id| {
        let file = memory.files.get(id)?;
        Some(medium(file.bytes(), file.words.clone()))
    });
    let (id, text, reply_to) = (tweet.id.clone(), tweet.text.clone(), tweet.parent.clone());
    PublicPost { id, text, media: media.collect(), reply_to }
}
