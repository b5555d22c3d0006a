//! The API as called by the bot of this deployment.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use http::{HeaderValue, Method, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::api::{self, Sent};
use super::errors::BOT_ERRORS;
use super::message::Message;
use super::snowflake::Snowflake;
use crate::app::{AppCredentials, AppSource};
use crate::dependency_error::DependencyError;
use crate::http_clients::HttpClients;
use crate::kit::{ApiClient, Auth, Call, CallError, Effect, ErrorKind};
use crate::redaction::redact_message;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WithBot {
    bot_token: SecretString,
}

/// The operator's secret of an app whose bot is not used; it may have the bot's token as well.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WithOptionalBot {
    #[serde(default, rename = "bot_token")]
    _bot_token: Option<SecretString>,
}

/// The bot of this deployment. It acts for every server that it was added to.
pub(super) struct BotAccount {
    client: ApiClient,
    app: Arc<dyn AppSource>,
}

#[derive(Clone, Copy)]
pub(super) struct Bot<'a> {
    account: &'a BotAccount,
    now: DateTime<Utc>,
}

#[derive(Deserialize)]
pub(super) struct User {
    pub(super) id: Snowflake,
}

/// A server, which Discord calls a guild.
#[derive(Deserialize)]
pub(super) struct Guild {
    pub(super) id: Snowflake,
    pub(super) name: String,
    pub(super) icon: Option<String>,
    pub(super) owner_id: Option<Snowflake>,
    #[serde(default)]
    pub(super) roles: Vec<Role>,
}

#[derive(Deserialize)]
pub(super) struct Role {
    pub(super) id: Snowflake,
    /// A bit set, as a decimal number.
    pub(super) permissions: String,
}

#[derive(Deserialize)]
pub(super) struct Member {
    pub(super) roles: Vec<Snowflake>,
}

#[derive(Deserialize)]
pub(super) struct Channel {
    pub(super) id: Snowflake,
    #[serde(rename = "type")]
    pub(super) kind: u8,
    pub(super) guild_id: Option<Snowflake>,
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) position: i64,
    /// The category of a channel, or the channel of a thread.
    pub(super) parent_id: Option<Snowflake>,
    #[serde(default)]
    pub(super) permission_overwrites: Vec<Overwrite>,
    pub(super) owner_id: Option<Snowflake>,
    pub(super) thread_metadata: Option<ThreadMetadata>,
    /// The first message of a thread that was just created.
    pub(super) message: Option<Sent>,
}

#[derive(Deserialize)]
pub(super) struct ThreadMetadata {
    pub(super) archive_timestamp: DateTime<Utc>,
}

/// The permissions of a role or a member in one channel, where they differ from the server's.
#[derive(Deserialize)]
pub(super) struct Overwrite {
    pub(super) id: Snowflake,
    pub(super) allow: String,
    pub(super) deny: String,
}

#[derive(Deserialize)]
pub(super) struct Threads {
    pub(super) threads: Vec<Channel>,
    #[serde(default)]
    pub(super) has_more: bool,
}

#[derive(Deserialize)]
pub(super) struct Listed {
    pub(super) id: Snowflake,
    pub(super) author: Option<User>,
    pub(super) webhook_id: Option<Snowflake>,
    #[serde(default)]
    pub(super) content: String,
    #[serde(default)]
    pub(super) attachments: Vec<ListedAttachment>,
    /// Documented for every message, but some listed ones lack it.
    #[serde(default)]
    pub(super) nonce: serde_json::Value,
    /// The message that a reply refers to, even if it was deleted.
    pub(super) message_reference: Option<Reference>,
}

#[derive(Deserialize)]
pub(super) struct Reference {
    pub(super) message_id: Option<Snowflake>,
}

#[derive(Deserialize)]
pub(super) struct ListedAttachment {
    pub(super) filename: String,
}

impl BotAccount {
    pub(super) fn new(http: HttpClients, base_url: Url, user_agent: HeaderValue, app: Arc<dyn AppSource>) -> Self {
        let client = ApiClient::known(http, base_url, &BOT_ERRORS).with_header(header::USER_AGENT, user_agent);
        Self { client, app }
    }

    pub(super) fn at(&self, now: DateTime<Utc>) -> Bot<'_> {
        Bot { account: self, now }
    }
}

