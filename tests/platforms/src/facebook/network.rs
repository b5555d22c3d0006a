//! The API as the conformance suite sees it.

use domain::media::{FileType, MimeType};
use platforms::conformance::network::{Network, PublicMedium, PublicPost};
use serde_json::{Value, json};

use super::posts::Post;
use super::{CONFIGURATION, Facebook, Memory, PAGE};
use crate::fake::network::{medium, oauth_network};

impl<const CONFIGURED: bool> Network for Facebook<CONFIGURED> {
    oauth_network!("facebook");

    fn settings(&self) -> Value {
        let mut settings = json!({ "url": self.here.base_url() });
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

    fn posts_by_hand(&self, text: &str) {
        let now = self.here.clock.now();
        self.here.memory().add_post(PAGE, text, Vec::new(), None, now);
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
    let of_video = |id: &String| Some(medium(memory.videos.get(id)?.bytes.clone(), None));
    let media = post.photos.iter().filter_map(of_photo).chain(post.video.iter().filter_map(of_video)).collect();
    // A video is known by its own id.
    PublicPost { id: post.video.clone().unwrap_or_else(|| post.id.clone()), text: post.text.clone(), media }
}
