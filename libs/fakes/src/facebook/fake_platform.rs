use serde_json::{Value, json};

use super::posts::Post;
use super::{CONFIGURATION, Facebook, Memory, PAGE};
use crate::conformance::fake_platform::{FakePlatform, PublicMedium, PublicPost};
use crate::fake::fake_platform::{comment, describes_images_only, medium, oauth_fake_platform, trims_texts};

impl<const CONFIGURED: bool> FakePlatform for Facebook<CONFIGURED> {
    oauth_fake_platform!("facebook");
    describes_images_only!();
    trims_texts!();

    fn settings(&self) -> Value {
        let mut settings = json!({ "url": self.fake.base_url() });
        if CONFIGURED {
            settings["config_id"] = CONFIGURATION.into();
        }
        settings
    }

    fn accepts_repeated_texts(&self) -> bool {
        false
    }

    fn publish_manual_post(&self, text: &str) {
        let now = self.fake.clock.now();
        self.fake.memory().add_post(PAGE, text, Vec::new(), None, now);
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        memory.posts.iter().map(|it| public_post(&memory, it)).collect()
    }

    fn comments(&self) -> Option<Vec<PublicPost>> {
        Some(self.fake.memory().comments.iter().map(|it| comment(&it.id, &it.text, &it.post)).collect())
    }
}

fn public_post(memory: &Memory, post: &Post) -> PublicPost {
    let photo_medium = |id: &String| {
        let photo = memory.photos.get(id)?;
        Some(PublicMedium { mime_type: photo.mime_type, bytes: photo.bytes.to_vec(), alt_text: photo.words.clone() })
    };
    let video_medium = |id: &String| Some(medium(memory.videos.get(id)?.bytes.clone(), None));
    let media = post.photos.iter().filter_map(photo_medium).chain(post.video.iter().filter_map(video_medium)).collect();
    // The id of a video post is the video's id.
    PublicPost {
        id: post.video.clone().unwrap_or_else(|| post.id.clone()),
        text: post.text.clone(),
        media,
        reply_to: None,
    }
}
