//! The video service.

use axum::extract::{FromRequestParts, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::caller;
use super::embed::VIDEO;
use super::input::{self, File};
use super::pds_state::videos::Work;
use super::pds_state::{Shared, State as Everything};
use super::{account, service};

/// The video service's DID.
const DID: &str = "did:web:video.bsky.app";

/// Accepted types. The service converts all of them to MP4.
///
/// Source: `SUPPORTED_MIME_TYPES` of `bluesky-social/social-app`.
pub(super) const TYPES: [&str; 5] = ["video/mp4", "video/mpeg", "video/webm", "video/quicktime", "image/gif"];

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/xrpc/app.bsky.video.getUploadLimits", get(limits))
        .route("/xrpc/app.bsky.video.uploadVideo", post(upload))
        .route("/xrpc/app.bsky.video.getJobStatus", get(status))
}

/// The bearer token of a request to this service.
pub(super) struct Bearer(pub(super) String);

impl FromRequestParts<Shared> for Bearer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, ApiError> {
        match caller::credentials(parts)? {
            (scheme, token) if scheme.eq_ignore_ascii_case("bearer") => Ok(Self(token.to_owned())),
            _ => Err(ApiError::unauthorized("MissingJwt", "missing jwt")),
        }
    }
}

async fn limits(State(fake): State<Shared>, Bearer(token): Bearer) -> Result<Response, ApiError> {
    // The token may be for the service's own DID, or for the DID of its host, which
    // is the data server's in the fake.
    let method = "app.bsky.video.getUploadLimits";
    service::verify(&fake, &token, DID, method).or_else(|_| service::verify(&fake, &token, &fake.pds_did(), method))?;
    if !fake.state().account.confirmed {
        let (error, message) = ("unconfirmed_email", "Confirm your email address to upload videos");
        let limits = json!({ "canUpload": false, "error": error, "message": message });
        return Ok((StatusCode::UNAUTHORIZED, Json(limits)).into_response());
    }
    let left = fake.state().videos.left;
    let mut limits = json!({
        "canUpload": 0 < left,
        "remainingDailyVideos": left,
        "remainingDailyBytes": 10_000_000_000_u64,
    });
    if left == 0 {
        limits["error"] = "rate_limit_exceeded".into();
        limits["message"] = "You have reached your daily limit of videos".into();
    }
    Ok(Json(limits).into_response())
}

#[derive(Deserialize)]
struct UploadQuery {
    did: String,
    name: String,
}

/// Accepts a video with the token that stores it in the account's data server.
async fn upload(
    State(fake): State<Shared>,
    Bearer(token): Bearer,
    Query(UploadQuery { did, name }): Query<UploadQuery>,
    file: File,
) -> Result<Response, ApiError> {
    let checked = service::verify(&fake, &token, &fake.pds_did(), "com.atproto.repo.uploadBlob").and_then(|()| {
        if did != account::DID {
            Err(ApiError::unauthorized("AuthenticationRequired", "the token is of another account"))
        } else if name.is_empty() || !TYPES.contains(&file.mime_type.as_str()) {
            Err(ApiError::invalid("a video with a name is expected"))
        } else {
            Ok(())
        }
    });
    let max_bytes = if checked.is_ok() && file.size_bytes <= VIDEO { VIDEO } else { 0 };
    let bytes = input::read(file.body, usize::try_from(max_bytes).unwrap_or(usize::MAX)).await;
    checked?;
    let bytes = bytes.ok_or_else(ApiError::too_large)?;

    let mut state = fake.state();
    let Everything { videos, blobs, .. } = &mut *state;
    blobs.collect_expired(fake.clock.now());
    let used_up = || ApiError::bad("rate_limit_exceeded", "You have reached your daily limit of videos");
    let (id, is_new) = videos.find_or_create_job(bytes.into(), blobs).ok_or_else(used_up)?;
    let mut status = videos.jobs[&id].status(&id);
    if is_new {
        status["state"] = "JOB_STATE_CREATED".into();
        status["progress"] = 0.into();
        let answer = if videos.by_lexicon { json!({ "jobStatus": status }) } else { status };
        return Ok(Json(answer).into_response());
    }
    // Only job status responses contain the finished blob.
    if let Some(fields) = status.as_object_mut() {
        fields.remove("blob");
    }
    status["error"] = "already_exists".into();
    status["message"] = "Video already processed".into();
    Ok((StatusCode::CONFLICT, Json(status)).into_response())
}

#[derive(Deserialize)]
struct JobQuery {
    #[serde(rename = "jobId")]
    job_id: String,
}

/// Each status request advances the job by one step. The last step stores the file in
/// the data server.
async fn status(
    State(fake): State<Shared>,
    Query(JobQuery { job_id }): Query<JobQuery>,
) -> Result<Json<Value>, ApiError> {
    let now = fake.clock.now();
    let mut state = fake.state();
    let Everything { videos, blobs, .. } = &mut *state;
    let unknown = || ApiError::bad("job_not_found", "Job not found");
    let is_last = match &mut videos.jobs.get_mut(&job_id).ok_or_else(unknown)?.work {
        Work::Encoding { polls_left: 0, .. } => true,
        Work::Encoding { polls_left, .. } => {
            *polls_left -= 1;
            false
        }
        Work::Done { .. } | Work::Failed { .. } => false,
    };
    let failure = if is_last { videos.take_failure() } else { None };
    let job = videos.jobs.get_mut(&job_id).ok_or_else(unknown)?;
    if let (true, Work::Encoding { bytes, .. }) = (is_last, &job.work) {
        job.work = match failure {
            Some(code) => Work::Failed { code },
            None => Work::Done { blob: blobs.add_as("video/mp4", bytes.clone(), now) },
        };
    }
    Ok(Json(json!({ "jobStatus": job.status(&job_id) })))
}
