//! Records of posts: written, put, and looked up.
//!
//! Facts: putting the same record under the same key again answers 200 and
//! changes nothing; `swapRecord: null` refuses (`InvalidSwap`) to put another
//! one over it. Reading a record needs no token.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::delivery::{AttemptError, Published};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use url::Url;

use super::errors::PDS;
use super::pds::Pds;
use super::repository::{self, NotRead};
use crate::http_clients::HttpClients;
use crate::kit::{CallError, Effect};
use crate::publish_request::PublishRequest;

/// Where posts are kept.
pub(super) const COLLECTION: &str = "app.bsky.feed.post";

/// For the public call. It may be sent twice, where the server wants another nonce
/// and carries out only the second. Shorter than `delivery::LEASE_DURATION`, so that the
/// worker that holds the delivery also learns the outcome.
const PUT: Duration = Duration::from_secs(15);

/// A post as it is put. It is made once, so that every attempt puts the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Post {
    pub(super) rkey: String,
    pub(super) record: Value,
}

#[derive(Deserialize)]
pub(super) struct Put {
    pub(super) uri: String,
}

/// A post that goes out later than its time by this does not say that time.
/// Readers would be shown it below what came in between.
const LATE: TimeDelta = TimeDelta::minutes(5);

impl Post {
    /// What it says.
    pub(super) fn text(&self) -> &str {
        self.record["text"].as_str().unwrap_or_default()
    }

    /// Whether it would go out much later than it says.
    pub(super) fn is_late(&self, now: DateTime<Utc>) -> bool {
        let created_at = self.record["createdAt"].as_str().and_then(|it| DateTime::parse_from_rfc3339(it).ok());
        created_at.is_some_and(|it| it.to_utc() + LATE < now)
    }
}

/// How putting a post ended, where it did not fail.
pub(super) enum Stored {
    /// It is public; its address.
    At(String),
    /// Another record has its key.
    Taken,
}

/// What is under a key.
pub(super) enum LookUp {
    /// This post; its address.
    Ours(String),
    /// Something else.
    Another,
    Nothing,
    /// It could not be read; the reason.
    Unclear(String),
}

/// A record of a post.
pub(super) fn written(job: &PublishRequest<'_>, text: &str, facets: Vec<Value>, embed: Option<Value>) -> Value {
    let created_at = if job.publish_at + LATE < job.now { job.now } else { job.publish_at };
    let mut record = json!({"$type": COLLECTION, "text": text, "createdAt": time(created_at)});
    if let Some(language) = job.options.text("language") {
        record["langs"] = json!([language]);
    }
    if let Some(label) = job.options.text("content_warning") {
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
            Some(Put { uri: said }) if said == uri => Ok(Stored::At(uri)),
            _ => Err(CallError::unreadable(PDS.title, Effect::Public).into()),
        };
    }
    let failure = reply.failure(&PDS, Effect::Public, pds.now);
    if failure.has_code(&["InvalidSwap"]) { Ok(Stored::Taken) } else { Err(failure.into()) }
}

/// The address of a post.
fn uri(did: &str, rkey: &str) -> String {
    format!("at://{did}/{COLLECTION}/{rkey}")
}

/// Whether the post with this key and text is there.
pub(super) async fn look_up(http: &HttpClients, (pds, did): (&Url, &str), rkey: &str, text: &str) -> LookUp {
    match repository::read(http, (pds, did), COLLECTION, rkey).await {
        Ok(found) if found.value["text"] == text => LookUp::Ours(uri(did, rkey)),
        Ok(_) => LookUp::Another,
        Err(NotRead::Nothing) => LookUp::Nothing,
        Err(NotRead::Unclear(reason)) => LookUp::Unclear(reason),
    }
}

/// A post by the URI of its record, such as
/// `at://did:plc:abc/app.bsky.feed.post/3kx`, which the official client shows
/// whatever server keeps it.
pub(super) fn public_at(uri: String, at: DateTime<Utc>) -> Published {
    let shown = uri.strip_prefix("at://").and_then(|it| it.split_once("/app.bsky.feed.post/"));
    let url = shown.map(|(did, key)| format!("https://bsky.app/profile/{did}/post/{key}"));
    Published::new(uri, at).with_url(url)
}
