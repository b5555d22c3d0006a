//! Pagination of lists by cursors.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::error::GraphError;
use super::fields::Fields;

#[derive(Clone, Copy, Debug)]
pub struct Page {
    start: usize,
    limit: usize,
}

impl Page {
    /// The page that `limit` and `after` select. The default of `limit` is 25, its maximum 100.
    pub fn asked(fields: &mut Fields) -> Result<Self, GraphError> {
        let limit = fields.number("limit", 1, 100)?.unwrap_or(25);
        let limit = usize::try_from(limit).unwrap_or(25);
        let start = match fields.text("after") {
            None => 0,
            Some(cursor) => position(&cursor).ok_or_else(|| GraphError::param("Param after is no cursor"))?,
        };
        Ok(Self { start, limit })
    }

    /// The response with this page of the entries. `address` is the URL of the list.
    pub fn respond(self, entries: Vec<Value>, address: &str) -> Value {
        let all = entries.len();
        let end = (self.start + self.limit).min(all);
        let data: Vec<_> = entries.into_iter().skip(self.start).take(self.limit).collect();
        if data.is_empty() {
            return json!({ "data": [] });
        }
        let mut paging = json!({ "cursors": { "before": cursor(self.start), "after": cursor(end) } });
        if end < all {
            paging["next"] = format!("{address}?limit={}&after={}", self.limit, cursor(end)).into();
        }
        json!({ "data": data, "paging": paging })
    }
}

fn cursor(position: usize) -> String {
    URL_SAFE_NO_PAD.encode(format!("at {position}"))
}

fn position(cursor: &str) -> Option<usize> {
    let decoded = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    decoded.strip_prefix("at ")?.parse().ok()
}
