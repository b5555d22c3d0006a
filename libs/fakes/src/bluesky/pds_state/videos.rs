//! The jobs of the video service.

use std::collections::BTreeMap;

use axum::body::Bytes;
use serde_json::{Value, json};

use super::blobs::Blobs;
use super::parts::Parts;
use crate::bluesky::{account, cid, jose};

/// Jobs, quota and settings of the video service.
pub(in crate::bluesky) struct Videos {
    pub(in crate::bluesky) jobs: BTreeMap<String, Job>,
    /// How many status requests find a job unfinished.
    pub(in crate::bluesky) polls: usize,
    /// How many videos the account may still upload today.
    pub(in crate::bluesky) left: u64,
    /// Whether `uploadVideo` returns the status in `jobStatus`, as its lexicon defines.
    pub(in crate::bluesky) by_lexicon: bool,
    /// How many of the next jobs fail, and with which `failureCode`.
    pub(in crate::bluesky) failing: (usize, Option<&'static str>),
    /// Multipart uploads.
    pub(in crate::bluesky) parts: Parts,
}

impl Default for Videos {
    fn default() -> Self {
        Self {
            jobs: BTreeMap::new(),
            polls: 2,
            left: 25,
            by_lexicon: false,
            failing: (0, None),
            parts: Parts::default(),
        }
    }
}

/// The processing of one video.
pub(in crate::bluesky) struct Job {
    pub(in crate::bluesky) cid: String,
    pub(in crate::bluesky) work: Work,
}

/// The state of a job.
pub(in crate::bluesky) enum Work {
    Encoding {
        bytes: Bytes,
        polls_left: usize,
    },
    Done {
        blob: Value,
    },
    /// `None` for a service from before July 2026, without codes.
    Failed {
        code: Option<&'static str>,
    },
}

impl Videos {
    /// The existing job of a file, or a new one, which counts against the quota. Returns
    /// its id and whether it is new; `None` when the quota is used up.
    pub(in crate::bluesky) fn find_or_create_job(&mut self, bytes: Bytes, blobs: &Blobs) -> Option<(String, bool)> {
        let cid = cid::from_bytes(&bytes);
        let same = |it: &Job| match &it.work {
            Work::Failed { .. } => false,
            Work::Encoding { .. } => it.cid == cid,
            Work::Done { .. } => it.cid == cid && blobs.get(&cid).is_some(),
        };
        if let Some((id, _)) = self.jobs.iter().find(|(_, it)| same(it)) {
            return Some((id.clone(), false));
        }
        self.left = self.left.checked_sub(1)?;
        let id = jose::random("");
        let job = Job { cid, work: Work::Encoding { bytes, polls_left: self.polls } };
        self.jobs.insert(id.clone(), job);
        Some((id, true))
    }

    /// The `failureCode` of the job that ends now, if a test makes it fail.
    #[expect(clippy::option_option, reason = "a failed job may have no code")]
    pub(in crate::bluesky) fn take_failure(&mut self) -> Option<Option<&'static str>> {
        let (left, code) = &mut self.failing;
        *left = left.checked_sub(1)?;
        Some(*code)
    }

    /// Makes a job fail because its file is not a playable video.
    pub(in crate::bluesky) fn fail(&mut self, id: &str) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.work = Work::Failed { code: Some("validation_failure") };
        }
    }
}

impl Job {
    /// The job status in the format of responses.
    pub(in crate::bluesky) fn status(&self, id: &str) -> Value {
        let mut status = json!({ "jobId": id, "did": account::DID });
        match &self.work {
            Work::Encoding { .. } => {
                status["state"] = "JOB_STATE_ENCODING".into();
                status["progress"] = 50.into();
            }
            Work::Done { blob } => {
                status["state"] = "JOB_STATE_COMPLETED".into();
                status["progress"] = 100.into();
                status["blob"] = blob.clone();
            }
            Work::Failed { code } => {
                status["state"] = "JOB_STATE_FAILED".into();
                status["error"] = code.unwrap_or("Job failed").into();
                if let Some(code) = code {
                    status["failureCode"] = (*code).into();
                }
                status["message"] = match code {
                    Some("validation_failure") => "The video could not be validated",
                    Some("encoding_failure") => "Failed to encode the video",
                    Some("pds_upload_failure") => "Failed to upload the video to the PDS",
                    Some("pds_upload_unsupported_blob_size") => "The PDS does not accept a blob of this size",
                    _ => "Failed to process the video",
                }
                .into();
            }
        }
        status
    }
}
