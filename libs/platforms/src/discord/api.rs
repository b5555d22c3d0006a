use std::time::Duration;

use chrono::{DateTime, Utc};
use http::{HeaderValue, Method, header};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::errors::WEBHOOK_ERRORS;
use super::message::Message;
use super::snowflake::Snowflake;
use super::webhook::{Key, Webhook};
use crate::http_clients::HttpClients;
use crate::kit::{ApiClient, Auth, Call, CallError, Effect};
use crate::multipart;

pub(super) struct Api(ApiClient);

#[derive(Deserialize)]
pub(super) struct Sent {
    pub(super) id: Snowflake,
    /// In a forum, the id of the thread.
    pub(super) channel_id: Snowflake,
}

impl Api {
    pub(super) fn new(http: HttpClients, base_url: Url, user_agent: HeaderValue) -> Self {
        Self(ApiClient::known(http, base_url, &WEBHOOK_ERRORS).with_header(header::USER_AGENT, user_agent))
    }

    pub(super) async fn webhook(&self, key: &Key, now: DateTime<Utc>) -> Result<Webhook, CallError> {
        self.call(Method::GET, key, now).read().await
    }

    pub(super) async fn delete(&self, key: &Key, now: DateTime<Utc>) -> Result<(), CallError> {
        self.call(Method::DELETE, key, now).effect(Effect::Private).expect_success().await
    }

    pub(super) async fn send(
        &self,
        key: &Key,
        message: Message<'_>,
        timeout: Duration,
        now: DateTime<Utc>,
    ) -> Result<Sent, CallError> {
        // Without it, errors of a message that is not stored are dropped, and no id is returned.
        let call = self.call(Method::POST, key, now).query(&[("wait", "true")]);
        send(call.timeout(timeout), message).await
    }

    fn call(&self, method: Method, key: &Key, now: DateTime<Utc>) -> Call {
        let auth = Auth::token(&key.token, now).without_token();
        self.0.call(auth, method, &["webhooks", &key.id.to_string(), key.token.expose_secret()])
    }
}

pub(super) async fn send<T: DeserializeOwned>(call: Call, message: Message<'_>) -> Result<T, CallError> {
    let (call, feeding) = message.onto(call);
    multipart::answered(call.read(), feeding).await
}
