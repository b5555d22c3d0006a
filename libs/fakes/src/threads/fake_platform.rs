use serde_json::json;

use super::Threads;
use super::making::Content;
use super::posts::Post;
use crate::conformance::fake_platform::{FakePlatform, PublicMedium, PublicPost};
use crate::fake::fake_platform::oauth_fake_platform;

impl FakePlatform for Threads {
    oauth_fake_platform!("threads");

    /// Threads has no call for it.
    fn revokes_grants(&self) -> bool {
        false
    }

    fn fetched_urls(&self) -> Vec<String> {
        self.fake.memory().fetched.clone()
    }

    fn publish_manual_post(&self, text: &str) {
        let (now, text) = (self.fake.clock.now(), text.to_owned());
        self.fake.memory().add(Content { text, said: json!({}), ..Content::default() }, now);
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        self.fake.memory().posts.iter().filter(|it| !it.content.is_by_visitor).map(public_post).collect()
    }
}

fn public_post(post: &Post) -> PublicPost {
    let media = post.content.files.iter().map(|it| PublicMedium {
        mime_type: it.file.mime_type,
        bytes: it.file.bytes.clone(),
        alt_text: it.words.clone(),
    });
    PublicPost {
        id: post.id.clone(),
        text: post.content.text.clone(),
        media: media.collect(),
        reply_to: post.content.reply_to.clone(),
    }
}
