//! The conformance suite's access to LinkedIn.

use domain::media::{FileType, MimeType};
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault, PublicPost};
use serde_json::Value;

use super::comments::Comment;
use super::little::Read;
use super::posts::Post;
use super::{LinkedIn, Memory, PAGE_URN, Products};
use crate::fake::fake_platform::{medium, oauth_fake_platform};

impl<P: Products> FakePlatform for LinkedIn<P> {
    oauth_fake_platform!("linkedin");

    fn settings(&self) -> Value {
        let mut settings = P::settings();
        settings["url"] = self.fake.base_url().into();
        settings
    }

    fn has_alt_texts(&self, mime_type: MimeType) -> bool {
        mime_type.file_type() == FileType::Image
    }

    /// LinkedIn lists only the posts of Pages.
    fn can_look_up(&self) -> bool {
        P::has_pages()
    }

    fn accepts_repeated_texts(&self) -> bool {
        false
    }

    /// LinkedIn sends no `Retry-After`. Its response to the publish call has the id in a header and
    /// no body.
    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        let is_other =
            matches!(fault, InjectedFault::RateLimited { .. } | InjectedFault::CutBody | InjectedFault::EmptyBody);
        !(call == Call::Publish && is_other) && (call != Call::Refresh || P::has_pages())
    }

    fn publish_manual_post(&self, text: &str) {
        let now = self.fake.clock.now();
        self.fake.memory().add(PAGE_URN, Read::parse(text), Value::Null, "PUBLIC", now);
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        memory.posts.iter().map(|it| public_post(&memory, it)).collect()
    }

    /// Only "Community Management API" has the scopes for comments.
    fn comments(&self) -> Option<Vec<PublicPost>> {
        let has_scopes = P::SCOPES.contains(&"w_organization_social_feed") && P::settings()["scopes"].is_null();
        has_scopes.then(|| self.fake.memory().comments.iter().map(public_comment).collect())
    }
}

fn public_comment(comment: &Comment) -> PublicPost {
    PublicPost {
        id: comment.urn(),
        text: comment.text.clone(),
        media: Vec::new(),
        reply_to: Some(comment.post.clone()),
    }
}

fn public_post(memory: &Memory, post: &Post) -> PublicPost {
    let media = post
        .files()
        .into_iter()
        .filter_map(|(id, alt_text)| Some(medium(memory.files.get(id)?.bytes(), alt_text.map(str::to_owned))));
    PublicPost { id: post.urn.clone(), text: post.text.shown(), media: media.collect(), reply_to: None }
}
