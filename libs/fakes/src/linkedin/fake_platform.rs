//! The conformance suite's access to LinkedIn.

use serde_json::Value;

use super::little::Read;
use super::posts::Post;
use super::{LinkedIn, Memory, PAGE_URN, Products};
use crate::conformance::fake_platform::{Call, FakePlatform, InjectedFault, PublicPost};
use crate::fake::fake_platform::{comment, describes_images_only, medium, oauth_fake_platform};

impl<P: Products> FakePlatform for LinkedIn<P> {
    oauth_fake_platform!("linkedin");
    describes_images_only!();

    fn settings(&self) -> Value {
        let mut settings = P::settings();
        settings["url"] = self.fake.base_url().into();
        settings
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
        let comments = || self.fake.memory().comments.iter().map(|it| comment(&it.urn(), &it.text, &it.post)).collect();
        has_scopes.then(comments)
    }
}

fn public_post(memory: &Memory, post: &Post) -> PublicPost {
    let media = post
        .files()
        .into_iter()
        .filter_map(|(id, alt_text)| Some(medium(memory.files.get(id)?.bytes(), alt_text.map(str::to_owned))));
    PublicPost { id: post.urn.clone(), text: post.text.shown(), media: media.collect(), reply_to: None }
}
