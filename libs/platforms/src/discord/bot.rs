//! The API as the bot of this deployment calls it.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use http::{HeaderValue, Method, header};
use reqwest::RequestBuilder;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::api::{self, Api, Sent};
use super::failure::{Blame, Failure};
use super::message::Message;
use super::snowflake::Snowflake;
use crate::app::{AppCredentials, AppSource};
use crate::discreet::words_without;
use crate::not_now::NotNow;

/// What an operator keeps of an app whose bot is used, beside its id and secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WithBot {
    bot_token: SecretString,
}

/// What an operator may keep where the bot is not used.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PerhapsWithBot {
    #[serde(default, rename = "bot_token")]
    _bot_token: Option<SecretString>,
}

/// The bot of this deployment. It acts for every server that it was added to.
pub(super) struct Bot {
    api: Arc<Api>,
    app: Arc<dyn AppSource>,
}

/// Somebody, such as the bot.
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
    /// Bits, as a number in decimal.
    pub(super) permissions: String,
}

/// Somebody in a server.
#[derive(Deserialize)]
pub(super) struct Member {
    pub(super) roles: Vec<Snowflake>,
}

/// A channel, or a thread.
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
    /// Who began a thread.
    pub(super) owner_id: Option<Snowflake>,
    pub(super) thread_metadata: Option<Archival>,
    /// The first message of a thread that was begun just now.
    pub(super) message: Option<Sent>,
}

/// Whether a thread is still shown.
#[derive(Deserialize)]
pub(super) struct Archival {
    pub(super) archive_timestamp: DateTime<Utc>,
}

/// What a role or a member may do in one channel other than elsewhere.
#[derive(Deserialize)]
pub(super) struct Overwrite {
    pub(super) id: Snowflake,
    pub(super) allow: String,
    pub(super) deny: String,
}

/// Threads.
#[derive(Deserialize)]
pub(super) struct Threads {
    pub(super) threads: Vec<Channel>,
    #[serde(default)]
    pub(super) has_more: bool,
}

/// A message as a channel lists it.
#[derive(Deserialize)]
pub(super) struct Listed {
    pub(super) id: Snowflake,
    pub(super) author: Option<User>,
    pub(super) webhook_id: Option<Snowflake>,
    #[serde(default)]
    pub(super) content: String,
    #[serde(default)]
    pub(super) attachments: Vec<ListedFile>,
    /// Documented as a part of every message; lists are seen without it.
    #[serde(default)]
    pub(super) nonce: serde_json::Value,
}

#[derive(Deserialize)]
pub(super) struct ListedFile {
    pub(super) filename: String,
}

impl Bot {
    pub(super) fn new(api: Arc<Api>, app: Arc<dyn AppSource>) -> Self {
        Self { api, app }
    }

    /// The bot itself.
    pub(super) async fn me(&self) -> Result<User, Failure> {
        self.get("/users/@me").await
    }

    /// A server, if the bot is in it.
    pub(super) async fn guild(&self, guild: Snowflake) -> Result<Guild, Failure> {
        self.get(&format!("/guilds/{guild}")).await
    }

    /// All channels of a server, without threads.
    pub(super) async fn channels(&self, guild: Snowflake) -> Result<Vec<Channel>, Failure> {
        self.get(&format!("/guilds/{guild}/channels")).await
    }

    /// Somebody in a server.
    pub(super) async fn member(&self, guild: Snowflake, user: Snowflake) -> Result<Member, Failure> {
        self.get(&format!("/guilds/{guild}/members/{user}")).await
    }

    /// A channel or a thread that the bot may see.
    pub(super) async fn channel(&self, channel: Snowflake) -> Result<Channel, Failure> {
        self.get(&format!("/channels/{channel}")).await
    }

    /// A page of the messages that came next after an id, in any order. There are none
    /// for who may not read the history.
    pub(super) async fn messages(&self, channel: Snowflake, after: Snowflake) -> Result<Vec<Listed>, Failure> {
        self.get(&format!("/channels/{channel}/messages?after={after}&limit={PAGE}")).await
    }

