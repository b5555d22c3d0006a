//! Multipart uploads of videos.

use std::collections::BTreeMap;

use axum::body::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::bluesky::jose;

/// Lifetime of an upload.
const LIVES: TimeDelta = TimeDelta::hours(1);

pub(in crate::bluesky) struct Parts {
    pub(in crate::bluesky) uploads: BTreeMap<String, Upload>,
    /// Part size in bytes; `None` without multipart uploads.
    pub(in crate::bluesky) part_bytes: Option<u64>,
    /// How often each part was recorded, by upload and part number.
    pub(in crate::bluesky) taken: BTreeMap<(String, u64), usize>,
    /// How many of the next uploads fail when the client finishes them.
    pub(in crate::bluesky) failing: usize,
}

impl Default for Parts {
    fn default() -> Self {
        Self { uploads: BTreeMap::new(), part_bytes: Some(5 << 20), taken: BTreeMap::new(), failing: 0 }
    }
}

pub(in crate::bluesky) struct Upload {
    size_bytes: u64,
    part_bytes: u64,
    pub(in crate::bluesky) parts: BTreeMap<u64, Bytes>,
    pub(in crate::bluesky) expires_at: DateTime<Utc>,
    /// The job that the finished upload started.
    pub(in crate::bluesky) job: Option<String>,
    pub(in crate::bluesky) failure: Option<&'static str>,
}

impl Parts {
    /// Starts an upload; returns its id.
    pub(in crate::bluesky) fn start(&mut self, size_bytes: u64, part_bytes: u64, now: DateTime<Utc>) -> String {
        let id = jose::random("");
        let upload = Upload {
            size_bytes,
            part_bytes,
            parts: BTreeMap::new(),
            expires_at: now + LIVES,
            job: None,
            failure: None,
        };
        self.uploads.insert(id.clone(), upload);
        id
    }
}

impl Upload {
    pub(in crate::bluesky) fn count(&self) -> u64 {
        self.size_bytes.div_ceil(self.part_bytes)
    }

    /// Required length of a part in bytes; `None` for a number out of range.
    pub(in crate::bluesky) fn length(&self, number: u64) -> Option<u64> {
        let start = number.checked_sub(1)? * self.part_bytes;
        (number <= self.count()).then(|| (self.size_bytes - start).min(self.part_bytes))
    }

    pub(in crate::bluesky) fn missing(&self) -> Vec<u64> {
        (1..=self.count()).filter(|it| !self.parts.contains_key(it)).collect()
    }

    /// The parts joined into the file.
    pub(in crate::bluesky) fn whole(&self) -> Bytes {
        self.parts.values().flat_map(|it| it.to_vec()).collect::<Vec<_>>().into()
    }

    pub(in crate::bluesky) fn plan(&self, id: &str) -> Value {
        json!({
            "jobId": id,
            "partSizeBytes": self.part_bytes,
            "partCount": self.count(),
            "expiresAt": self.expires_at.to_rfc3339(),
        })
    }
}
