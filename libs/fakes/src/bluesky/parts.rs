//! Multipart uploads to the video service.
//!
//! Source: the lexicons `app.bsky.video.startUpload`, `uploadPart`, `finishUpload`
//! and `getUploadStatus` of August 2026.

use axum::extract::{Query, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::embed::VIDEO;
use super::input::{self, File, Input};
use super::pds_state::parts::Upload;
use super::pds_state::{PdsState, Shared, State as Everything};
use super::service;
use super::video::{Bearer, TYPES};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/xrpc/app.bsky.video.startUpload", post(start))
        .route("/xrpc/app.bsky.video.uploadPart", post(part))
        .route("/xrpc/app.bsky.video.finishUpload", post(finish))
        .route("/xrpc/app.bsky.video.getUploadStatus", get(status))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobQuery {
    job_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartQuery {
    job_id: String,
    part_number: u64,
}

/// All multipart calls require the token of `uploadVideo`.
fn verify(fake: &PdsState, token: &str) -> Result<(), ApiError> {
    service::verify(fake, token, &fake.pds_did(), "com.atproto.repo.uploadBlob")
}

fn unknown_upload() -> ApiError {
    ApiError::bad("UploadNotFound", "Upload not found")
}

async fn start(State(fake): State<Shared>, Bearer(token): Bearer, input: Input) -> Result<Json<Value>, ApiError> {
    verify(&fake, &token)?;
    let mime_type = input.text("mimeType")?;
    let size_bytes = input.0["sizeBytes"].as_u64().filter(|it| 0 < *it);
    let size_bytes = size_bytes.ok_or_else(|| ApiError::invalid("Input must have the property \"sizeBytes\""))?;
    let mut state = fake.state();
    let videos = &mut state.videos;
    let Some(part_bytes) = videos.parts.part_bytes else {
        return Err(ApiError::bad("MethodNotImplemented", "Method Not Implemented"));
    };
    if !TYPES.contains(&mime_type) {
        return Err(ApiError::bad("UnsupportedContentType", "The MIME type is not supported"));
    }
    if VIDEO < size_bytes {
        return Err(ApiError::bad("VideoTooLarge", "The video is too large"));
    }
    if videos.left == 0 {
        return Err(ApiError::bad("DailyLimitExceeded", "You have reached your daily limit of videos"));
    }
    let id = videos.parts.start(size_bytes, part_bytes, fake.clock.now());
    Ok(Json(videos.parts.uploads[&id].plan(&id)))
}

async fn part(
    State(fake): State<Shared>,
    Bearer(token): Bearer,
    Query(PartQuery { job_id, part_number }): Query<PartQuery>,
    file: File,
) -> Result<Json<Value>, ApiError> {
    let (announced, mime_type) = (file.size_bytes, file.mime_type);
    // Always read: a client that is still writing does not read the response.
    let bytes = input::read(file.body, usize::try_from(VIDEO).unwrap_or(usize::MAX)).await;
    verify(&fake, &token)?;
    let now = fake.clock.now();
    let mut state = fake.state();
    let upload = state.videos.parts.uploads.get_mut(&job_id).ok_or_else(unknown_upload)?;
    if upload.job.is_some() {
        return Err(ApiError::bad("UploadAlreadyCompleted", "The upload is complete"));
    }
    if upload.expires_at <= now {
        return Err(ApiError::bad("UploadExpired", "The upload has expired"));
    }
    let length = upload.length(part_number);
    let length = length.ok_or_else(|| ApiError::bad("InvalidPartNumber", "There is no such part"))?;
    if mime_type != "application/octet-stream" {
        return Err(ApiError::invalid("Wrong request encoding (Content-Type)"));
    }
    let bytes = bytes.filter(|it| it.len() as u64 == length && announced == length);
    let bytes = bytes.ok_or_else(|| ApiError::bad("PartSizeMismatch", "The part has another length"))?;
    upload.parts.insert(part_number, bytes.into());
    *state.videos.parts.taken.entry((job_id, part_number)).or_default() += 1;
    Ok(Json(json!({ "partNumber": part_number, "sizeBytes": length })))
}

async fn finish(State(fake): State<Shared>, Bearer(token): Bearer, input: Input) -> Result<Json<Value>, ApiError> {
    verify(&fake, &token)?;
    let id = input.text("jobId")?;
    let mut state = fake.state();
    let Everything { videos, blobs, .. } = &mut *state;
    let upload = videos.parts.uploads.get(id).ok_or_else(unknown_upload)?;
    if let Some(failure) = upload.failure {
        return Err(ApiError::bad("UploadFailed", failure));
    }
    let job = if let Some(job) = &upload.job {
        job.clone()
    } else {
        let missing = upload.missing();
        if !missing.is_empty() {
            return Err(ApiError::bad("MissingParts", format!("Missing parts: {missing:?}")));
        }
        if let Some(left) = videos.parts.failing.checked_sub(1) {
            videos.parts.failing = left;
            let failure = "the upload could not be assembled";
            if let Some(upload) = videos.parts.uploads.get_mut(id) {
                upload.failure = Some(failure);
            }
            return Err(ApiError::bad("UploadFailed", failure));
        }
        let whole = upload.whole();
        let used_up = || ApiError::bad("DailyLimitExceeded", "You have reached your daily limit of videos");
        videos.find_or_create_job(whole, blobs).ok_or_else(used_up)?.0
    };
    if let Some(upload) = videos.parts.uploads.get_mut(id) {
        upload.job = Some(job.clone());
    }
    Ok(Json(json!({ "completedJobId": job, "jobStatus": videos.jobs[&job].status(&job) })))
}

async fn status(
    State(fake): State<Shared>,
    Bearer(token): Bearer,
    Query(JobQuery { job_id }): Query<JobQuery>,
) -> Result<Json<Value>, ApiError> {
    verify(&fake, &token)?;
    let now = fake.clock.now();
    let state = fake.state();
    let upload = state.videos.parts.uploads.get(&job_id).ok_or_else(unknown_upload)?;
    let mut status = upload.plan(&job_id);
    status["receivedParts"] = upload.parts.keys().copied().collect();
    status["state"] = match upload {
        Upload { failure: Some(_), .. } => "failed",
        Upload { job: Some(_), .. } => "completed",
        Upload { expires_at, .. } if *expires_at <= now => "expired",
        Upload { .. } => "created",
    }
    .into();
    if let Some(failure) = upload.failure {
        status["failureReason"] = failure.into();
    }
    if let Some(job) = &upload.job {
        status["completedJobId"] = job.as_str().into();
        status["jobStatus"] = state.videos.jobs[job].status(job);
    }
    Ok(Json(status))
}
