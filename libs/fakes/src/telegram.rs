//! Telegram's Bot API: one bot, and one channel in which the bot may post.
//!
//! Source: the Bot API's documentation (10.1). Error descriptions are from the server's code
//! (tdlib/telegram-bot-api, `Client.cpp`) and from `TDLib`. Unknown fields are refused, which
//! Telegram does not do.

mod api_error;
mod call;
mod fake_platform;
mod fields;
mod send;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use domain::clock::Clock;
use serde_json::{Value, json};

use crate::conformance::fake_platform::PublicMedium;
use crate::fake::limits::Limits;
use crate::fake::oauth::Rules;
use crate::fake::server;

pub const TOKEN: &str = "123456789:AAF-lighthouse_keepers_know_35_letter";

pub const CHANNEL: &str = "lighthouse_news";

pub const CHAT: i64 = -1_001_234_567_890;

/// The chat id of a basic group, which may replace the channel.
pub const GROUP: i64 = -4_567_890;

const BOT: i64 = 123_456_789;

pub struct Telegram {
    fake: Arc<Fake>,
}

type Fake = server::FakeServer<Memory>;

#[derive(Default)]
struct Memory {
    messages: Vec<Message>,
    calls_to_old_id: usize,
    limits: Limits,
    is_kicked: bool,
    /// Whether the chat is a basic group instead of the channel.
    is_group: bool,
    /// The id of the supergroup to which the group migrated.
    moved_to: Option<i64>,
}

/// A message of the channel; an album is one message.
#[derive(Clone, Debug)]
struct Message {
    id: i64,
    text: String,
    media: Vec<PublicMedium>,
    fields: Vec<String>,
    reply_to: Option<i64>,
}

impl Message {
    /// Whether this is the message, or one of the album, with this id.
    fn has(&self, id: i64) -> bool {
        (self.id..self.id + i64::try_from(self.media.len().max(1)).unwrap_or(1)).contains(&id)
    }
}

impl Telegram {
    pub async fn start(clock: Clock) -> Self {
        let routes = Router::new()
            .route("/{bot}/{method}", post(call::respond))
            .fallback(call::not_found)
            // `send` refuses bodies that are too large.
            .layer(DefaultBodyLimit::disable());
        Self { fake: Fake::serve("telegram", clock, Rules::STANDARD, Memory::default(), routes).await }
    }

    /// Makes the chat a basic group, which has no username.
    pub fn make_group(&self) {
        self.fake.memory().is_group = true;
    }

    /// The group becomes a supergroup with this id.
    pub fn moves_to(&self, chat: i64) {
        self.fake.memory().moved_to = Some(chat);
    }

    /// Number of calls with the chat id from before the migration.
    pub fn calls_to_old_id(&self) -> usize {
        self.fake.memory().calls_to_old_id
    }

    /// The field names of the latest message, except its text and files.
    pub fn latest_fields(&self) -> Vec<String> {
        self.fake.memory().messages.last().map(|it| it.fields.clone()).unwrap_or_default()
    }
}

impl Memory {
    /// The chat id before the migration.
    fn original_chat_id(&self) -> i64 {
        if self.is_group { GROUP } else { CHAT }
    }

    fn id(&self) -> i64 {
        self.moved_to.unwrap_or_else(|| self.original_chat_id())
    }

    /// The response of `getChat` for this id.
    fn chat(&self, id: i64) -> Value {
        let kind = match (self.is_group, id == self.original_chat_id()) {
            (false, _) => "channel",
            (true, true) => "group",
            (true, false) => "supergroup",
        };
        let mut chat = json!({ "id": id, "type": kind, "title": "Lighthouse news" });
        if !self.is_group {
            chat["username"] = CHANNEL.into();
        }
        chat
    }
}
