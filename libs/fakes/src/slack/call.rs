//! A call of a bot, and what several methods ask of one: pages, and whether it may be
//! in a channel.

use chrono::{DateTime, Utc};

use super::api_error::ApiError;
use super::fields::Fields;
use super::{ARCHIVED, CHANNEL, ELSEWHERE, Memory, PRIVATE};

/// A call of a bot that may make it.
pub(super) struct Call<'a> {
    pub(super) memory: &'a mut Memory,
    pub(super) scopes: &'a [String],
    pub(super) now: DateTime<Utc>,
}

impl Call<'_> {
    /// Which page is asked for, of so many items unless something is said.
    pub(super) fn page(&self, fields: &mut Fields, default: u64, below: u64) -> Result<Page, ApiError> {
        let limit = fields.number("limit")?.unwrap_or(default);
        if !(1..below).contains(&limit) {
            return Err(ApiError::new("invalid_limit"));
        }
        let at = match fields.text("cursor")? {
            None => 0,
            Some(it) => {
                let at = it.strip_prefix("next:").and_then(|it| it.parse().ok());
                at.ok_or_else(|| ApiError::new("invalid_cursor"))?
            }
        };
        Ok(Page { at, limit: usize::try_from(limit).unwrap_or(usize::MAX).min(self.memory.page) })
    }

    /// Whether the bot may post to this channel, and read there.
    pub(super) fn enter(&self, channel: &str) -> Result<(), ApiError> {
        match channel {
            CHANNEL | PRIVATE | ARCHIVED if self.memory.is_invited => Ok(()),
            CHANNEL | ELSEWHERE | ARCHIVED => Err(ApiError::new("not_in_channel")),
            // A private channel is not shown to who is not in it.
            _ => Err(ApiError::new("channel_not_found")),
        }
    }
}

/// A page of a list.
pub(super) struct Page {
    at: usize,
    limit: usize,
}

impl Page {
    /// Its items, and where the next one begins: empty behind the last.
    pub(super) fn slice<T>(&self, all: Vec<T>) -> (Vec<T>, String) {
        let next = self.at + self.limit;
        let next = if next < all.len() { format!("next:{next}") } else { String::new() };
        (all.into_iter().skip(self.at).take(self.limit).collect(), next)
    }
}
