//! Records and their files. The lexicons of records are left to the real server. The fake checks
//! the length of a text, what real servers accept although no reader can display it, and that the
//! files are there.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::MimeType;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use unicode_segmentation::UnicodeSegmentation;

use super::api_error::{ApiError, ApiResult};
use super::caller::Caller;
use super::{Bluesky, Fake, Memory};
use crate::conformance::fake_platform::{PublicMedium, PublicPost};
use crate::fake::params::essence;

pub(super) const POST: &str = "app.bsky.feed.post";

/// How long a file is kept that no record refers to: the minimum of the blob specification.
const UNREFERENCED_BLOBS_LIVE: TimeDelta = TimeDelta::hours(1);

/// A record of any user.
pub(super) struct Record {
    pub(super) uri: String,
    pub(super) cid: String,
    pub(super) value: Value,
}

pub(super) struct Blob {
    mime_type: String,
    bytes: Bytes,
    uploaded_at: DateTime<Utc>,
}

pub(super) fn routes() -> Router<Arc<Fake>> {
    Router::new()
        .route("/xrpc/com.atproto.repo.putRecord", post(put))
        .route("/xrpc/com.atproto.repo.getRecord", get(get_record))
        .route("/xrpc/com.atproto.repo.uploadBlob", post(upload))
}

/// The hash of a record or file, equal for equal contents. The hash of real servers has another
/// format.
pub(super) fn cid(prefix: &str, content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(prefix.to_owned(), |mut cid, byte| {
        let _ = write!(cid, "{byte:02x}");
        cid
    })
}

pub(super) fn uri(did: &str, collection: &str, rkey: &str) -> String {
    format!("at://{did}/{collection}/{rkey}")
}

/// An equal record changes nothing. With `swapRecord: null`, another record is not replaced.
async fn put(State(fake): State<Arc<Fake>>, caller: Caller, Json(input): Json<Value>) -> ApiResult {
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    caller.require(&format!("repo:{}", text("collection")))?;
    let uri = uri(Bluesky::DID, text("collection"), text("rkey"));
    let mut memory = fake.memory();
    memory.check_status()?;
    if text("repo") != Bluesky::DID {
        return Err(ApiError::unauthorized("AuthenticationRequired", "Authentication Required"));
    }
    let value = input["record"].clone();
    memory.check(&value, fake.clock.now())?;
    let cid = cid("bafyrei", value.to_string().as_bytes());
    let mut response = json!({ "uri": uri, "cid": cid, "validationStatus": "valid" });
    match memory.records.iter_mut().find(|it| it.uri == uri) {
        Some(stored) if stored.cid == cid => return Ok(Json(response)),
        Some(stored) if input.get("swapRecord") == Some(&Value::Null) => {
            return Err(ApiError::bad("InvalidSwap", format!("Record was at {}", stored.cid)));
        }
        Some(stored) => *stored = Record { uri, cid, value },
        None => memory.records.push(Record { uri, cid, value }),
    }
    memory.commits += 1;
    response["commit"] = json!({ "cid": response["cid"], "rev": memory.commits.to_string() });
    Ok(Json(response))
}

async fn get_record(State(fake): State<Arc<Fake>>, Query(query): Query<BTreeMap<String, String>>) -> ApiResult {
    let [repo, collection, rkey] = ["repo", "collection", "rkey"].map(|it| query.get(it).map_or("", String::as_str));
    let memory = fake.memory();
    let uri = uri(repo, collection, rkey);
    let Some(Record { uri, cid, value }) = memory.find(&uri) else {
        return Err(ApiError::bad("RecordNotFound", format!("Could not locate record: {uri}")));
    };
    Ok(Json(json!({ "uri": uri, "cid": cid, "value": value })))
}

async fn upload(State(fake): State<Arc<Fake>>, caller: Caller, headers: HeaderMap, bytes: Bytes) -> ApiResult {
    let mime_type = essence(&headers);
    caller.require(&format!("blob:{}/*", mime_type.split('/').next().unwrap_or_default()))?;
    if !headers.contains_key(CONTENT_LENGTH) {
        return Err(ApiError::invalid("Request length (Content-Length) is missing"));
    }
    let mut memory = fake.memory();
    if memory.settings.blob_limit < bytes.len() as u64 {
        return Err(ApiError::too_large());
    }
    Ok(Json(json!({ "blob": memory.add_blob(&mime_type, bytes, fake.clock.now()) })))
}

impl Memory {
    pub(super) fn find(&self, uri: &str) -> Option<&Record> {
        self.records.iter().find(|it| it.uri == uri)
    }

    /// Adds a record without checks. Returns the reference that other records use.
    pub(super) fn add_record(&mut self, uri: String, value: Value) -> Value {
        let cid = cid("bafyrei", value.to_string().as_bytes());
        let reference = json!({ "uri": uri, "cid": cid });
        self.records.push(Record { uri, cid, value });
        reference
    }

    /// The posts of the account, oldest first.
    pub(super) fn posts(&self) -> impl DoubleEndedIterator<Item = &Record> {
        let start = uri(Bluesky::DID, POST, "");
        self.records.iter().filter(move |it| it.uri.starts_with(&start))
    }