    /// A message.
    pub(super) async fn message(&self, channel: Snowflake, message: Snowflake) -> Result<Listed, Failure> {
        self.get(&format!("/channels/{channel}/messages/{message}")).await
    }

    /// The threads of a server that are not archived.
    pub(super) async fn active_threads(&self, guild: Snowflake) -> Result<Threads, Failure> {
        self.get(&format!("/guilds/{guild}/threads/active")).await
    }

    /// Those of a channel that are, the latest first.
    pub(super) async fn archived_threads(
        &self,
        channel: Snowflake,
        before: Option<DateTime<Utc>>,
    ) -> Result<Threads, Failure> {
        let before = before.map(|it| format!("&before={}", it.to_rfc3339_opts(chrono::SecondsFormat::Micros, true)));
        let path = format!("/channels/{channel}/threads/archived/public?limit={PAGE}{}", before.unwrap_or_default());
        self.get(&path).await
    }

    /// Makes a message public; or returns the one that was made with the same nonce.
    pub(super) async fn send(
        &self,
        channel: Snowflake,
        message: Message<'_>,
        within: Duration,
    ) -> Result<Sent, Failure> {
        let asked = self.asked(Method::POST, &format!("/channels/{channel}/messages")).await?;
        let answer = api::sent(asked.request.timeout(within), message).await;
        api::read(&self.heard(asked.by, answer)?)
    }

    /// Begins a thread in a forum with a message.
    pub(super) async fn begin_thread(
        &self,
        forum: Snowflake,
        message: Message<'_>,
        within: Duration,
    ) -> Result<Sent, Failure> {
        let asked = self.asked(Method::POST, &format!("/channels/{forum}/threads")).await?;
        let answer = api::sent(asked.request.timeout(within), message).await;
        let begun: Channel = api::read(&self.heard(asked.by, answer)?)?;
        // "child objects share their parent's ID": a thread has the id of its first
        // message.
        Ok(begun.message.unwrap_or(Sent { id: begun.id, channel_id: begun.id }))
    }

    /// Leaves a server.
    pub(super) async fn leave(&self, guild: Snowflake) -> Result<(), Failure> {
        let asked = self.asked(Method::DELETE, &format!("/users/@me/guilds/{guild}")).await?;
        let answer = api::answered(asked.request).await;
        self.heard(asked.by, answer).map(drop)
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let asked = self.asked(Method::GET, path).await?;
        let answer = api::answered(asked.request).await;
        api::read(&self.heard(asked.by, answer)?)
    }

    /// A request of the bot's.
    async fn asked(&self, method: Method, path: &str) -> Result<Asked, NotNow> {
        let app = self.app.credentials().await?;
        let token = token(&app)?;
        let mut authorization = HeaderValue::from_str(&format!("Bot {}", token.expose_secret())).map_err(|_| {
            tracing::error!("the token of the Discord bot has characters that no token has");
            NotNow
        })?;
        authorization.set_sensitive(true);
        let request = self.api.to(method, path)?.header(header::AUTHORIZATION, authorization);
        Ok(Asked { request, by: (app, token) })
    }

    /// An answer without the token in its words. That the token is not accepted is no
    /// fault of a connection.
    fn heard(&self, (app, token): By, answer: Result<Vec<u8>, Failure>) -> Result<Vec<u8>, Failure> {
        match answer {
            Err(Failure::Refused { blame: Blame::Token, .. }) => {
                self.app.refused(&app);
                Err(Failure::NotSent { why: "Discord does not accept the token of this service's bot".to_owned() })
            }
            answer => answer.map_err(|it| it.in_words(|words| words_without(words, &token))),
        }
    }
}

/// A request, and what it was made with.
struct Asked {
    request: RequestBuilder,
    by: By,
}

type By = (Arc<AppCredentials>, SecretString);

/// How many messages or threads are listed at a time: the most that Discord gives.
pub(super) const PAGE: usize = 100;

fn token(app: &AppCredentials) -> Result<SecretString, NotNow> {
    let WithBot { bot_token } = app.further.read().map_err(|_| NotNow)?;
    let token = bot_token.expose_secret().trim();
    if token.is_empty() {
        tracing::error!("the token of the Discord bot is empty");
        return Err(NotNow);
    }
    Ok(token.into())
}
