//! The files that were uploaded, and how long they are kept.

use std::collections::HashMap;

use axum::body::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::MimeType;
use serde_json::{Value, json};

use crate::bluesky::api_error::ApiError;
use crate::bluesky::cid;
use crate::bluesky::embed::BlobRef;

/// How long a file that no record refers to is kept: the least that the
/// specification of blobs wants.
const UNREFERENCED_BLOBS_LIVE: TimeDelta = TimeDelta::hours(1);

/// A file.
pub(in crate::bluesky) struct Stored {
    pub(in crate::bluesky) mime_type: String,
    pub(in crate::bluesky) bytes: Bytes,
    uploaded_at: DateTime<Utc>,
    /// Whether a record refers to it.
    referenced: bool,
}

/// The files of the account, by content id.
pub(in crate::bluesky) struct Blobs {
    by_cid: HashMap<String, Stored>,
    /// The largest that `uploadBlob` takes, in bytes.
    pub(in crate::bluesky) limit: u64,
}

impl Default for Blobs {
    fn default() -> Self {
        Self { by_cid: HashMap::new(), limit: 50 * 1024 * 1024 }
    }
}

impl Blobs {
    /// Keeps a file. Returns the blob by which records refer to it. A file that was
    /// there before keeps its type and its references.
    pub(in crate::bluesky) fn add(&mut self, mime_type: &str, bytes: Bytes, now: DateTime<Utc>) -> Value {
        let sniffed = MimeType::sniff(&bytes).map(MimeType::as_str);
        self.add_as(sniffed.unwrap_or(mime_type), bytes, now)
    }

    /// Like `add`, with this type of the file.
    pub(in crate::bluesky) fn add_as(&mut self, mime_type: &str, bytes: Bytes, now: DateTime<Utc>) -> Value {
        let (id, mime_type) = (cid::from_bytes(&bytes), mime_type.to_owned());
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

    pub(in crate::bluesky) fn get(&self, cid: &str) -> Option<&Stored> {
        self.by_cid.get(cid)
    }

    /// Whether a record may refer to these files.
    pub(in crate::bluesky) fn check(&self, blobs: &[BlobRef]) -> Result<(), ApiError> {
        for blob in blobs {
            let missing = || ApiError::bad("BlobNotFound", format!("Could not find blob: {}", blob.cid));
            let stored = self.get(&blob.cid).ok_or_else(missing)?;
            if stored.mime_type != blob.mime_type {
                let (expected, received) = (&stored.mime_type, &blob.mime_type);
                let message =
                    format!("Referenced Mimetype does not match stored blob. Expected: {expected}, Got: {received}");
                return Err(ApiError::bad("InvalidMimeType", message));
            }
            if stored.bytes.len() as u64 != blob.size_bytes {
                let message = "Referenced Size does not match stored blob";
                return Err(ApiError::bad("InvalidSize", message));
            }
        }
        Ok(())
    }

    /// A record refers to these files now.
    pub(in crate::bluesky) fn keep(&mut self, blobs: &[BlobRef]) {
        for blob in blobs {
            if let Some(stored) = self.by_cid.get_mut(&blob.cid) {
                stored.referenced = true;
            }
        }
    }

    /// No record refers to this file any more.
    pub(in crate::bluesky) fn remove(&mut self, cid: &str) {
        self.by_cid.remove(cid);
    }

    /// Removes files that no record refers to.
    pub(in crate::bluesky) fn collect(&mut self, is_old: impl Fn(DateTime<Utc>) -> bool) {
        self.by_cid.retain(|_, it| it.referenced || !is_old(it.uploaded_at));
    }

    /// Removes those that nobody referred to in time.
    pub(in crate::bluesky) fn collect_expired(&mut self, now: DateTime<Utc>) {
        self.collect(|uploaded_at| uploaded_at + UNREFERENCED_BLOBS_LIVE < now);
    }
}
