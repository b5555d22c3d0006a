//! The video service, which no real server of the tests has: tokens for one of its methods, limits,
//! uploads of whole files, and jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::api_error::{ApiError, ApiResult};
use super::caller::Caller;
use super::{Bluesky, Fake, Memory, PDS_DID, repo};
use crate::fake::oauth::secret;
use crate::fake::params::{bearer, essence};

/// The method whose token allows uploads.
pub(super) const UPLOAD: &str = "com.atproto.repo.uploadBlob";

const LIMITS: &str = "app.bsky.video.getUploadLimits";

/// Maximum size of a video, in bytes.
pub(super) const MAX_BYTES: u64 = 300_000_000;

/// Accepted types. The service converts all of them to MP4.
///
/// Source: `SUPPORTED_MIME_TYPES` of `bluesky-social/social-app`.
pub(super) const TYPES: [&str; 5] = ["video/mp4", "video/mpeg", "video/webm", "video/quicktime", "image/gif"];

/// A token with which the account calls one method of another service.
pub(super) struct ServiceToken {
    audience: String,
    method: String,
    /// In seconds since 1970.
    ends_at: i64,
}

pub(super) struct Job {
    cid: String,
    bytes: Bytes,
    polls_left: usize,
    outcome: Outcome,
}

enum Outcome {
    Pending,
    Done(Value),
    /// `None` for a service from before July 2026, without codes.
    Failed(Option<&'static str>),
}

type Parameters = Query<BTreeMap<String, String>>;

pub(super) fn routes() -> Router<Arc<Fake>> {
    Router::new()
        .route("/xrpc/com.atproto.server.getServiceAuth", get(issue_token))
        .route("/xrpc/app.bsky.video.getUploadLimits", get(limits))
        .route("/xrpc/app.bsky.video.uploadVideo", post(upload))
        .route("/xrpc/app.bsky.video.getJobStatus", get(status))
}

/// A call of the data server. A token is valid for an hour at most.
async fn issue_token(State(fake): State<Arc<Fake>>, caller: Caller, Query(query): Parameters) -> ApiResult {
    let text = |name: &str| query.get(name).cloned().unwrap_or_default();
    caller.require(&format!("rpc:{}?aud=*", text("lxm")))?;
    let now = fake.clock.now().timestamp();
    let ends_at = text("exp").parse().unwrap_or(now + 60);
    if !(now..=now + 3600).contains(&ends_at) {
        return Err(ApiError::bad("BadExpiration", "cannot request a token with this expiration"));
    }
    let (token, issued) = (secret(), ServiceToken { audience: text("aud"), method: text("lxm"), ends_at });
    fake.memory().service_tokens.insert(token.clone(), issued);
    Ok(Json(json!({ "token": token })))
}

impl Fake {
    pub(super) fn check_service_token(&self, headers: &HeaderMap, method: &str) -> Result<(), ApiError> {
        let now = self.clock.now().timestamp();
        let memory = self.memory();
        let token = bearer(headers).and_then(|it| memory.service_tokens.get(it));
        match token {
            Some(it) if it.audience == PDS_DID && it.method == method && now < it.ends_at => Ok(()),
            Some(_) => Err(ApiError::unauthorized("BadJwt", "the token is for another call, or expired")),
            None => Err(ApiError::unauthorized("MissingJwt", "missing jwt")),
        }
    }
}

async fn limits(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> ApiResult {
    fake.check_service_token(&headers, LIMITS)?;
    let left = fake.memory().settings.videos_left;
    let mut limits = json!({
        "canUpload": 0 < left,
        "remainingDailyVideos": left,
        "remainingDailyBytes": 10_000_000_000_u64,
    });
    if left == 0 {
        limits["error"] = "rate_limit_exceeded".into();
        limits["message"] = "You have reached your daily limit of videos".into();
    }
    Ok(Json(limits))
}

/// Accepts a video with the token that stores it in the account's data server.
async fn upload(
    State(fake): State<Arc<Fake>>,
    Query(query): Parameters,
    headers: HeaderMap,
    bytes: Bytes,
) -> Result<Response, ApiError> {
    fake.check_service_token(&headers, UPLOAD)?;
    let is_ours = query.get("did").is_some_and(|it| it == Bluesky::DID);
    let has_name = query.get("name").is_some_and(|it| !it.is_empty());
    let is_supported = TYPES.contains(&essence(&headers).as_str()) && headers.contains_key(CONTENT_LENGTH);
    if !is_ours || !has_name || !is_supported {
        return Err(ApiError::invalid("a video with a name is expected"));
    }
    if MAX_BYTES < bytes.len() as u64 {
        return Err(ApiError::too_large());
    }
    let mut memory = fake.memory();
    let used_up = || ApiError::bad("rate_limit_exceeded", "You have reached your daily limit of videos");
    let (id, is_new) = memory.find_or_create_job(bytes).ok_or_else(used_up)?;
    let mut status = memory.jobs[&id].status(&id);
    if is_new {
        status["state"] = "JOB_STATE_CREATED".into();
        let response = if memory.settings.follows_lexicon { json!({ "jobStatus": status }) } else { status };
        return Ok(Json(response).into_response());
    }
    // Only job status responses contain the finished blob.
    status.as_object_mut().and_then(|it| it.remove("blob"));
    status["error"] = "already_exists".into();
    status["message"] = "Video already processed".into();
    Ok((StatusCode::CONFLICT, Json(status)).into_response())
}

/// Each status request advances the job by one step. The last step stores the file in the data
/// server.
async fn status(State(fake): State<Arc<Fake>>, Query(query): Parameters) -> ApiResult {
    let id = query.get("jobId").map_or("", String::as_str);
    let mut memory = fake.memory();
    let Memory { settings, jobs, .. } = &mut *memory;
    let job = jobs.get_mut(id).ok_or_else(|| ApiError::bad("job_not_found", "Job not found"))?;
    if let (Outcome::Pending, Some(left)) = (&job.outcome, job.polls_left.checked_sub(1)) {
        job.polls_left = left;
    } else if let Outcome::Pending = job.outcome {
        let (failures, code) = settings.failing_jobs;
        settings.failing_jobs.0 = failures.saturating_sub(1);
        let bytes = job.bytes.clone();
        let outcome = match failures {
            0 => Outcome::Done(memory.add_blob("video/mp4", bytes, fake.clock.now())),
            _ => Outcome::Failed(code),
        };
        memory.finish_job(id, outcome);
    }
    Ok(Json(json!({ "jobStatus": memory.jobs[id].status(id) })))
}

impl Memory {
    /// The existing job of a file, or a new one, which counts against the quota. Returns its id and
    /// whether it is new; `None` when the quota is used up.
    pub(super) fn find_or_create_job(&mut self, bytes: Bytes) -> Option<(String, bool)> {
        let cid = repo::cid("bafkrei", &bytes);
        let is_same = |it: &Job| {
            it.cid == cid
                && match it.outcome {
                    Outcome::Pending => true,
                    Outcome::Done(_) => self.blobs.contains_key(&cid),
                    Outcome::Failed(_) => false,
                }
        };
        if let Some((id, _)) = self.jobs.iter().find(|(_, it)| is_same(it)) {
            return Some((id.clone(), false));
        }
        self.settings.videos_left = self.settings.videos_left.checked_sub(1)?;
        let job = Job { cid, bytes, polls_left: self.settings.video_polls, outcome: Outcome::Pending };
        let id = secret();
        self.jobs.insert(id.clone(), job);
        Some((id, true))
    }

    fn finish_job(&mut self, id: &str, outcome: Outcome) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.outcome = outcome;
        }
    }

    /// Makes a job fail because its file is not a playable video.
    pub(super) fn fail_job(&mut self, id: &str) {
        self.finish_job(id, Outcome::Failed(Some("validation_failure")));
    }
}

impl Job {
    pub(super) fn status(&self, id: &str) -> Value {
        let mut status = json!({ "jobId": id, "did": Bluesky::DID, "state": "JOB_STATE_ENCODING", "progress": 50 });
        match &self.outcome {
            Outcome::Pending => {}
            Outcome::Done(blob) => {
                status["state"] = "JOB_STATE_COMPLETED".into();
                status["blob"] = blob.clone();
            }
            Outcome::Failed(code) => {
                status["state"] = "JOB_STATE_FAILED".into();
                status["error"] = code.unwrap_or("Job failed").into();
                if let Some(code) = code {
                    status["failureCode"] = (*code).into();
                }
                let is_invalid = *code == Some("validation_failure");
                let message = if is_invalid {
                    "The video could not be validated"
                } else {
                    "Failed to process a video of this size"
                };
                status["message"] = message.into();
            }
        }
        status
    }
}
