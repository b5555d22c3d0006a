use domain::media::{Facts, MimeType};
use serde_json::{Value, json};

use super::Instagram;
use super::making::{Content, File, Kind};
use super::posts::Post;
use crate::conformance::fake_platform::{FakePlatform, PublicMedium, PublicPost};
use crate::conformance::samples::sample;
use crate::fake::fake_platform::{comment, describes_images_only, oauth_fake_platform};
use crate::meta::fetched::Fetched;

impl<const BY_FACEBOOK: bool> FakePlatform for Instagram<BY_FACEBOOK> {
    oauth_fake_platform!("instagram");
    describes_images_only!();

    fn settings(&self) -> Value {
        if BY_FACEBOOK {
            json!({ "url": self.fake.base_url(), "login": "facebook" })
        } else {
            json!({ "url": self.fake.base_url() })
        }
    }

    /// Instagram's login has no call for revocation.
    fn revokes_grants(&self) -> bool {
        BY_FACEBOOK
    }

    fn fetched_urls(&self) -> Vec<String> {
        self.fake.memory().fetched.clone()
    }

    /// With a picture: Instagram accepts no post without a file.
    fn publish_manual_post(&self, text: &str) {
        let bytes = sample(MimeType::Jpeg, 200).bytes;
        let fetched = Fetched { mime_type: MimeType::Jpeg, bytes, facts: Facts::default() };
        let files = vec![File { fetched, words: None, tags: Value::Null }];
        let (now, caption) = (self.fake.clock.now(), text.to_owned());
        let content = Content { kind: Kind::Post, caption, files, said: json!({}), ..Content::default() };
        self.fake.memory().add(content, now);
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        self.fake.memory().posts.iter().map(public_post).collect()
    }

    fn comments(&self) -> Option<Vec<PublicPost>> {
        let memory = self.fake.memory();
        let comments = memory.posts.iter().flat_map(|post| post.comments.iter().map(move |it| (post, it)));
        Some(comments.map(|(post, it)| comment(&it.id, &it.text, &post.id)).collect())
    }
}

fn public_post(post: &Post) -> PublicPost {
    let media = post.content.files.iter().map(|it| PublicMedium {
        mime_type: it.fetched.mime_type,
        bytes: it.fetched.bytes.clone(),
        alt_text: it.words.clone(),
    });
    PublicPost { id: post.id.clone(), text: post.content.caption.clone(), media: media.collect(), reply_to: None }
}

impl Post {
    /// The type and options of the post.
    pub(super) fn described(&self) -> Value {
        let kind = match self.content.kind {
            Kind::Reel => "reel",
            Kind::Story => "story",
            Kind::Post | Kind::Item => "post",
        };
        let mut options = self.content.said.clone();
        options["kind"] = kind.into();
        options["comments"] = self.comments.iter().map(|it| it.text.as_str()).collect();
        options["user_tags"] = self.content.files.iter().map(|it| it.tags.clone()).collect();
        options
    }
}
