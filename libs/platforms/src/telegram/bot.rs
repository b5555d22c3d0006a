//! A bot, the chat that it is to post to, and whether it may.

use chrono::{DateTime, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use http::StatusCode;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::api::{Api, Bot, ChatFacts, Member};
use crate::account::Credentials;
use crate::connect_flow::{ConnectError, Field, FieldValues};
use crate::kit::CallError;

const TOKEN: &str = "token";
const CHAT: &str = "chat";

/// What our page asks.
pub(super) const FIELDS: &[Field] = &[
    Field {
        name: TOKEN,
        label: "The token of your bot. In Telegram, write /newbot to @BotFather to get one",
        example: "123456789:AAF…",
        secret: true,
        optional: None,
    },
    Field::new(
        CHAT,
        "The channel or group, to which you have added the bot as an administrator that may post",
        "@my_channel, or the number of a private one such as -1001234567890",
    ),
];

/// The chat that a grant leads to, as it is kept with the bot's token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
}

impl Chat {
    pub(super) fn of(credentials: &Credentials) -> Result<Self, AttemptError> {
        let kept = credentials.extra.as_ref().and_then(|it| serde_json::from_str(it.expose_secret()).ok());
        kept.ok_or_else(|| AttemptError::Unauthorized { reason: "which chat it is has been lost".to_owned() })
    }

    pub(super) fn kept_with(self, credentials: Credentials) -> Credentials {
        Credentials { extra: Some(json!(self).to_string().into()), ..credentials }
    }
}

/// Where people see a message of this chat, whose public address is this: its members
/// alone, where it has none.
pub(super) fn link_to(chat: i64, public: Option<&str>, message: i64) -> Option<String> {
    match public {
        Some(address) => Some(format!("{address}/{message}")),
        // Channels and large groups are numbered with -100 before their own number.
        None => chat.to_string().strip_prefix("-100").map(|it| format!("https://t.me/c/{it}/{message}")),
    }
}

/// Connects a bot with a chat, if it may post there.
pub(super) async fn connect(
    api: &Api,
    answers: &FieldValues,
    now: DateTime<Utc>,
) -> Result<(AccountInfo, Credentials), ConnectError> {
    let typed = |name| answers.get(name).map(|it| it.expose_secret().trim().to_owned()).unwrap_or_default();
    let token = SecretString::from(typed(TOKEN));
    if !is_token(token.expose_secret()) {
        return Err(wrong(TOKEN, "is not a bot's token; copy all of what @BotFather sent, such as 123456789:AAF…"));
    }
    let chat = named(&typed(CHAT)).ok_or_else(|| {
        wrong(CHAT, "is neither a public name such as @my_channel nor a number such as -1001234567890")
    })?;
    let bot = Bot { token: &token, now };
    let me = api.me(bot).await.map_err(|error| {
        if is_status(&error, &[StatusCode::UNAUTHORIZED, StatusCode::NOT_FOUND]) {
            return wrong(TOKEN, "is not known to Telegram; ask @BotFather for it again, by /token");
        }
        error.into()
    })?;
    let found = api.chat(bot, &chat).await.map_err(|error| {
        if is_status(&error, CHAT_REFUSED) {
            return wrong(CHAT, "is not a chat that the bot sees; add the bot to it as an administrator first");
        }
        error.into()
    })?;
    let refused = |error: CallError| {
        if is_status(&error, CHAT_REFUSED) {
            return ConnectError::Field { name: CHAT, message: error.message };
        }
        error.into()
    };
    let id = if found.kind == "group" { api.current_id(bot, found.id).await.map_err(refused)? } else { found.id };
    let found = if id == found.id { found } else { api.chat(bot, &id.to_string()).await.map_err(refused)? };
    let member = api.member(bot, id, me.id).await.map_err(refused)?;
    if let Some(why) = must_not_post(&found, &member) {
        return Err(wrong(CHAT, why));
    }
    Ok((profile_of(found), Chat { id }.kept_with(Credentials::new(token))))
}

/// The statuses of calls whose chat is not there, or closed to the bot.
const CHAT_REFUSED: &[StatusCode] = &[StatusCode::BAD_REQUEST, StatusCode::FORBIDDEN];

fn is_status(error: &CallError, expected: &[StatusCode]) -> bool {
    expected.iter().any(|it| error.is_status(*it))
}

/// A chat, as people know it.
pub(super) fn profile_of(chat: ChatFacts) -> AccountInfo {
    let name = chat.username.filter(|it| is_public_name(it));
    AccountInfo {
        account_id: chat.id.to_string(),
        username: name.clone().or_else(|| chat.title.clone()),
        display_name: chat.title,
        // Its address would hold the bot's token.
        avatar: None,
        profile_url: name.map(|it| format!("https://t.me/{it}")),
    }
}

/// Why the bot could not post; `None` when it can.
fn must_not_post(chat: &ChatFacts, member: &Member) -> Option<&'static str> {
    match (chat.kind.as_str(), member.status.as_str()) {
        ("private", _) => Some("is a person; name a channel or a group"),
        ("channel", "creator") => None,
        ("channel", "administrator") if member.can_post_messages => None,
        ("channel", "administrator") => Some("does not let the bot post: give it the right to post messages there"),
        ("channel", _) => {
            Some("has the bot not among its administrators: add it there, with the right to post messages")
        }
        (_, "creator" | "administrator" | "member") => None,
        (_, "restricted") if member.can_send_messages => None,
        _ => Some("does not let the bot write; add it as a member that may send messages"),
    }
}

/// Digits, a colon, and 35 letters, of which Telegram does not say that they stay so
/// many.
fn is_token(typed: &str) -> bool {
    let Some((number, secret)) = typed.split_once(':') else { return false };
    let is_number = (1..=20).contains(&number.len()) && number.bytes().all(|it| it.is_ascii_digit());
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
    is_number && (20..=100).contains(&secret.len()) && secret.bytes().all(is_letter)
}

/// A chat as the Bot API wants it named.
fn named(typed: &str) -> Option<String> {
    let path = ["https://t.me/", "http://t.me/", "t.me/"].iter().find_map(|it| typed.strip_prefix(it));
    let name = path.or_else(|| typed.strip_prefix('@')).unwrap_or(typed).trim_end_matches('/');
    if is_public_name(name) {
        return Some(format!("@{name}"));
    }
    typed.parse::<i64>().ok().filter(|it| *it != 0).map(|it| it.to_string())
}

fn is_public_name(name: &str) -> bool {
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    (4..=32).contains(&name.len())
        && name.bytes().all(is_letter)
        && name.starts_with(|it: char| it.is_ascii_alphabetic())
}

fn wrong(name: &'static str, why: &str) -> ConnectError {
    let what = if name == TOKEN { "This" } else { "This chat" };
    ConnectError::Field { name, message: format!("{what} {why}.") }
}
