//! Uploaded blobs and their retention.

use std::collections::HashMap;

use axum::body::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::MimeType;
use serde_json::{Value, json};

use crate::bluesky::api_error::ApiError;
use crate::bluesky::cid;
use crate::bluesky::embed::BlobRef;

/// How long an unreferenced blob is kept: the minimum of the blob specification.
const UNREFERENCED_BLOBS_LIVE: TimeDelta = TimeDelta::hours(1);

pub(in crate::bluesky) struct Stored {
    pub(in crate::bluesky) mime_type: String,
    pub(in crate::bluesky) bytes: Bytes,
    uploaded_at: DateTime<Utc>,
    /// Whether a record refers to the blob.
    referenced: bool,
}

/// The account's blobs, by content id.
pub(in crate::bluesky) struct Blobs {
    by_cid: HashMap<String, Stored>,
    /// Size limit of `uploadBlob`, in bytes.
    pub(in crate::bluesky) limit: u64,
}

impl Default for Blobs {
    fn default() -> Self {
        Self { by_cid: HashMap::new(), limit: 50 * 1024 * 1024 }
    }
}

impl Blobs {
    /// Stores a file. Returns the blob object with which records refer to it. A file that
    /// is already stored keeps its type and its references.
    pub(in crate::bluesky) fn add(&mut self, mime_type: &str, bytes: Bytes, now: DateTime<Utc>) -> Value {
        let sniffed = MimeType::sniff(&bytes).map(MimeType::as_str);
        self.add_as(sniffed.unwrap_or(mime_type), bytes, now)
    }

    /// Like `add`, but does not sniff the type.
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

    /// Checks that a record may refer to these files.
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

    /// Marks these files as referenced by a record.
    pub(in crate::bluesky) fn keep(&mut self, blobs: &[BlobRef]) {
        for blob in blobs {
            if let Some(stored) = self.by_cid.get_mut(&blob.cid) {
                stored.referenced = true;
            }
        }
    }

    /// Deletes a file that no record refers to any more.
    pub(in crate::bluesky) fn remove(&mut self, cid: &str) {
        self.by_cid.remove(cid);
    }

    /// Deletes the unreferenced files whose upload time satisfies `is_old`.
    pub(in crate::bluesky) fn collect(&mut self, is_old: impl Fn(DateTime<Utc>) -> bool) {
        self.by_cid.retain(|_, it| it.referenced || !is_old(it.uploaded_at));
    }

    /// Deletes the unreferenced files whose retention is over.
    pub(in crate::bluesky) fn collect_expired(&mut self, now: DateTime<Utc>) {
        self.collect(|uploaded_at| uploaded_at + UNREFERENCED_BLOBS_LIVE < now);
    }
}
