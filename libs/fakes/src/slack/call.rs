//! A call of a bot: pagination and channel access.

use chrono::{DateTime, Utc};

use super::api_error::ApiError;
use super::fields::Fields;
use super::{ARCHIVED, CHANNEL, ELSEWHERE, Memory, PRIVATE};

/// An authorized call of a bot.
pub(super) struct Call<'a> {
    pub(super) memory: &'a mut Memory,
    pub(super) scopes: &'a [String],
    pub(super) now: DateTime<Utc>,
}

impl Call<'_> {
    /// The requested page. `default` is its size if the request has no `limit`; a limit must be
    /// less than `below`.
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

    /// Checks that the bot may read the channel and post to it.
    pub(super) fn enter(&self, channel: &str) -> Result<(), ApiError> {
        match channel {
            CHANNEL | PRIVATE | ARCHIVED if self.memory.is_invited => Ok(()),
            CHANNEL | ELSEWHERE | ARCHIVED => Err(ApiError::new("not_in_channel")),
            // A private channel is visible only to its members.
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
    /// The items of the page, and the cursor of the next one: empty after the last page.
    pub(super) fn slice<T>(&self, all: Vec<T>) -> (Vec<T>, String) {
        let next = self.at + self.limit;
        let next = if next < all.len() { format!("next:{next}") } else { String::new() };
        (all.into_iter().skip(self.at).take(self.limit).collect(), next)
    }
}
