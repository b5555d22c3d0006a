#[cfg(any(test, feature = "testing"))]
pub(crate) mod recordings;

use std::time::Duration;

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

use super::TITLE;
use super::message::Message;
use crate::http_clients::HttpClients;
use crate::kit::{ApiClient, Auth, Call, CallError, Effect, ErrorKind, ErrorRule, ErrorTable, Reset};
use crate::multipart;
use crate::publish_request::PublishRequest;

/// Parts of messages in the source of the server (tdlib/telegram-bot-api, `Client.cpp`) and of
/// `TDLib`, for a bot that may no longer post in the chat. The server begins its messages with a
/// lower-case letter, and passes errors of `MTProto` on unchanged.
const NOT_PERMITTED: &[&str] = &[
    "chat not found",
    "need administrator rights",
    "have no rights to send a message",
    "have no write access to the chat",
    "not enough rights to send text messages",
    "group chat was deactivated",
    "chat_admin_required",
    "chat_restricted",
    "chat_write_forbidden",
    "channel_private",
    "user_banned_in_channel",
];

/// Ids of channels and supergroups are at most this: their own number has the prefix -100.
const LAST_SUPERGROUP: i64 = -1_000_000_000_000;

const ERRORS: ErrorTable = ErrorTable {
    title: TITLE,
    code_at: &["/error_code"],
    message_at: &["/description"],
    is_error: |it| it["ok"] == false,
    resets: &[Reset::Seconds("/parameters/retry_after")],
    rules: &[
        // The files of an album are sent one by one. Before the other rules, because the message
        // quotes any error of one file.
        ErrorRule::message(&["failed to send message #"]).kind(ErrorKind::ServerError).ended().user_message(
            "Telegram did not accept one file of the album and does not report whether the others are \
                           public",
        ),
        ErrorRule::message(&["group chat was upgraded"])
            .kind(ErrorKind::Unauthorized)
            .user_message("the group has a new ID now"),
        ErrorRule::message(NOT_PERMITTED).kind(ErrorKind::Unauthorized),
        ErrorRule::status(403).kind(ErrorKind::Unauthorized),
        // The token has an invalid form.
        ErrorRule::status(404).kind(ErrorKind::Unauthorized),
        // No document states how large all files of an album may be together: each may have 50 MB.
        ErrorRule::status(413).user_message(
            "the files are too large for Telegram, either one of them or all together; post fewer or smaller files",
        ),
    ],
    can_look_up: false,
    ..ErrorTable::STANDARD
};

pub(super) struct Api(ApiClient);

#[derive(Clone, Copy)]
pub(super) struct Bot<'a> {
    pub(super) token: &'a SecretString,
    pub(super) now: DateTime<Utc>,
}

impl<'a> Bot<'a> {
    pub(super) fn new(request: &PublishRequest<'a>) -> Self {
        Self { token: &request.credentials.access_token, now: request.now }
    }
}

#[derive(Deserialize)]
pub(super) struct Me {
    pub(super) id: i64,
}

#[derive(Deserialize)]
pub(super) struct ChatFacts {
    pub(super) id: i64,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) title: Option<String>,
    pub(super) username: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Member {
    pub(super) status: String,
    #[serde(default)]
    pub(super) can_post_messages: bool,
    #[serde(default)]
    pub(super) can_send_messages: bool,
}

#[derive(Deserialize)]
struct Response<T> {
    result: T,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Sent {
    Album(Vec<SentMessage>),
    Single(SentMessage),
}

#[derive(Deserialize)]
struct SentMessage {
    message_id: i64,
}

impl Api {
    pub(super) fn new(http: HttpClients, base_url: Url) -> Self {
        Self(ApiClient::known(http, base_url, &ERRORS))
    }

    pub(super) async fn me(&self, bot: Bot<'_>) -> Result<Me, CallError> {
        self.call_with_body(bot, "getMe", &json!({})).await
    }

    /// A chat, by its id or `@name`.
    pub(super) async fn chat(&self, bot: Bot<'_>, chat: &str) -> Result<ChatFacts, CallError> {
        self.call_with_body(bot, "getChat", &json!({"chat_id": chat})).await
    }

    pub(super) async fn member(&self, bot: Bot<'_>, chat: i64, user: i64) -> Result<Member, CallError> {
        self.call_with_body(bot, "getChatMember", &json!({"chat_id": chat, "user_id": user})).await
    }

