//! Discord for bots: OAuth with the scope `bot`, a server with channels, and messages.
//!
//! Based on the documentation of API v10 and its `OpenAPI` description, and stricter: a
//! nonce is kept for two minutes, the minimum of "the past few minutes"; lists lack
//! nonces; other users' texts are empty, as without the message content intent.

mod channels;
mod fake_platform;
mod guilds;
mod messages;
mod permissions;
mod threads;

use std::sync::{Arc, MutexGuard};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use axum::routing::{delete, get};
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use self::channels::{Channel, channels};
pub use self::channels::{FORUM, GENERAL, HIDDEN, NEWS, OF_ANOTHER_SERVER, READ_ONLY, VOICE};
pub use self::permissions::{ATTACH, HISTORY, IN_THREADS, SEND, VIEW};
use self::permissions::{Overwrite, PERMISSIONS, bits};
use super::api_error::{self, ApiError};
use super::oauth::TOKEN;
use super::{GUILD, strict};
use crate::conformance::fake_platform::PublicMedium;
use crate::fake::limits::Limits;
use crate::fake::oauth::{Authorizes, Grant, Pkce, Rules, secret};
use crate::fake::server;

pub const BOT: &str = "290926798626357999";

pub const SERVER: &str = "Lighthouse";

/// The id of another server that the bot is a member of.
const OTHER_GUILD: &str = "290926792226359999";

/// The id of the bot's managed role.
const ROLE: &str = "290926798626358888";

/// Discord with the app's bot.
pub struct DiscordBot {
    fake: Arc<Fake>,
}

type Fake = server::FakeServer<Memory>;

struct Memory {
    token: String,
    is_in: bool,
    channels: Vec<Channel>,
    messages: Vec<Message>,
    threads: Vec<Thread>,
    limits: Limits,
    ids: u64,
    lists_nonces: bool,
    requires_tags: bool,
}

/// A public message of a channel or a thread.
#[derive(Clone)]
struct Message {
    id: String,
    channel: String,
    is_ours: bool,
    text: String,
    media: Vec<PublicMedium>,
    names: Vec<String>,
    nonce: Option<String>,
    at: DateTime<Utc>,
    /// The payload as received.
    payload: Value,
}

struct Thread {
    id: String,
    forum: String,
    name: String,
    archived_at: Option<DateTime<Utc>>,
}

/// Client id and secret are in the header or in the body; PKCE is not documented. The
/// `permissions` parameter of the page sets the permissions of the bot's role.
const RULES: Rules = Rules {
    pkce: Pkce::Unknown,
    scopes: &["bot", "identify"],
    access_lives: Some(TimeDelta::days(7)),
    page: &[("permissions", "274878024704")],
    ..Rules::STANDARD
};

impl DiscordBot {
    pub async fn start(clock: Clock) -> Self {
        let memory = Memory {
            token: format!("{}.{}", secret(), secret()),
            is_in: false,
            channels: channels(),
            messages: Vec::new(),
            threads: Vec::new(),
            limits: Limits::default(),
            ids: 0,
            lists_nonces: false,
            requires_tags: false,
        };
        let api = Router::new()
            .route("/users/@me", get(guilds::me))
            .route("/users/@me/guilds/{guild}", delete(guilds::leave))
            .route("/guilds/{guild}", get(guilds::show))
            .route("/guilds/{guild}/channels", get(guilds::channels))
            .route("/guilds/{guild}/members/{user}", get(guilds::member))
            .route("/guilds/{guild}/threads/active", get(threads::active))
            .route("/channels/{channel}", get(channels::show))
            .route("/channels/{channel}/messages", get(messages::list).post(messages::create))
            .route("/channels/{channel}/messages/{message}", get(messages::show))
            .route("/channels/{channel}/threads", axum::routing::post(threads::begin))
            .route("/channels/{channel}/threads/archived/public", get(threads::list_archived));
        let routes = Router::new()
            .nest("/api/v10", api)
            .merge(crate::fake::oauth::routes("/oauth2/authorize", TOKEN, None))
            .fallback(api_error::not_found)
            // The message handlers refuse bodies that are too large.
            .layer(DefaultBodyLimit::disable());
        let strict = |server: Router| server.layer(from_fn(strict));
        Self { fake: Fake::serve_with((), "discord", clock, RULES, memory, routes, strict).await }
    }

