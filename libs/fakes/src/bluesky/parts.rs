//! Multipart uploads to the video service.
//!
//! Source: the lexicons `app.bsky.video.startUpload`, `uploadPart`, `finishUpload`
//! and `getUploadStatus` of August 2026.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Fake;
use super::api_error::{ApiError, ApiResult};
use super::video::{MAX_BYTES, TYPES, UPLOAD};
use crate::fake::oauth::secret;
use crate::fake::params::essence;

/// Lifetime of an upload.
const LIVES: TimeDelta = TimeDelta::hours(1);

const FAILURE: &str = "the upload could not be assembled";

pub(super) struct Upload {
    size_bytes: u64,
    part_bytes: u64,
    parts: BTreeMap<u64, Bytes>,
    expires_at: DateTime<Utc>,
    /// The job that the finished upload started.
    job: Option<String>,
    has_failed: bool,
}

pub(super) fn routes() -> Router<Arc<Fake>> {
    Router::new()
        .route("/xrpc/app.bsky.video.startUpload", post(start))
        .route("/xrpc/app.bsky.video.uploadPart", post(part))
        .route("/xrpc/app.bsky.video.finishUpload", post(finish))
        .route("/xrpc/app.bsky.video.getUploadStatus", get(status))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UploadQuery {
    job_id: String,
    #[serde(default)]
    part_number: u64,
}

fn unknown_upload() -> ApiError {
    ApiError::bad("UploadNotFound", "Upload not found")
}

async fn start(State(fake): State<Arc<Fake>>, headers: HeaderMap, Json(input): Json<Value>) -> ApiResult {
    fake.check_service_token(&headers, UPLOAD)?;
    let mut memory = fake.memory();
    let Some(part_bytes) = memory.settings.part_bytes else {
        return Err(ApiError::bad("MethodNotImplemented", "Method Not Implemented"));
    };
    let size_bytes = input["sizeBytes"].as_u64().unwrap_or_default();
    if !(1..=MAX_BYTES).contains(&size_bytes) || !TYPES.iter().any(|it| input["mimeType"] == *it) {
        return Err(ApiError::invalid("a video of a supported type and size is expected"));
    }
    if memory.settings.videos_left == 0 {
        return Err(ApiError::bad("DailyLimitExceeded", "You have reached your daily limit of videos"));
    }
    let (id, expires_at) = (secret(), fake.clock.now() + LIVES);
    let upload = Upload { size_bytes, part_bytes, parts: BTreeMap::new(), expires_at, job: None, has_failed: false };
    let plan = upload.plan(&id);
    memory.uploads.insert(id, upload);
    Ok(Json(plan))
}

async fn part(
    State(fake): State<Arc<Fake>>,
    Query(UploadQuery { job_id, part_number }): Query<UploadQuery>,
    headers: HeaderMap,
    bytes: Bytes,
) -> ApiResult {
    fake.check_service_token(&headers, UPLOAD)?;
    let mut memory = fake.memory();
    let upload = memory.uploads.get_mut(&job_id).ok_or_else(unknown_upload)?;
    if upload.job.is_some() {
        return Err(ApiError::bad("UploadAlreadyCompleted", "The upload is complete"));
    }
    if upload.expires_at <= fake.clock.now() {
        return Err(ApiError::bad("UploadExpired", "The upload has expired"));
    }
    let length = upload.length(part_number);
    let length = length.ok_or_else(|| ApiError::bad("InvalidPartNumber", "There is no such part"))?;
    if essence(&headers) != "application/octet-stream" || !headers.contains_key(CONTENT_LENGTH) {
        return Err(ApiError::invalid("Wrong request encoding (Content-Type)"));
    }
    if bytes.len() as u64 != length {
        return Err(ApiError::bad("PartSizeMismatch", "The part has another length"));
    }
    upload.parts.insert(part_number, bytes);
    *memory.part_counts.entry((job_id, part_number)).or_default() += 1;
    Ok(Json(json!({ "partNumber": part_number, "sizeBytes": length })))
}

async fn finish(State(fake): State<Arc<Fake>>, headers: HeaderMap, Json(input): Json<Value>) -> ApiResult {
    fake.check_service_token(&headers, UPLOAD)?;
    let id = input["jobId"].as_str().unwrap_or_default();
    let mut memory = fake.memory();
    let is_failing = 0 < memory.settings.failing_uploads;
    let upload = memory.uploads.get_mut(id).ok_or_else(unknown_upload)?;
    if upload.job.is_none() && !upload.has_failed {
        if (upload.parts.len() as u64) < upload.count() {
            return Err(ApiError::bad("MissingParts", "Parts are missing"));
        }
        upload.has_failed = is_failing;
    }
    if upload.has_failed {
        memory.settings.failing_uploads = memory.settings.failing_uploads.saturating_sub(1);
        return Err(ApiError::bad("UploadFailed", FAILURE));
    }
    let job = if let Some(job) = &upload.job {
        job.clone()
    } else {
        let whole: Vec<u8> = upload.parts.values().flatten().copied().collect();
        let used_up = || ApiError::bad("DailyLimitExceeded", "You have reached your daily limit of videos");
        memory.find_or_create_job(whole.into()).ok_or_else(used_up)?.0
    };
    if let Some(upload) = memory.uploads.get_mut(id) {
        upload.job = Some(job.clone());
    }
    Ok(Json(json!({ "completedJobId": job, "jobStatus": memory.jobs[&job].status(&job) })))
}

async fn status(State(fake): State<Arc<Fake>>, Query(query): Query<UploadQuery>, headers: HeaderMap) -> ApiResult {
    fake.check_service_token(&headers, UPLOAD)?;
    let memory = fake.memory();
    let upload = memory.uploads.get(&query.job_id).ok_or_else(unknown_upload)?;
    let mut status = upload.plan(&query.job_id);
    status["receivedParts"] = upload.parts.keys().copied().collect();
    let state = match upload {
        Upload { has_failed: true, .. } => "failed",
        Upload { job: Some(_), .. } => "completed",
        Upload { expires_at, .. } if *expires_at <= fake.clock.now() => "expired",
        Upload { .. } => "created",
    };
    status["state"] = state.into();
    if upload.has_failed {
        status["failureReason"] = FAILURE.into();
    }
    if let Some(job) = &upload.job {
        status["completedJobId"] = job.as_str().into();
    }
    Ok(Json(status))
}

impl Upload {
    fn count(&self) -> u64 {
        self.size_bytes.div_ceil(self.part_bytes)
    }

    /// Required length of a part in bytes; `None` for a number out of range.
    fn length(&self, number: u64) -> Option<u64> {
        let start = number.checked_sub(1)? * self.part_bytes;
        (number <= self.count()).then(|| (self.size_bytes - start).min(self.part_bytes))
    }

    fn plan(&self, id: &str) -> Value {
        json!({
            "jobId": id,
            "partSizeBytes": self.part_bytes,
            "partCount": self.count(),
            "expiresAt": self.expires_at.to_rfc3339(),
        })
    }
}