    /// Stores a file. Returns the blob object with which records refer to it.
    pub(super) fn add_blob(&mut self, mime_type: &str, bytes: Bytes, now: DateTime<Utc>) -> Value {
        let (cid, size) = (cid("bafkrei", &bytes), bytes.len());
        self.blobs.insert(cid.clone(), Blob { mime_type: mime_type.to_owned(), bytes, uploaded_at: now });
        json!({ "$type": "blob", "ref": { "$link": cid }, "mimeType": mime_type, "size": size })
    }

    /// Deletes the files whose upload time satisfies `is_old`, unless a record refers to them.
    pub(super) fn collect_blobs(&mut self, is_old: impl Fn(DateTime<Utc>) -> bool) {
        let referenced: Vec<_> = self.records.iter().flat_map(|it| blobs(&it.value)).collect();
        self.blobs.retain(|cid, it| referenced.contains(&cid.as_str()) || !is_old(it.uploaded_at));
    }

    fn check(&mut self, record: &Value, now: DateTime<Utc>) -> Result<(), ApiError> {
        let check = |holds: bool, what: &str| {
            if holds { Ok(()) } else { Err(ApiError::invalid(format!("Invalid {POST} record: {what}"))) }
        };
        let text = record["text"].as_str().unwrap_or_default();
        let fits = text.len() <= 3000 && text.graphemes(true).count() <= 300;
        check(fits, "string too big (maximum 300 graphemes) at $.record.text")?;
        let ranges: Option<Vec<_>> = facets(record).map(range).collect();
        let mut ranges = ranges.unwrap_or_default();
        ranges.sort_unstable();
        let is_whole = |it: &(usize, usize)| text.get(it.0..it.1).is_some_and(|it| !it.is_empty());
        let are_apart = ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        check(ranges.len() == facets(record).count(), "expected byteStart and byteEnd at $.record.facets")?;
        check(are_apart && ranges.iter().all(is_whole), "overlap or a cut character at $.record.facets")?;
        let has_gallery = record.to_string().contains("app.bsky.embed.gallery");
        check(self.settings.knows_galleries() || !has_gallery, "expected a known embed at $.record.embed")?;
        let reply = &record["reply"];
        let is_stored = |it: &Value| self.find(it["uri"].as_str()?).filter(|found| it["cid"] == found.cid);
        if !reply.is_null() {
            let root =
                is_stored(&reply["parent"]).map(|it| it.value["reply"]["root"]["uri"].as_str().unwrap_or(&it.uri));
            let is_root = root.is_some_and(|it| reply["root"]["uri"] == it) && is_stored(&reply["root"]).is_some();
            check(is_root, "no such thread at $.record.reply")?;
        }
        self.collect_blobs(|uploaded_at| uploaded_at + UNREFERENCED_BLOBS_LIVE < now);
        match blobs(record).into_iter().find(|it| !self.blobs.contains_key(*it)) {
            Some(missing) => Err(ApiError::bad("BlobNotFound", format!("Could not find blob: {missing}"))),
            None => Ok(()),
        }
    }

    pub(super) fn public_post(&self, record: &Record) -> PublicPost {
        let embed = &record.value["embed"];
        let embed = if embed["media"].is_null() { embed } else { &embed["media"] };
        let pictures = ["images", "items"].iter().filter_map(|it| embed[it].as_array()).flatten();
        let files = pictures.map(|it| (it, &it["image"])).chain([(embed, &embed["video"])]);
        let medium = |(shown, blob): (&Value, &Value)| {
            let blob = self.blobs.get(blob["ref"]["$link"].as_str()?).expect("a record's files are kept");
            let alt_text = shown["alt"].as_str().filter(|it| !it.is_empty()).map(str::to_owned);
            let mime_type = MimeType::parse(&blob.mime_type).expect("a type that the service knows");
            Some(PublicMedium { mime_type, bytes: blob.bytes.to_vec(), alt_text })
        };
        PublicPost {
            id: record.uri.clone(),
            text: record.value["text"].as_str().unwrap_or_default().to_owned(),
            media: files.filter_map(medium).collect(),
            reply_to: record.value["reply"]["parent"]["uri"].as_str().map(str::to_owned),
        }
    }
}

pub(super) fn links(post: &Value) -> Vec<String> {
    let text = post["text"].as_str().unwrap_or_default();
    let links = facets(post).filter(|it| it["features"][0]["$type"] == "app.bsky.richtext.facet#link");
    links.filter_map(|it| range(it).map(|(start, end)| text[start..end].to_owned())).collect()
}

fn facets(post: &Value) -> impl Iterator<Item = &Value> {
    post["facets"].as_array().into_iter().flatten()
}

/// The bytes of the text that a facet is about.
fn range(facet: &Value) -> Option<(usize, usize)> {
    let offset = |name: &str| facet["index"][name].as_u64().and_then(|it| usize::try_from(it).ok());
    Some((offset("byteStart")?, offset("byteEnd")?))
}

/// The hashes of all files that a record refers to.
fn blobs(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(fields) if value["$type"] == "blob" => fields["ref"]["$link"].as_str().into_iter().collect(),
        Value::Object(fields) => fields.values().flat_map(blobs).collect(),
        Value::Array(items) => items.iter().flat_map(blobs).collect(),
        _ => Vec::new(),
    }
}
