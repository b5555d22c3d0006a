//! `Discord` in the conformance suite.

use async_trait::async_trait;
use platforms::{AppCredentials, FieldValues};
use serde_json::{Value, json};
use url::Url;

use super::Discord;
use super::oauth::CHOICE;
use crate::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault, PublicPost};
use crate::fake::fake_platform::{fake_platform, trims_texts};
use crate::fake::oauth::decide;

#[async_trait]
impl<const APP: bool> FakePlatform for Discord<APP> {
    fake_platform!("discord");
    trims_texts!();

    fn settings(&self) -> Value {
        json!({ "url": self.base_url(), "app": APP })
    }

    fn app_credentials(&self) -> Option<AppCredentials> {
        APP.then(|| AppCredentials::new(&self.fake.app.client_id, &self.fake.app.client_secret))
    }

    fn register_redirect_uri(&self, redirect_uri: &str) {
        self.fake.oauth().permit(redirect_uri);
    }

    fn form_values(&self) -> FieldValues {
        let webhook = if APP { String::new() } else { self.webhook_url() };
        FieldValues::from([("webhook".to_owned(), webhook.into())])
    }

    fn direct_form_values(&self) -> Option<FieldValues> {
        Some(FieldValues::from([("webhook".to_owned(), self.webhook_url().into())]))
    }

    fn has_authorization_page(&self) -> bool {
        APP
    }

    fn can_look_up(&self) -> bool {
        false
    }

    fn revokes_grants(&self) -> bool {
        APP
    }

    fn revokes_direct_grants(&self) -> bool {
        false
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        decide(url, CHOICE, decision).await
    }

    fn can_fail(&self, call: Call, _: InjectedFault) -> bool {
        matches!(call, Call::Exchange | Call::Publish | Call::Revoke)
    }

    /// A moderator deletes the webhooks in the channel settings.
    fn revoke(&self) {
        for webhook in &mut self.fake.memory().webhooks {
            webhook.is_deleted = true;
        }
    }

    fn end_access_tokens(&self) {}

    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        let post = |it: &super::Message| PublicPost {
            id: it.id.clone(),
            text: it.text.clone(),
            media: it.media.clone(),
            reply_to: None,
        };
        memory.messages.iter().map(post).collect()
    }

    /// Number of live webhooks: those of the app with `APP`, else those of users.
    fn grant_count(&self) -> usize {
        let memory = self.fake.memory();
        memory.webhooks.iter().filter(|it| !it.is_deleted && it.application_id.is_some() == APP).count()
    }
}