    pub fn token(&self) -> String {
        self.fake.memory().token.clone()
    }

    /// The operator presses *Reset Token* on the app's page.
    pub fn reset_token(&self) {
        self.fake.memory().token = format!("{}.{}", secret(), secret());
    }

    pub fn lists_nonces(&self) {
        self.fake.memory().lists_nonces = true;
    }

    pub fn requires_tags(&self) {
        self.fake.memory().requires_tags = true;
    }

    /// Denies the bot these permissions (documented bits) in a channel.
    pub fn denies(&self, channel: &str, permissions: u64) {
        let mut memory = self.fake.memory();
        let found = memory.channels.iter_mut().find(|it| it.id == channel).expect("it is there");
        found.overwrites.push(Overwrite { subject: BOT, deny: permissions, allow: 0 });
    }

    pub fn delete_channel(&self, channel: &str) {
        let mut memory = self.fake.memory();
        memory.channels.retain(|it| it.id != channel);
        memory.messages.retain(|it| it.channel != channel);
    }

    /// Other users write `count` messages in a channel.
    pub fn add_other_messages(&self, channel: &str, count: usize) {
        for _ in 0..count {
            let at = self.fake.clock.now();
            let mut memory = self.fake.memory();
            let message = Message {
                id: memory.id(at),
                channel: channel.to_owned(),
                is_ours: false,
                text: String::new(),
                media: Vec::new(),
                names: Vec::new(),
                nonce: None,
                at,
                payload: Value::Null,
            };
            memory.messages.push(message);
        }
    }

    /// A moderator deletes a message, or the first message of a thread.
    pub fn delete_message(&self, id: &str) {
        self.fake.memory().messages.retain(|it| it.id != id);
    }

    /// A moderator deletes all threads and their messages.
    pub fn delete_threads(&self) {
        let mut memory = self.fake.memory();
        let threads: Vec<_> = memory.threads.drain(..).map(|it| it.id).collect();
        memory.messages.retain(|it| !threads.contains(&it.channel));
    }

    /// Archives all threads, as Discord does with inactive ones.
    pub fn archive_threads(&self) {
        let now = self.fake.clock.now();
        for thread in &mut self.fake.memory().threads {
            thread.archived_at.get_or_insert(now);
        }
    }

    pub fn latest_payload(&self) -> Value {
        self.fake.memory().messages.last().map(|it| it.payload.clone()).unwrap_or_default()
    }

    /// The channel or the thread of the latest message.
    pub fn latest_channel(&self) -> String {
        self.fake.memory().messages.last().map(|it| it.channel.clone()).unwrap_or_default()
    }

    pub fn titles(&self) -> Vec<String> {
        self.fake.memory().threads.iter().map(|it| it.name.clone()).collect()
    }
}

impl Memory {
    /// A unique id with this timestamp.
    fn id(&mut self, at: DateTime<Utc>) -> String {
        self.ids += 1;
        let since = u64::try_from(at.timestamp_millis() - 1_420_070_400_000).expect("it is after 2015");
        ((since << 22) + (self.ids & 0xfff)).to_string()
    }
}

impl Fake {
    /// Checks the bot's `Authorization` header; returns the state.
    fn authenticate_bot(&self, headers: &HeaderMap) -> Result<MutexGuard<'_, Memory>, ApiError> {
        let memory = self.memory();
        let token = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok()?.strip_prefix("Bot "));
        if token != Some(memory.token.as_str()) {
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, 0, "401: Unauthorized"));
        }
        Ok(memory)
    }
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[SERVER]
    }

    /// The bot joins at the token exchange if the app requires the code grant ("Advanced
    /// Bot Authorization").
    fn tokens(&self, grant: &Grant, rules: &Rules) -> Value {
        let mut response = grant.respond(rules);
        if grant.scopes.iter().any(|it| it == "bot") {
            let mut memory = self.memory();
            memory.is_in = true;
            response["guild"] = guilds::to_json(GUILD);
        }
        response
    }
}

fn bits_json(permissions: u64) -> Value {
    json!(bits(permissions))
}
