//! Discord as the conformance suite sees it.

use async_trait::async_trait;
use platforms::conformance::network::{Call, Decision, InjectedFault, Network, PublicPost};
use platforms::{AppCredentials, FieldValues};
use serde_json::{Value, json};
use url::Url;

use super::Discord;
use super::oauth::CHOICE;
use crate::fake::network::network;
use crate::fake::oauth::decide;

#[async_trait]
impl<const APP: bool> Network for Discord<APP> {
    network!("discord");

    fn settings(&self) -> Value {
        json!({ "url": self.base_url(), "app": APP })
    }

    fn app(&self) -> Option<AppCredentials> {
        APP.then(|| AppCredentials::new(&self.here.app.client_id, &self.here.app.client_secret))
    }

    fn permit(&self, redirect_uri: &str) {
        self.here.oauth().permit(redirect_uri);
    }

    fn answers(&self) -> FieldValues {
        let webhook = if APP { String::new() } else { self.webhook_url() };
        FieldValues::from([("webhook".to_owned(), webhook.into())])
    }

    fn direct_answers(&self) -> Option<FieldValues> {
        Some(FieldValues::from([("webhook".to_owned(), self.webhook_url().into())]))
    }

    fn has_page(&self) -> bool {
        APP
    }

    fn can_be_asked(&self) -> bool {
        false
    }

    fn ends_grants(&self) -> bool {
        APP
    }

    fn ends_typed_grants(&self) -> bool {
        false
    }

    async fn send_back(&self, url: &str, decision: Decision) -> Url {
        decide(url, CHOICE, decision).await
    }

    fn can(&self, call: Call, _: InjectedFault) -> bool {
        matches!(call, Call::Exchange | Call::Publish | Call::Revoke)
    }

    /// Somebody deletes the webhooks in the settings of the channel.
    fn revoke(&self) {
        for webhook in &mut self.here.memory().webhooks {
            webhook.is_deleted = true;
        }
    }

    fn end_access_tokens(&self) {}

    fn public(&self) -> Vec<PublicPost> {
        let memory = self.here.memory();
        let post =
            |it: &super::Message| PublicPost { id: it.id.clone(), text: it.text.clone(), media: it.media.clone() };
        memory.messages.iter().map(post).collect()
    }

    /// Without the white space around it.
    fn shown(&self, text: &str) -> String {
        text.trim().to_owned()
    }

    /// Webhooks that the app was given, or another user's.
    fn grants(&self) -> usize {
        let memory = self.here.memory();
        memory.webhooks.iter().filter(|it| !it.is_deleted && it.application_id.is_some() == APP).count()
    }
}
