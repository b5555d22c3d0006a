//! `TikTok` in the conformance suite.

use domain::media::MimeType;
use domain::options::{OptionValue, Options};
use serde_json::{Value, json};

use super::TikTok;
use super::posts::Post;
use crate::conformance::fake_platform::{Call, FakePlatform, InjectedFault, PublicPost};
use crate::fake::fake_platform::{medium, oauth_fake_platform};

impl<const DIRECT: bool, const VIDEOS: bool> FakePlatform for TikTok<DIRECT, VIDEOS> {
    oauth_fake_platform!("tiktok");

    fn has_alt_texts(&self, _: MimeType) -> bool {
        false
    }

    fn settings(&self) -> Value {
        json!({ "url": self.base_url(), "direct": DIRECT, "audited": DIRECT })
    }

    fn options(&self) -> Options {
        let visibility = ("visibility".to_owned(), OptionValue::from("PUBLIC_TO_EVERYONE"));
        DIRECT.then_some(visibility).into_iter().collect()
    }

    fn is_for_videos(&self) -> bool {
        VIDEOS
    }

    /// Photos whose `publish_id` was lost are in no list. That of a video is known before.
    fn can_look_up(&self) -> bool {
        VIDEOS
    }

    /// The upload URL authorizes the publish call of a video, whose errors say nothing about the post.
    fn publish_call_has_secrets(&self) -> bool {
        !VIDEOS
    }

    /// The response to the last chunk has no body.
    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        use InjectedFault::{CutBody, EmptyBody, Refused};
        !VIDEOS || call != Call::Publish || !matches!(fault, CutBody | EmptyBody | Refused)
    }

    fn fetched_urls(&self) -> Vec<String> {
        self.fake.memory().fetched_urls.clone()
    }

    fn publish_manual_post(&self, text: &str) {
        let posted_at = Some(self.fake.clock.now());
        let post =
            Post { text: text.to_owned(), is_direct: DIRECT, received_at: posted_at, posted_at, ..Post::default() };
        self.fake.memory().add(post);
    }

    /// Direct posts, or posts in the inbox, as soon as nothing can prevent them. Posts that were made in the
    /// app have no `publish_id`.
    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        let is_shown = |it: &&Post| it.is_direct == DIRECT && it.received_at.is_some() && it.fail_reason.is_none();
        memory.posts.iter().filter(is_shown).map(public_post).collect()
    }
}

fn public_post(post: &Post) -> PublicPost {
    let media = post.files.iter().map(|it| medium(it.clone(), None)).collect();
    let id = if post.is_direct { post.id.to_string() } else { post.publish_id.clone() };
    PublicPost { id, text: post.text.clone(), media, reply_to: None }
}
