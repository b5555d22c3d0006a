//! Telegram's Bot API: one bot, and one channel in which it may post.
//!
//! Made from the Bot API's documentation (10.1). Descriptions of errors are those of the
//! server's own code (tdlib/telegram-bot-api, `Client.cpp`) and of `TDLib`. Fields that a
//! call does not have are refused, which the real one does not do.

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
use platforms::conformance::fake_platform::PublicMedium;
use serde_json::{Value, json};

use crate::fake::limits::Limits;
use crate::fake::oauth::Rules;
use crate::fake::server;

/// The token of the bot.
pub const TOKEN: &str = "123456789:AAF-lighthouse_keepers_know_35_letter";

/// The public name of the channel.
pub const CHANNEL: &str = "lighthouse_news";

/// Its number.
pub const CHAT: i64 = -1_001_234_567_890;

/// The id of a basic group, which the channel may be replaced by.
pub const GROUP: i64 = -4_567_890;

/// The number of the bot.
const BOT: i64 = 123_456_789;

/// The Bot API.
pub struct Telegram {
    fake: Arc<Fake>,
}

type Fake = server::FakeServer<Memory>;

#[derive(Default)]
struct Memory {
    messages: Vec<Message>,
    calls_to_old_id: usize,
    limits: Limits,
    /// Whether the bot was removed from the channel.
    is_kicked: bool,
    /// Whether `@BotFather` gave the bot another token.
    is_revoked: bool,
    /// Whether the chat is a basic group, in place of the channel.
    is_group: bool,
    /// The id of the supergroup that the group became, where it did.
    moved_to: Option<i64>,
    /// What every call that sends something is refused with.
    refusal: Option<String>,
    /// The kind of files that the chat does not permit, such as `photos`.
    forbidden: Option<&'static str>,
}

/// What people see in the channel: a message, or those of an album as one.
#[derive(Clone, Debug)]
struct Message {
    id: i64,
    text: String,
    media: Vec<PublicMedium>,
    fields: Vec<String>,
}

impl Telegram {
    /// Starts one on a free port. It tells the time by `clock`.
    pub async fn start(clock: Clock) -> Self {
        let routes = Router::new()
            .route("/{bot}/{method}", post(call::respond))
            .fallback(call::not_found)
            // What is too large is refused in `send`.
            .layer(DefaultBodyLimit::disable());
        Self { fake: Fake::serve("telegram", clock, Rules::STANDARD, Memory::default(), routes).await }
    }

    /// The chat is a basic group, which has no name.
    pub fn make_group(&self) {
        self.fake.memory().is_group = true;
    }

    /// The group becomes a supergroup with this id.
    pub fn moves_to(&self, chat: i64) {
        self.fake.memory().moved_to = Some(chat);
    }

    /// From now on the bot may send nothing, for this reason: 400 with this description.
    /// `None` permits it again.
    pub fn refuses(&self, description: Option<&str>) {
        self.fake.memory().refusal = description.map(str::to_owned);
    }

    /// From now on the chat does not permit files of this kind: `photos` or `videos`.
    pub fn forbid_files(&self, kind: &'static str) {
        self.fake.memory().forbidden = Some(kind);
    }

    /// How many calls have named the chat by the id that it had before it moved.
    pub fn calls_to_old_id(&self) -> usize {
        self.fake.memory().calls_to_old_id
    }

    /// `@BotFather` gives the bot another token.
    pub fn revoke_token(&self) {
        self.fake.memory().is_revoked = true;
    }

    /// The names of the fields of the latest message, except its text and
    /// files.
    pub fn latest_fields(&self) -> Vec<String> {
        self.fake.memory().messages.last().map(|it| it.fields.clone()).unwrap_or_default()
    }
}

impl Memory {
    /// The id of the chat before it moved.
    fn original_chat_id(&self) -> i64 {
        if self.is_group { GROUP } else { CHAT }
    }

    /// The id of the chat now.
    fn id(&self) -> i64 {
        self.moved_to.unwrap_or_else(|| self.original_chat_id())
    }

    /// The chat as `getChat` shows it by this id.
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