impl Bot<'_> {
    pub(super) async fn me(self) -> Result<User, CallError> {
        self.get(&["users", "@me"], &[]).await
    }

    /// A server, if the bot is in it.
    pub(super) async fn guild(self, guild: Snowflake) -> Result<Guild, CallError> {
        self.get(&["guilds", &guild.to_string()], &[]).await
    }

    pub(super) async fn channels(self, guild: Snowflake) -> Result<Vec<Channel>, CallError> {
        self.get(&["guilds", &guild.to_string(), "channels"], &[]).await
    }

    pub(super) async fn member(self, guild: Snowflake, user: Snowflake) -> Result<Member, CallError> {
        self.get(&["guilds", &guild.to_string(), "members", &user.to_string()], &[]).await
    }

    pub(super) async fn channel(self, channel: Snowflake) -> Result<Channel, CallError> {
        self.get(&["channels", &channel.to_string()], &[]).await
    }

    /// A page of the messages right after an id, in any order. Empty if the bot may not read the
    /// history.
    pub(super) async fn messages(self, channel: Snowflake, after: Snowflake) -> Result<Vec<Listed>, CallError> {
        let query = [("after", after.to_string()), ("limit", PAGE.to_string())];
        self.get(&["channels", &channel.to_string(), "messages"], &query).await
    }

    pub(super) async fn message(self, channel: Snowflake, message: Snowflake) -> Result<Listed, CallError> {
        self.get(&["channels", &channel.to_string(), "messages", &message.to_string()], &[]).await
    }

    pub(super) async fn active_threads(self, guild: Snowflake) -> Result<Threads, CallError> {
        self.get(&["guilds", &guild.to_string(), "threads", "active"], &[]).await
    }

    /// The archived threads of a channel, the latest first.
    pub(super) async fn archived_threads(
        self,
        channel: Snowflake,
        before: Option<DateTime<Utc>>,
    ) -> Result<Threads, CallError> {
        let before = before.map(|it| ("before", it.to_rfc3339_opts(SecondsFormat::Micros, true)));
        let query: Vec<_> = [("limit", PAGE.to_string())].into_iter().chain(before).collect();
        self.get(&["channels", &channel.to_string(), "threads", "archived", "public"], &query).await
    }

    /// Makes a message public, or returns the one that was created with the same nonce.
    pub(super) async fn send(
        self,
        channel: Snowflake,
        message: Message<'_>,
        timeout: Duration,
    ) -> Result<Sent, CallError> {
        let (call, credentials) = self.call(Method::POST, &["channels", &channel.to_string(), "messages"]).await?;
        self.checked(&credentials, api::send(call.timeout(timeout), message).await)
    }

    pub(super) async fn create_thread(
        self,
        forum: Snowflake,
        message: Message<'_>,
        timeout: Duration,
    ) -> Result<Sent, CallError> {
        let (call, credentials) = self.call(Method::POST, &["channels", &forum.to_string(), "threads"]).await?;
        let begun: Channel = self.checked(&credentials, api::send(call.timeout(timeout), message).await)?;
        // "child objects share their parent's ID": a thread has the id of its first message.
        Ok(begun.message.unwrap_or(Sent { id: begun.id, channel_id: begun.id }))
    }

    pub(super) async fn leave(self, guild: Snowflake) -> Result<(), CallError> {
        let (call, credentials) = self.call(Method::DELETE, &["users", "@me", "guilds", &guild.to_string()]).await?;
        self.checked(&credentials, call.effect(Effect::Private).expect_success().await)
    }

    async fn get<T: DeserializeOwned>(self, path: &[&str], query: &[(&str, String)]) -> Result<T, CallError> {
        let (call, credentials) = self.call(Method::GET, path).await?;
        self.checked(&credentials, call.query(query).max_bytes(MAX_PAGE_BYTES).read().await)
    }

    async fn call(self, method: Method, path: &[&str]) -> Result<(Call, BotCredentials), CallError> {
        let app = self.account.app.credentials().await?;
        let token = token(&app)?;
        let auth = Auth::token(&token, self.now).without_token();
        let call = self.account.client.call(auth, method, path);
        let call = call.header(header::AUTHORIZATION, format!("Bot {}", token.expose_secret()));
        Ok((call, (app, token)))
    }

    /// Removes the token from an error's message. A refused token is the operator's problem, not
    /// the connection's.
    fn checked<T>(self, (app, token): &BotCredentials, result: Result<T, CallError>) -> Result<T, CallError> {
        result.map_err(|mut error| {
            if error.is_status(StatusCode::UNAUTHORIZED) {
                self.account.app.report_refused(app);
                let why = "Discord does not accept the token of this service's bot";
                error.kind = ErrorKind::AppMisconfigured;
                return error.with_message(|_| why.to_owned());
            }
            error.with_message(|it| redact_message(it, token))
        })
    }
}

type BotCredentials = (Arc<AppCredentials>, SecretString);

/// The page size of messages and threads: Discord's maximum.
pub(super) const PAGE: usize = 100;

/// More than a page of messages, or all channels of a server.
const MAX_PAGE_BYTES: usize = 4 << 20;

fn token(app: &AppCredentials) -> Result<SecretString, DependencyError> {
    let WithBot { bot_token } = app.extra_secrets.read().map_err(|_| DependencyError)?;
    let token = bot_token.expose_secret().trim();
    if token.is_empty() {
        tracing::error!("bot_token of the Discord secret is empty");
        return Err(DependencyError);
    }
    if HeaderValue::from_str(token).is_err() {
        tracing::error!("bot_token of the Discord secret has characters that are not allowed in a token");
        return Err(DependencyError);
    }
    Ok(token.into())
}
