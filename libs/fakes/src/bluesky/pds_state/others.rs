//! Another user's posts, for quotes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::bluesky::api_error::ApiError;
use crate::bluesky::record::POST;
use crate::bluesky::{account, cid};

/// The collection of the records with quoting rules.
const GATES: &str = "app.bsky.feed.postgate";

/// The other user's records, by collection and key.
#[derive(Default)]
pub(in crate::bluesky) struct OtherRecords(BTreeMap<(String, String), Value>);

impl OtherRecords {
    /// Adds a post, which may be quoted or not. Returns the reference that records use.
    pub(in crate::bluesky) fn post(&mut self, rkey: &str, may_be_quoted: bool) -> Value {
        let uri = format!("at://{}/{POST}/{rkey}", account::OTHER_DID);
        let value = json!({ "$type": POST, "text": "quote me", "createdAt": "2026-11-20T12:00:00.000Z" });
        let cid = cid::from_record(&value);
        self.0.insert((POST.to_owned(), rkey.to_owned()), value);
        if !may_be_quoted {
            let rules = json!([{ "$type": "app.bsky.feed.postgate#disableRule" }]);
            let gate = json!({ "$type": GATES, "post": uri, "createdAt": "2026-11-20T12:00:00.000Z", "embeddingRules": rules });
            self.0.insert((GATES.to_owned(), rkey.to_owned()), gate);
        }
        json!({ "uri": uri, "cid": cid })
    }

    pub(in crate::bluesky) fn record(&self, collection: &str, rkey: &str) -> Result<Value, ApiError> {
        let uri = format!("at://{}/{collection}/{rkey}", account::OTHER_DID);
        let value = self.0.get(&(collection.to_owned(), rkey.to_owned()));
        let value = value.ok_or_else(|| ApiError::bad("RecordNotFound", format!("Could not locate record: {uri}")))?;
        Ok(json!({ "uri": uri, "cid": cid::from_record(value), "value": value }))
    }
}
