//! The Bot API's addresses and answers.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

use super::failure::{Failure, refused};
use super::message::Message;
use crate::answer::{self, Unreadable};
use crate::http_clients::HttpClients;
use crate::multipart;
use crate::not_now::NotNow;

/// The Bot API.
pub(super) struct Api {
    http: HttpClients,
    base_url: String,
}

/// A bot.
#[derive(Deserialize)]
pub(super) struct Me {
    pub(super) id: i64,
}

/// A chat, as far as it matters here.
#[derive(Deserialize)]
pub(super) struct ChatFacts {
    pub(super) id: i64,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) title: Option<String>,
    pub(super) username: Option<String>,
}

/// What a bot is in a chat.
#[derive(Deserialize)]
pub(super) struct Member {
    pub(super) status: String,
    #[serde(default)]
    pub(super) can_post_messages: bool,
    #[serde(default)]
    pub(super) can_send_messages: bool,
}

/// Every answer of the Bot API.
#[derive(Deserialize)]
struct Answer {
    ok: bool,
    result: Option<Value>,
    error_code: Option<u16>,
    description: Option<String>,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Default, Deserialize)]
struct Parameters {
    retry_after: Option<u32>,
    migrate_to_chat_id: Option<i64>,
}

#[derive(Deserialize)]
struct Sent {
    message_id: i64,
}

impl Api {
    pub(super) fn new(http: HttpClients, base_url: &Url) -> Self {
        Self { http, base_url: base_url.as_str().trim_end_matches('/').to_owned() }
    }

    /// The bot itself.
    pub(super) async fn me(&self, token: &SecretString) -> Result<Me, Failure> {
        self.ask(token, "getMe", &json!({})).await
    }

    /// A chat, by its number or `@name`.
    pub(super) async fn chat(&self, token: &SecretString, chat: &str) -> Result<ChatFacts, Failure> {
        self.ask(token, "getChat", &json!({"chat_id": chat})).await
    }

    /// What somebody is in a chat.
    pub(super) async fn member(&self, token: &SecretString, chat: i64, user: i64) -> Result<Member, Failure> {
        self.ask(token, "getChatMember", &json!({"chat_id": chat, "user_id": user})).await
    }

    /// Makes a message public; its number, of several the first one's.
    pub(super) async fn send(
        &self,
        token: &SecretString,
        message: Message<'_>,
        within: Duration,
    ) -> Result<i64, Failure> {
        let request = self.request(token, message.method())?;
        let (request, unread, bringing) = message.onto(request);
        let sent = match multipart::answered(answered(request.timeout(within)), bringing).await {
            // What arrived was shorter than was said, and is no request.
            Err(Failure::Unknown { .. }) if unread.is_set() => {
                return Err(Failure::NotSent { why: "a file could not be read".to_owned() });
            }
            sent => sent?,
        };
        let first =
            if let Value::Array(several) = sent { several.into_iter().next().unwrap_or_default() } else { sent };
        let Sent { message_id } = serde_json::from_value(first).map_err(|_| unreadable())?;
        Ok(message_id)
    }

    async fn ask<T: DeserializeOwned>(&self, token: &SecretString, method: &str, body: &Value) -> Result<T, Failure> {
        let answer = answered(self.request(token, method)?.json(body)).await?;
        serde_json::from_value(answer).map_err(|_| unreadable())
    }

    fn request(&self, token: &SecretString, method: &str) -> Result<RequestBuilder, NotNow> {
        let url = format!("{}/bot{}/{method}", self.base_url, token.expose_secret());
        self.http.to_known(Method::POST, url)
    }
}

async fn answered(request: RequestBuilder) -> Result<Value, Failure> {
    let response = request.send().await?;
    let status = response.status();
    let answer: Answer = answer::json(response).await.map_err(|why| match (status, why) {
        // A proxy's own page, which has no words for a person.
        (StatusCode::TOO_MANY_REQUESTS, _) => refused(429, None, None),
        (StatusCode::PAYLOAD_TOO_LARGE, _) => refused(413, Some("Request Entity Too Large".to_owned()), None),
        (it, Unreadable::Form) if it.is_server_error() => {
            Failure::Unknown { may_still_run: false, why: "Telegram failed inside".to_owned() }
        }
        _ => unreadable(),
    })?;
    match answer {
        Answer { ok: true, result: Some(result), .. } => Ok(result),
        Answer { parameters: Parameters { migrate_to_chat_id: Some(to), .. }, .. } => Err(Failure::Moved { to }),
        Answer { error_code: Some(500..), .. } => {
            Err(Failure::Unknown { may_still_run: false, why: "Telegram failed inside".to_owned() })
        }
        Answer { error_code: Some(code), description, parameters, .. } => {
            Err(refused(code, description, parameters.retry_after))
        }
        _ => Err(unreadable()),
    }
}

fn unreadable() -> Failure {
    Failure::Unknown { may_still_run: true, why: "Telegram's answer could not be read".to_owned() }
}