    /// The current id of a chat: a basic group gets another one when it becomes a supergroup.
    /// `getChat` still accepts the old id; `getChatMemberCount` refuses it and returns the new one
    /// (`check_chat_access` in `Client.cpp`).
    pub(super) async fn current_id(&self, bot: Bot<'_>, chat: i64) -> Result<i64, CallError> {
        if chat <= LAST_SUPERGROUP {
            return Ok(self.chat(bot, &chat.to_string()).await?.id);
        }
        match self.call_with_body::<u64>(bot, "getChatMemberCount", &json!({"chat_id": chat})).await {
            Ok(_) => Ok(chat),
            Err(error) => error.value("/parameters/migrate_to_chat_id").and_then(Value::as_i64).ok_or(error),
        }
    }

    /// Returns the message's id, or that of the first of several.
    pub(super) async fn send(&self, bot: Bot<'_>, message: Message<'_>, timeout: Duration) -> Result<i64, CallError> {
        let call = self.call(bot, message.method()).timeout(timeout);
        let (call, feeding) = message.onto(call);
        let Response { result } = multipart::answered(call.read(), feeding).await?;
        let sent = match result {
            Sent::Single(sent) => Some(sent),
            Sent::Album(sent) => sent.into_iter().next(),
        };
        sent.map(|it| it.message_id).ok_or_else(|| self.0.unreadable(Effect::Public))
    }

    async fn call_with_body<T: DeserializeOwned>(
        &self,
        bot: Bot<'_>,
        method: &str,
        body: &Value,
    ) -> Result<T, CallError> {
        let Response { result } = self.call(bot, method).effect(Effect::Read).json(body).read().await?;
        Ok(result)
    }

    fn call(&self, bot: Bot<'_>, method: &str) -> Call {
        let auth = Auth::token(bot.token, bot.now).without_token();
        self.0.post(auth, &[&format!("bot{}", bot.token.expose_secret()), method])
    }
}

#[cfg(test)]
mod tests {
    use domain::delivery::AttemptError;
    use domain::testing::noon;
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn attempt_error(status: u16, description: &str) -> AttemptError {
        let body = json!({"ok": false, "error_code": status, "description": description});
        let status = StatusCode::from_u16(status).unwrap();
        ERRORS.classify(Effect::Public, status, &HeaderMap::new(), body.to_string().as_bytes(), noon()).into()
    }

    #[test]
    fn error_table_classifies_the_servers_descriptions() {
        for (status, description) in [
            (401, "Unauthorized"),
            (404, "Not Found"),
            (403, "Forbidden: bot was kicked from the supergroup chat"),
            (400, "Bad Request: chat not found"),
            (400, "Bad Request: need administrator rights in the channel chat"),
            (400, "Bad Request: have no rights to send a message"),
            (400, "Bad Request: have no write access to the chat"),
            (400, "Bad Request: not enough rights to send text messages to the chat"),
            (400, "Bad Request: group chat was deactivated"),
            (400, "Bad Request: CHAT_ADMIN_REQUIRED"),
            (400, "Bad Request: CHAT_RESTRICTED"),
            (400, "Bad Request: CHAT_WRITE_FORBIDDEN"),
            (400, "Bad Request: CHANNEL_PRIVATE"),
            (400, "Bad Request: USER_BANNED_IN_CHANNEL"),
            (400, "Bad Request: group chat was upgraded to a supergroup chat"),
        ] {
            assert!(matches!(attempt_error(status, description), AttemptError::Unauthorized { .. }), "{description}");
        }
        for (status, description) in [
            (400, "Bad Request: message is too long"),
            // The bot could still send a text.
            (400, "Bad Request: not enough rights to send photos to the chat"),
            (400, "Bad Request: not enough rights to send videos to the chat"),
            (413, "Request Entity Too Large"),
        ] {
            assert!(matches!(attempt_error(status, description), AttemptError::Refused { .. }), "{description}");
        }
        let album = "Bad Request: failed to send message #2 with the error message \"CHAT_WRITE_FORBIDDEN\"";
        assert!(matches!(attempt_error(400, album), AttemptError::Unknown { may_still_run: false, .. }));
        assert!(matches!(
            attempt_error(500, "Internal Server Error: restart"),
            AttemptError::Unknown { may_still_run: true, .. }
        ));
    }

    #[test]
    fn limit_lasts_as_long_as_the_response_says() {
        let body = r#"{"ok": false, "error_code": 429, "description": "Too Many Requests: retry after 17",
            "parameters": {"retry_after": 17}}"#;
        let error =
            ERRORS.classify(Effect::Public, StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), body.as_bytes(), noon());
        let AttemptError::RetryLater { retry_at: Some(at), .. } = error.into() else { panic!() };
        assert_eq!(at, noon() + chrono::TimeDelta::seconds(17));
    }
}
