//! `FakePlatform` for the conformance suite.

use async_trait::async_trait;
use platforms::FieldValues;
use url::Url;

use super::{CHANNEL, TOKEN, Telegram};
use crate::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault, PublicPost};
use crate::fake::fake_platform::{fake_platform, trims_texts};

#[async_trait]
impl FakePlatform for Telegram {
    fake_platform!("telegram");
    trims_texts!();

    fn form_values(&self) -> FieldValues {
        let memory = self.fake.memory();
        let chat = if memory.is_group { memory.id().to_string() } else { format!("@{CHANNEL}") };
        FieldValues::from([("token".to_owned(), TOKEN.into()), ("chat".to_owned(), chat.into())])
    }

    fn direct_form_values(&self) -> Option<FieldValues> {
        Some(self.form_values())
    }

    fn has_authorization_page(&self) -> bool {
        false
    }

    fn can_look_up(&self) -> bool {
        false
    }

    fn revokes_grants(&self) -> bool {
        false
    }

    async fn redirect_url(&self, url: &str, _: Decision) -> Url {
        panic!("Telegram has no page: {url}")
    }

    fn can_fail(&self, call: Call, _: InjectedFault) -> bool {
        matches!(call, Call::Exchange | Call::Publish | Call::Account)
    }

    fn revoke(&self) {
        self.fake.memory().is_kicked = true;
    }

    fn readmit(&self) {
        self.fake.memory().is_kicked = false;
    }

    fn end_access_tokens(&self) {}

    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        // A reply to any message of an album is a reply to the post.
        let post_of = |id: i64| memory.messages.iter().find(|it| it.has(id)).map(|it| it.id.to_string());
        let post = |it: &super::Message| PublicPost {
            id: it.id.to_string(),
            text: it.text.clone(),
            media: it.media.clone(),
            reply_to: it.reply_to.and_then(post_of),
        };
        memory.messages.iter().map(post).collect()
    }

    fn grant_count(&self) -> usize {
        usize::from(!self.fake.memory().is_kicked)
    }
}
