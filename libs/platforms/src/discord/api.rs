//! The API's addresses and answers.

use std::time::Duration;

use http::{Method, StatusCode, header};
use reqwest::RequestBuilder;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::failure::{self, Failure};
use super::message::Message;
use super::snowflake::Snowflake;
use super::webhook::{Key, Webhook};
use crate::answer;
use crate::http_clients::HttpClients;
use crate::multipart;
use crate::not_now::NotNow;

/// Discord's API, version 10.
pub(super) struct Api {
    http: HttpClients,
    base_url: String,
    user_agent: String,
}

/// A message that was sent.
#[derive(Deserialize)]
pub(super) struct Sent {
    pub(super) id: Snowflake,
    /// In a forum, that of the thread.
    pub(super) channel_id: Snowflake,
}

impl Api {
    pub(super) fn new(http: HttpClients, base_url: String, user_agent: String) -> Self {
        Self { http, base_url, user_agent }
    }

    /// What a webhook is.
    pub(super) async fn webhook(&self, key: &Key) -> Result<Webhook, Failure> {
        read(&answered(self.request(Method::GET, key)?).await?)
    }

    /// Deletes a webhook.
    pub(super) async fn delete(&self, key: &Key) -> Result<(), Failure> {
        answered(self.request(Method::DELETE, key)?).await.map(drop)
    }

    /// Makes a message public.
    pub(super) async fn send(&self, key: &Key, message: Message<'_>, within: Duration) -> Result<Sent, Failure> {
        // Else errors of a message that is not kept are swallowed, and no id comes.
        let request = self.request(Method::POST, key)?.query(&[("wait", "true")]);
        read(&sent(request.timeout(within), message).await?)
    }

    fn request(&self, method: Method, key: &Key) -> Result<RequestBuilder, NotNow> {
        self.to(method, &format!("/webhooks/{}/{}", key.id, key.token.expose_secret()))
    }

    /// A request to a path of the API.
    pub(super) fn to(&self, method: Method, path: &str) -> Result<RequestBuilder, NotNow> {
        let url = format!("{}{path}", self.base_url);
        Ok(self.http.to_known(method, url)?.header(header::USER_AGENT, &self.user_agent))
    }
}

/// The body of the answer to a message.
pub(super) async fn sent(request: RequestBuilder, message: Message<'_>) -> Result<Vec<u8>, Failure> {
    let (request, unread, bringing) = message.onto(request);
    match multipart::answered(answered(request), bringing).await {
        // What arrived was shorter than was said, and is no request.
        Err(Failure::Unknown { .. }) if unread.is_set() => {
            Err(Failure::NotSent { why: "a file could not be read".to_owned() })
        }
        sent => sent,
    }
}

/// More than a page of messages, or all channels of a server.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The body of an answer that is a success.
pub(super) async fn answered(request: RequestBuilder) -> Result<Vec<u8>, Failure> {
    let response = request.send().await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = answer::body_up_to(response, MAX_ANSWER_BYTES).await;
    match status {
        StatusCode::NO_CONTENT => Ok(Vec::new()),
        it if it.is_success() => body.map_err(|_| failure::unreadable()),
        _ => Err(failure::read(status, &headers, body.ok().as_deref())),
    }
}

pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|_| failure::unreadable())
}
