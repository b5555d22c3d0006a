//! A call of a bot: pagination and channel access.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::api_error::ApiError;
use super::arguments::position;
use super::{ARCHIVED, CHANNEL, ELSEWHERE, Memory, PRIVATE};

pub(super) struct Call<'a> {
    pub(super) memory: &'a mut Memory,
    pub(super) scopes: &'a [String],
    pub(super) now: DateTime<Utc>,
}

impl Call<'_> {
    /// The requested page, by default of 100 items.
    pub(super) fn page(&self, arguments: &Value) -> Page {
        let limit = arguments["limit"].as_u64().map_or(100, |it| usize::try_from(it).unwrap_or(usize::MAX));
        let at = arguments["cursor"].as_str().and_then(position).unwrap_or_default();
        Page { at, limit: limit.min(self.memory.page) }
    }

    pub(super) fn enter(&self, channel: &str) -> Result<(), ApiError> {
        match channel {
            CHANNEL | PRIVATE | ARCHIVED if self.memory.is_invited => Ok(()),
            CHANNEL | ELSEWHERE | ARCHIVED => Err(ApiError::new("not_in_channel")),
            // A private channel is visible only to its members.
            _ => Err(ApiError::new("channel_not_found")),
        }
    }
}

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
