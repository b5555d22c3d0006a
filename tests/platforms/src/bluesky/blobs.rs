//! Files: what was uploaded, and how long it is kept.

use std::collections::HashMap;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::{DateTime, Utc};
use domain::media::MimeType;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Value, json};

use super::caller::{self, Caller};
use super::embed::BlobRef;
use super::input::{self, File};
use super::limits::Route;
use super::refusal::Refusal;
use super::world::Shared;
use super::{UNREFERENCED_BLOBS_LIVE, account, cid};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/xrpc/com.atproto.repo.uploadBlob", post(upload))
        .route("/xrpc/com.atproto.sync.getBlob", get(get_blob))
}

/// A file.
pub(super) struct Stored {
    pub(super) mime_type: String,
    pub(super) bytes: Bytes,
    uploaded_at: DateTime<Utc>,
    /// Whether a record refers to it.
    referenced: bool,
}

/// The files of the account, by content id.
pub(super) struct Blobs {
    by_cid: HashMap<String, Stored>,
    /// The largest that `uploadBlob` takes, in bytes.
    pub(super) limit: u64,
}

impl Default for Blobs {
    fn default() -> Self {
        Self { by_cid: HashMap::new(), limit: 50 * 1024 * 1024 }
    }
}

impl Blobs {
    /// Keeps a file; what records say of it afterwards. What was there before
    /// stays as it is.
    pub(super) fn add(&mut self, mime_type: &str, bytes: Bytes, now: DateTime<Utc>) -> Value {
        let id = cid::of_bytes(&bytes);
        let sniffed = MimeType::sniff(&bytes).map(MimeType::as_str);
        let mime_type = sniffed.unwrap_or(mime_type).to_owned();
        let size = bytes.len();
        let stored = self.by_cid.entry(id.clone()).or_insert(Stored {
            mime_type: mime_type.clone(),
            bytes,
            uploaded_at: now,
            referenced: false,
        });
        stored.uploaded_at = now;
        json!({ "$type": "blob", "ref": { "$link": id }, "mimeType": mime_type, "size": size })
    }

    pub(super) fn get(&self, cid: &str) -> Option<&Stored> {
        self.by_cid.get(cid)
    }

    /// Whether a record may refer to these files.
    pub(super) fn check(&self, blobs: &[BlobRef]) -> Result<(), Refusal> {
        for blob in blobs {
            let missing = || Refusal::bad("BlobNotFound", format!("Could not find blob: {}", blob.cid));
            let stored = self.get(&blob.cid).ok_or_else(missing)?;
            if stored.mime_type != blob.mime_type {
                let (expected, got) = (&stored.mime_type, &blob.mime_type);
                let message =
                    format!("Referenced Mimetype does not match stored blob. Expected: {expected}, Got: {got}");
                return Err(Refusal::bad("InvalidMimeType", message));
            }
            if stored.bytes.len() as u64 != blob.size_bytes {
                let message = "Referenced Size does not match stored blob";
                return Err(Refusal::bad("InvalidSize", message));
            }
        }
        Ok(())
    }

    /// A record refers to these files now.
    pub(super) fn keep(&mut self, blobs: &[BlobRef]) {
        for blob in blobs {
            if let Some(stored) = self.by_cid.get_mut(&blob.cid) {
                stored.referenced = true;
            }
        }
    }

    /// No record refers to this file any more.
    pub(super) fn remove(&mut self, cid: &str) {
        self.by_cid.remove(cid);
    }

    /// Removes files that no record refers to.
    pub(super) fn collect(&mut self, is_old: impl Fn(DateTime<Utc>) -> bool) {
        self.by_cid.retain(|_, it| it.referenced || !is_old(it.uploaded_at));
    }

    /// Removes those that nobody referred to in time.
    pub(super) fn collect_old(&mut self, now: DateTime<Utc>) {
        self.collect(|uploaded_at| uploaded_at + UNREFERENCED_BLOBS_LIVE < now);
    }
}

async fn upload(State(world): State<Shared>, caller: Caller, file: File) -> Result<Response, Refusal> {
    let checked = caller::not_taken_down(&world).and_then(|()| caller.blob(&file.mime_type));
    let limit = world.state().blobs.limit;
    // Read before anything is refused: a client that still writes would not
    // see the answer.
    let most = if checked.is_ok() && file.size_bytes <= limit { limit } else { 0 };
    let bytes = input::read(file.body, usize::try_from(most).unwrap_or(usize::MAX)).await;
    checked?;
    let now = world.clock.now();
    let mut state = world.state();
    let allowance = state.meters.take(Route::UploadBlob, 1, now)?;
    let bytes = bytes.ok_or_else(Refusal::too_large)?;
    state.blobs.collect_old(now);
    let blob = state.blobs.add(&file.mime_type, bytes.into(), now);
    Ok((allowance.headers(), Json(json!({ "blob": blob }))).into_response())
}

#[derive(Deserialize)]
struct Wanted {
    did: String,
    cid: String,
}

async fn get_blob(State(world): State<Shared>, Query(Wanted { did, cid }): Query<Wanted>) -> Result<Response, Refusal> {
    let state = world.state();
    if did != account::DID {
        return Err(Refusal::bad("RepoNotFound", format!("Could not find repo for DID: {did}")));
    }
    let found = state.blobs.get(&cid).ok_or_else(|| Refusal::bad("BlobNotFound", "Blob not found"))?;
    Ok(([(CONTENT_TYPE, found.mime_type.clone())], found.bytes.clone()).into_response())
}
