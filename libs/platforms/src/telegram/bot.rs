//! A bot, its chat, and its rights there.

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

pub(super) const FIELDS: &[Field] = &[
    Field {
        name: TOKEN,
        label: "Bot token (send /newbot to @BotFather in Telegram to get one)",
        example: "123456789:AAF…",
        secret: true,
        optional: None,
    },
    Field::new(
        CHAT,
        "Channel or group (add the bot as an admin who can post)",
        "@my_channel, or the ID of a private chat, such as -1001234567890",
    ),
];

/// The chat of a grant, as stored with the bot's token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
}

impl Chat {
    pub(super) fn load(credentials: &Credentials) -> Result<Self, AttemptError> {
        let stored = credentials.extra.as_ref().and_then(|it| serde_json::from_str(it.expose_secret()).ok());
        stored.ok_or_else(|| AttemptError::Unauthorized {
            reason: "the stored chat of this connection cannot be read; \
                                                                 connect the chat again"
                .to_owned(),
        })
    }

    pub(super) fn store_with(self, credentials: Credentials) -> Credentials {
        Credentials { extra: Some(json!(self).to_string().into()), ..credentials }
    }
}

/// The link to a message of this chat. Without a public URL of the chat, only members can open it.
pub(super) fn message_url(chat: i64, public_url: Option<&str>, message: i64) -> Option<String> {
    match public_url {
        Some(address) => Some(format!("{address}/{message}")),
        // Ids of channels and large groups have the prefix -100.
        None => chat.to_string().strip_prefix("-100").map(|it| format!("https://t.me/c/{it}/{message}")),
    }
}

pub(super) async fn connect(
    api: &Api,
    values: &FieldValues,
    now: DateTime<Utc>,
) -> Result<(AccountInfo, Credentials), ConnectError> {
    let typed = |name| values.get(name).map(|it| it.expose_secret().trim().to_owned()).unwrap_or_default();
    let token = SecretString::from(typed(TOKEN));
    if !is_token(token.expose_secret()) {
        return Err(field_error(
            TOKEN,
            "This is not a bot token. Copy the full token that @BotFather sent, such as \
                                 123456789:AAF…",
        ));
    }
    let chat = parse_chat(&typed(CHAT)).ok_or_else(|| {
        field_error(CHAT, "Type the public name of the chat, such as @my_channel, or its ID, such as -1001234567890.")
    })?;
    let bot = Bot { token: &token, now };
    let me = api.me(bot).await.map_err(|error| {
        if is_status(&error, &[StatusCode::UNAUTHORIZED, StatusCode::NOT_FOUND]) {
            return field_error(TOKEN, "Telegram does not know this token. Send /token to @BotFather to get it again.");
        }
        error.into()
    })?;
    let found = api.chat(bot, &chat).await.map_err(|error| {
        if is_status(&error, CHAT_REFUSED) {
            return field_error(
                CHAT,
                "The bot can't see this chat. Add the bot to the chat as an administrator, then try \
                                again.",
            );
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
    if let Some(why) = posting_obstacle(&found, &member) {
        return Err(field_error(CHAT, why));
    }
    Ok((profile_of(found), Chat { id }.store_with(Credentials::new(token))))
}

const CHAT_REFUSED: &[StatusCode] = &[StatusCode::BAD_REQUEST, StatusCode::FORBIDDEN];

fn is_status(error: &CallError, expected: &[StatusCode]) -> bool {
    expected.iter().any(|it| error.is_status(*it))
}

pub(super) fn profile_of(chat: ChatFacts) -> AccountInfo {
    let name = chat.username.filter(|it| is_public_name(it));
    AccountInfo {
        account_id: chat.id.to_string(),
        username: name.clone().or_else(|| chat.title.clone()),
        display_name: chat.title,
        // Its URL would contain the bot's token.
        avatar: None,
        profile_url: name.map(|it| format!("https://t.me/{it}")),
    }
}

/// Why the bot could not post; `None` if it can.
fn posting_obstacle(chat: &ChatFacts, member: &Member) -> Option<&'static str> {
    match (chat.kind.as_str(), member.status.as_str()) {
        ("private", _) => Some("This is a private chat with a person. Type the name of a channel or a group."),
        ("channel", "creator") => None,
        ("channel", "administrator") if member.can_post_messages => None,
        ("channel", "administrator") => Some(
            "The bot may not post in this channel. Give it the right to post \
                                              messages.",
        ),
        ("channel", _) => {
            Some("The bot is not an administrator of this channel. Add it as one, with the right to post messages.")
        }
        (_, "creator" | "administrator" | "member") => None,
        (_, "restricted") if member.can_send_messages => None,
        _ => Some("The bot may not write in this group. Add it as a member who can send messages."),
    }
}

/// Digits, a colon, and 35 letters, a length that Telegram does not guarantee.
fn is_token(typed: &str) -> bool {
    let Some((number, secret)) = typed.split_once(':') else { return false };
    let is_number = (1..=20).contains(&number.len()) && number.bytes().all(|it| it.is_ascii_digit());
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
    is_number && (20..=100).contains(&secret.len()) && secret.bytes().all(is_letter)
}

fn parse_chat(typed: &str) -> Option<String> {
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

fn field_error(name: &'static str, message: &str) -> ConnectError {
    ConnectError::Field { name, message: message.to_owned() }
}
