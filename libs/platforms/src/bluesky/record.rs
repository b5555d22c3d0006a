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
use super::record_key::record_key;
use super::repository::{self, ReadError};
use crate::http_clients::HttpClients;
use crate::kit::{CallError, Effect};
use crate::publish_request::{PublishRequest, ReplyTo};

pub(super) const COLLECTION: &str = "app.bsky.feed.post";

/// The timeout of the publish call. It may be sent twice, if the server requires another nonce and
/// executes only the second. Shorter than `delivery::LEASE_DURATION`, so that the worker that holds
/// the delivery also learns the outcome.
const PUT: Duration = Duration::from_secs(15);

/// Built once, so that every attempt puts the same record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Post {
    pub(super) rkey: String,
    pub(super) record: Value,
}

#[derive(Deserialize)]
pub(super) struct Put {
    pub(super) uri: String,
    pub(super) cid: String,
}

/// A post that is published later than its time by this does not state that time: readers would see
/// it below everything that was posted in between.
const LATE: TimeDelta = TimeDelta::minutes(5);

impl Post {
    pub(super) fn text(&self) -> &str {
        self.record["text"].as_str().unwrap_or_default()
    }

    /// Completes a record that was prepared: a reply follows segments that were not public yet. Its
    /// key and its time are those of its own turn, because the times of a thread have to ascend.
    /// Equal in every attempt.
    pub(super) fn completed(mut self, request: &PublishRequest<'_>) -> Result<Self, AttemptError> {
        let Some(reply_to) = &request.reply_to else { return Ok(self) };
        self.rkey = record_key(request.publish_at, request.reference);
        let created_at = self.created_at().unwrap_or_default().max(request.publish_at);
        self.record["createdAt"] = time(created_at).into();
        self.record["reply"] = references(reply_to)?;
        Ok(self)
    }

    pub(super) fn is_late(&self, now: DateTime<Utc>) -> bool {
        self.created_at().is_some_and(|it| it + LATE < now)
    }

    fn created_at(&self) -> Option<DateTime<Utc>> {
        let created_at = DateTime::parse_from_rfc3339(self.record["createdAt"].as_str()?);
        created_at.ok().map(|it| it.to_utc())
    }
}

/// What a reply follows: the lexicon's `replyRef`, with the URI and the hash of each record.
fn references(reply_to: &ReplyTo<'_>) -> Result<Value, AttemptError> {
    let reference = |to: &Published| -> Result<Value, AttemptError> {
        let refused = || AttemptError::Refused { reason: NO_HASH.to_owned() };
        Ok(json!({"uri": to.platform_post_id, "cid": to.handle.as_ref().ok_or_else(refused)?}))
    };
    Ok(json!({"root": reference(reply_to.root)?, "parent": reference(reply_to.parent)?}))
}

const NO_HASH: &str = "the server does not state the hash of the post that this one follows";

pub(super) enum Stored {
    Public(Published),
    /// Another record has its key.
    Taken,
}

pub(super) enum LookUp {
    Ours(Published),
    Another,
    Nothing,
    /// The record could not be read; the reason.
    Unclear(String),
}

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
            Some(Put { uri: stored_uri, cid }) if stored_uri == uri => {
                Ok(Stored::Public(public_at(uri, Some(cid), pds.now)))
            }
            _ => Err(CallError::unreadable(PDS.title, Effect::Public).into()),
        };
    }
    let failure = reply.failure(&PDS, Effect::Public, pds.now);
    if failure.has_code(&["InvalidSwap"]) { Ok(Stored::Taken) } else { Err(failure.into()) }
}

fn uri(did: &str, rkey: &str) -> String {
    format!("at://{did}/{COLLECTION}/{rkey}")
}

pub(super) async fn look_up(
    http: &HttpClients,
    (pds, did): (&Url, &str),
    (rkey, text): (&str, &str),
    request: &PublishRequest<'_>,
) -> LookUp {
    let parent = request.reply_to.map(|it| it.parent.platform_post_id.as_str());
    let is_ours = |found: &Value| found["text"] == text && found["reply"]["parent"]["uri"].as_str() == parent;
    match repository::read(http, (pds, did), COLLECTION, rkey).await {
        Ok(found) if is_ours(&found.value) => LookUp::Ours(public_at(uri(did, rkey), found.cid, request.now)),
        Ok(_) => LookUp::Another,
        Err(ReadError::Nothing) => LookUp::Nothing,
        Err(ReadError::Unclear(reason)) => LookUp::Unclear(reason),
    }
}

/// A post by the URI of its record, such as `at://did:plc:abc/app.bsky.feed.post/3kx`. The official
/// client shows it whichever server has it. Replies refer to it by its URI and its hash.
fn public_at(uri: String, cid: Option<String>, at: DateTime<Utc>) -> Published {
    let shown = uri.strip_prefix("at://").and_then(|it| it.split_once("/app.bsky.feed.post/"));
    let url = shown.map(|(did, key)| format!("https://bsky.app/profile/{did}/post/{key}"));
    let handle = cid.filter(|it| repository::is_cid(it));
    Published { handle, ..Published::new(uri, at).with_url(url) }
}
