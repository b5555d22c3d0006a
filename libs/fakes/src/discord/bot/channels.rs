//! The channels of the server.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::permissions::{Overwrite, SEND, VIEW, check, may, missing_access};
use super::{Fake, GUILD, Memory, OTHER_GUILD, bits_json};
use crate::discord::api_error::ApiError;

pub const GENERAL: &str = "345626669224982402";

pub const NEWS: &str = "345626669224982403";

pub const FORUM: &str = "345626669224982404";

/// A text channel that the bot cannot view.
pub const HIDDEN: &str = "345626669224982405";

/// A text channel in which the bot cannot write.
pub const READ_ONLY: &str = "345626669224982406";

pub const VOICE: &str = "345626669224982407";

/// A text channel of another server that the bot is a member of.
pub const OF_ANOTHER_SERVER: &str = "345626669224982499";

const CATEGORY: &str = "345626669224982401";

pub(super) struct Channel {
    pub(super) id: &'static str,
    guild: &'static str,
    pub(super) kind: u8,
    name: &'static str,
    position: u32,
    parent: Option<&'static str>,
    pub(super) overwrites: Vec<Overwrite>,
}

pub(super) fn channels() -> Vec<Channel> {
    let channel = |id, kind, name, position| Channel {
        id,
        guild: GUILD,
        kind,
        name,
        position,
        parent: (kind != 4).then_some(CATEGORY),
        overwrites: Vec::new(),
    };
    let denied =
        |deny| vec![Overwrite { subject: GUILD, deny, allow: 0 }, Overwrite { subject: super::ROLE, deny, allow: 0 }];
    vec![
        channel(NEWS, 5, "news", 1),
        channel(GENERAL, 0, "general", 0),
        channel(CATEGORY, 4, "Tower", 0),
        Channel { parent: None, ..channel(FORUM, 15, "questions", 3) },
        Channel { overwrites: denied(VIEW), ..channel(HIDDEN, 0, "keepers", 4) },
        Channel { overwrites: denied(SEND), ..channel(READ_ONLY, 0, "rules", 5) },
        channel(VOICE, 2, "Foghorn", 6),
        Channel { guild: OTHER_GUILD, parent: None, ..channel(OF_ANOTHER_SERVER, 0, "elsewhere", 0) },
    ]
}

impl Channel {
    /// The channel resource in bot responses.
    pub(super) fn to_json(&self) -> Value {
        let overwrite = |it: &Overwrite| {
            let kind = u8::from(it.subject == super::BOT);
            json!({ "id": it.subject, "type": kind, "deny": bits_json(it.deny), "allow": bits_json(it.allow) })
        };
        json!({
            "id": self.id,
            "type": self.kind,
            "guild_id": self.guild,
            "name": self.name,
            "position": self.position,
            "parent_id": self.parent,
            "permission_overwrites": self.overwrites.iter().map(overwrite).collect::<Vec<_>>(),
            "nsfw": false,
            "last_message_id": null,
            "rate_limit_per_user": 0,
        })
    }

    /// Whether the bot has these permissions in the channel.
    pub(super) fn permits(&self, needed: u64) -> bool {
        may(&self.overwrites, needed)
    }

    pub(super) fn is_here(&self) -> bool {
        self.guild == GUILD
    }
}

impl Memory {
    /// The channel, or the forum of a thread, in which the bot has these permissions.
    pub(super) fn channel(&self, id: &str, needed: u64) -> Result<&Channel, ApiError> {
        if id.parse::<u64>().is_err() {
            let message = format!("Value \"{id}\" is not snowflake.");
            return Err(ApiError::field("channel_id", "NUMBER_TYPE_COERCE", &message));
        }
        let of_thread = self.threads.iter().find(|it| it.id == id).map(|it| it.forum.as_str());
        let channel = self.channels.iter().find(|it| it.id == of_thread.unwrap_or(id));
        let channel = channel.ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, 10_003, "Unknown Channel"))?;
        if channel.is_here() && !self.is_in {
            return Err(missing_access());
        }
        check(&channel.overwrites, needed)?;
        Ok(channel)
    }
}

pub(super) async fn show(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let memory = fake.authenticate_bot(&headers)?;
    let channel = memory.channel(&id, VIEW)?;
    let thread = memory.threads.iter().find(|it| it.id == id);
    Ok(Json(thread.map_or_else(|| channel.to_json(), super::Thread::to_json)))
}
