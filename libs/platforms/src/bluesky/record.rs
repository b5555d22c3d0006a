//! Records of posts: built, put, and looked up.
//!
//! Facts: putting the same record under the same key again returns 200 and changes nothing;
//! `swapRecord: null` refuses (`InvalidSwap`) to replace another record. Reading a record needs no
//! token.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::delivery::{AttemptError, Published};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use url::Url;

use super::errors::PDS;
use super::pds::Pds;
use super::repository::{self, ReadError};
use crate::http_clients::HttpClients;
use crate::kit::{CallError, Effect};
use crate::publish_request::PublishRequest;

/// The collection of posts.
pub(super) const COLLECTION: &str = "app.bsky.feed.post";

/// The timeout of the publish call. It may be sent twice, if the server requires another nonce and
/// executes only the second. Shorter than `delivery::LEASE_DURATION`, so that the worker that holds
/// the delivery also learns the outcome.
const PUT: Duration = Duration::from_secs(15);

/// A finished record. It is built once, so that every attempt puts the same record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Post {
    pub(super) rkey: String,
    pub(super) record: Value,
}

#[derive(Deserialize)]
pub(super) struct Put {
    pub(super) uri: String,
}

/// A post that is published later than its time by this does not state that time: readers would see
/// it below everything that was posted in between.
const LATE: TimeDelta = TimeDelta::minutes(5);

impl Post {
    pub(super) fn text(&self) -> &str {
        self.record["text"].as_str().unwrap_or_default()
    }

    /// Whether the record's time is too old for it to be published now.
    pub(super) fn is_late(&self, now: DateTime<Utc>) -> bool {
        let created_at = self.record["createdAt"].as_str().and_then(|it| DateTime::parse_from_rfc3339(it).ok());
        created_at.is_some_and(|it| it.to_utc() + LATE < now)
    }
}

/// The result of a put that did not fail.
pub(super) enum Stored {
    /// The record is public at this URI.
    At(String),
    /// Another record has its key.
    Taken,
}

pub(super) enum LookUp {
    /// This post, at this URI.
    Ours(String),
    /// Another record.
    Another,
    Nothing,
    /// The record could not be read; the reason.
    Unclear(String),
}

/// Builds the record of a post.
pub(super) fn written(request: &PublishRequest<'_>, text: &str, facets: Vec<Value>, embed: Option<Value>) -> Value {
    let created_at = if request.publish_at + LATE < request.now { request.now } else { request.publish_at };
    let mut record = json!({"$type": COLLECTION, "text": text, "createdAt": time(created_at)});
    if let Some(language) = request.options.text("language") {
        record["langs"] = json!([language]);
    }
    if let Some(label) = request.options.text("content_warning") {
        record["labels"] = json!({"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": label}]});
    }
    if !facets.is_empty() {
        record["facets"] = facets.into();
    }
    if let Some(embed) = embed {
        record["embed"] = embed;
    }
    record
}

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Makes a post public.
pub(super) async fn put(pds: &Pds<'_>, post: &Post) -> Result<Stored, AttemptError> {
    let body = json!({
        "repo": pds.session.did,
        "collection": COLLECTION,
        "rkey": post.rkey,
        "record": post.record,
        "swapRecord": null,
    });
    let reply = pds.procedure("com.atproto.repo.putRecord", &body, PUT).await?;
    if reply.status.is_success() {
        let uri = uri(pds.session.did.as_str(), &post.rkey);
        return match reply.json() {
            Some(Put { uri: stored_uri }) if stored_uri == uri => Ok(Stored::At(uri)),
            _ => Err(CallError::unreadable(PDS.title, Effect::Public).into()),
        };
    }
    let failure = reply.failure(&PDS, Effect::Public, pds.now);
    if failure.has_code(&["InvalidSwap"]) { Ok(Stored::Taken) } else { Err(failure.into()) }
}

fn uri(did: &str, rkey: &str) -> String {
    format!("at://{did}/{COLLECTION}/{rkey}")
}

/// Looks up the post with this key and text.
pub(super) async fn look_up(http: &HttpClients, (pds, did): (&Url, &str), rkey: &str, text: &str) -> LookUp {
    match repository::read(http, (pds, did), COLLECTION, rkey).await {
        Ok(found) if found.value["text"] == text => LookUp::Ours(uri(did, rkey)),
        Ok(_) => LookUp::Another,
        Err(ReadError::Nothing) => LookUp::Nothing,
        Err(ReadError::Unclear(reason)) => LookUp::Unclear(reason),
    }
}

/// A post by the URI of its record, such as `at://did:plc:abc/app.bsky.feed.post/3kx`. The official
/// client shows it whichever server has it.
pub(super) fn public_at(uri: String, at: DateTime<Utc>) -> Published {
    let shown = uri.strip_prefix("at://").and_then(|it| it.split_once("/app.bsky.feed.post/"));
    let url = shown.map(|(did, key)| format!("https://bsky.app/profile/{did}/post/{key}"));
    Published::new(uri, at).with_url(url)
}
