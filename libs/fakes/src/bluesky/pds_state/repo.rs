//! The records of the account, by collection and key.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::bluesky::api_error::ApiError;
use crate::bluesky::embed::{self, BlobRef};
use crate::bluesky::record::{self, POST};
use crate::bluesky::{account, cid, tid};

pub(in crate::bluesky) struct Entry {
    pub(in crate::bluesky) collection: String,
    pub(in crate::bluesky) rkey: String,
    pub(in crate::bluesky) value: Value,
    pub(in crate::bluesky) cid: String,
    pub(in crate::bluesky) blobs: Vec<BlobRef>,
}

impl Entry {
    pub(in crate::bluesky) fn uri(&self) -> String {
        format!("at://{}/{}/{}", account::DID, self.collection, self.rkey)
    }

    /// The record in the format of responses.
    pub(in crate::bluesky) fn respond(&self) -> Value {
        json!({ "uri": self.uri(), "cid": self.cid, "value": self.value })
    }
}

/// All records, oldest first.
pub(in crate::bluesky) struct Repo {
    pub(in crate::bluesky) entries: Vec<Entry>,
    commits: usize,
}

impl Default for Repo {
    /// Contains a profile with a display name.
    fn default() -> Self {
        let value = json!({ "$type": "app.bsky.actor.profile", "displayName": "Alice" });
        let profile = Prepared::read("app.bsky.actor.profile", Some("self"), value, String::new);
        let profile = profile.expect("a profile is a record");
        Self { entries: vec![profile.entry], commits: 0 }
    }
}

impl Repo {
    pub(in crate::bluesky) fn get(&self, collection: &str, rkey: &str) -> Option<&Entry> {
        self.entries(collection).find(|it| it.rkey == rkey)
    }

    /// The record at an `at://` URI.
    pub(in crate::bluesky) fn at(&self, uri: &str) -> Option<&Entry> {
        self.entries.iter().find(|it| it.uri() == uri)
    }

    pub(in crate::bluesky) fn entries(&self, collection: &str) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().filter(move |it| it.collection == collection)
    }

    /// Number of commits.
    pub(in crate::bluesky) fn commits(&self) -> usize {
        self.commits
    }

    /// Counts a commit. Returns the commit in the format of responses.
    pub(in crate::bluesky) fn commit(&mut self, now: DateTime<Utc>) -> Value {
        self.commits += 1;
        let rev = tid::at(now, self.commits);
        let cid = cid::from_record(&json!({ "rev": rev })).expect("a commit is a record");
        json!({ "cid": cid, "rev": rev })
    }
}

/// A validated record, ready to be written.
pub(in crate::bluesky) struct Prepared {
    pub(in crate::bluesky) entry: Entry,
    pub(in crate::bluesky) status: &'static str,
}

impl Prepared {
    /// Validates key and content. Unlike real servers, the fake ignores
    /// `validate: false`, because readers cannot display invalid records.
    pub(in crate::bluesky) fn read(
        collection: &str,
        rkey: Option<&str>,
        mut value: Value,
        next: impl Fn() -> String,
    ) -> Result<Self, ApiError> {
        if !value.is_object() {
            return Err(ApiError::invalid("Input/record must be an object"));
        }
        if value["$type"].is_null() {
            value["$type"] = collection.into();
        }
        if value["$type"] != collection {
            return Err(ApiError::invalid(format!("Invalid $type: expected {collection}, got {}", value["$type"])));
        }
        let rkey = rkey.map_or_else(next, str::to_owned);
        let is_key = (1..=512).contains(&rkey.len())
            && rkey.bytes().all(|it| it.is_ascii_alphanumeric() || b".-_:~".contains(&it))
            && !matches!(rkey.as_str(), "." | "..");
        if !is_key {
            return Err(ApiError::invalid(format!("Invalid record key: {rkey}")));
        }
        let (blobs, status) = match collection {
            POST if !tid::is_tid(&rkey) => {
                return Err(ApiError::invalid(format!("Invalid record key for {POST}: expected a TID")));
            }
            POST => {
                let invalid = |it| ApiError::invalid(format!("Invalid {POST} record: {it}"));
                (record::check(&value).map_err(invalid)?, "valid")
            }
            _ => (embed::read(&value["avatar"]).into_iter().collect(), "unknown"),
        };
        let cid = cid::from_record(&value).ok_or_else(|| ApiError::invalid("records hold no fractions"))?;
        let collection = collection.to_owned();
        Ok(Self { entry: Entry { collection, rkey, value, cid, blobs }, status })
    }
}
