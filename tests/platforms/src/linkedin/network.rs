//! The API as the conformance suite sees it.

use domain::media::{FileType, MimeType};
use platforms::conformance::network::{Call, InjectedFault, Network, PublicPost};
use serde_json::Value;

use super::little::Read;
use super::posts::Post;
use super::{LinkedIn, Memory, PAGE_URN, Products};
use crate::fake::network::{medium, oauth_network};

impl<P: Products> Network for LinkedIn<P> {
    oauth_network!("linkedin");

    fn settings(&self) -> Value {
        let mut settings = P::settings();
        settings["url"] = self.here.base_url().into();
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

    /// It never says when it wants to be asked again, and its response to the publish call
    /// has its id in a header and no body.
    fn can(&self, call: Call, trouble: InjectedFault) -> bool {
        let is_other =
            matches!(trouble, InjectedFault::Limited { .. } | InjectedFault::CutBody | InjectedFault::EmptyBody);
        !(call == Call::Publish && is_other) && (call != Call::Refresh || P::has_pages())
    }

    fn posts_by_hand(&self, text: &str) {
        let now = self.here.clock.now();
        self.here.memory().add(PAGE_URN, Read::of(text), Value::Null, "PUBLIC", now);
    }

    fn public(&self) -> Vec<PublicPost> {
        let memory = self.here.memory();
        memory.posts.iter().map(|it| public_post(&memory, it)).collect()
    }
}

fn public_post(memory: &Memory, post: &Post) -> PublicPost {
    let media = post
        .files()
        .into_iter()
        .filter_map(|(id, words)| Some(medium(memory.files.get(id)?.bytes(), words.map(str::to_owned))));
    PublicPost { id: post.urn.clone(), text: post.text.shown(), media: media.collect() }
}
