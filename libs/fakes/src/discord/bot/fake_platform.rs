//! `DiscordBot` in the conformance suite.

use async_trait::async_trait;
use axum::response::Response;
use domain::options::{OptionValue, Options};
use http::Method;
use http::request::Parts;
use platforms::{AppCredentials, FieldValues};
use serde_json::{Value, json};
use url::Url;

use super::{DiscordBot, Fake, GENERAL, Message, SERVER, TOKEN};
use crate::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault, PublicPost};
use crate::discord::message::MessageBody;
use crate::discord::webhooks;
use crate::fake::fake_platform::{fake_platform, trims_texts};
use crate::fake::front::FaultInjection;
use crate::fake::oauth::decide;

#[async_trait]
impl FakePlatform for DiscordBot {
    fake_platform!("discord");
    trims_texts!();

    fn settings(&self) -> Value {
        json!({ "url": self.base_url(), "bot": true })
    }

    fn app_credentials(&self) -> Option<AppCredentials> {
        let kept = json!({
            "client_id": self.fake.app.client_id,
            "client_secret": self.fake.app.client_secret,
            "bot_token": self.token(),
        });
        Some(serde_json::from_value(kept).expect("this is how an operator writes it"))
    }

    fn register_redirect_uri(&self, redirect_uri: &str) {
        self.fake.oauth().permit(redirect_uri);
    }

    fn form_values(&self) -> FieldValues {
        FieldValues::from([("webhook".to_owned(), String::new().into())])
    }

    fn options(&self) -> Options {
        [("channel".to_owned(), OptionValue::Text(GENERAL.to_owned()))].into_iter().collect()
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        decide(url, SERVER, decision).await
    }

    fn can_fail(&self, call: Call, _: InjectedFault) -> bool {
        matches!(call, Call::Exchange | Call::Publish | Call::Revoke | Call::LookUp | Call::Account)
    }

    /// A moderator kicks the bot from the server.
    fn revoke(&self) {
        self.fake.memory().is_in = false;
    }

    fn end_access_tokens(&self) {}

    /// Another program with the same bot publishes the post.
    fn publish_manual_post(&self, text: &str) {
        let now = self.fake.clock.now();
        let mut memory = self.fake.memory();
        let body = MessageBody { text: text.to_owned(), media: Vec::new(), names: Vec::new() };
        let id = memory.id(now);
        memory.post(body, (GENERAL.to_owned(), id), None, json!({}), now);
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        let post = |it: &Message| PublicPost {
            id: it.id.clone(),
            text: it.text.clone(),
            media: it.media.clone(),
            reply_to: it.parent().map(str::to_owned),
        };
        memory.messages.iter().filter(|it| it.is_ours).map(post).collect()
    }

    /// Number of servers that the bot is a member of.
    fn grant_count(&self) -> usize {
        usize::from(self.fake.memory().is_in)
    }
}

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] = &["/message", "/error_description"];

    fn call(&self, head: &Parts, _: &[u8]) -> Option<Call> {
        let path = head.uri.path();
        let is_of_messages = path.contains("/messages") || path.contains("/threads");
        match head.method {
            Method::POST if path == TOKEN => Some(Call::Exchange),
            Method::POST if is_of_messages => Some(Call::Publish),
            Method::GET if is_of_messages => Some(Call::LookUp),
            Method::GET if path.starts_with("/api/v10/guilds/") => Some(Call::Account),
            Method::DELETE => Some(Call::Revoke),
            _ => None,
        }
    }

    fn respond(&self, _: Call, fault: InjectedFault) -> Response {
        webhooks::respond(fault)
    }
}
