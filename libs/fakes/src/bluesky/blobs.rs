//! Blobs: uploads and downloads.

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::json;

use super::account;
use super::api_error::ApiError;
use super::caller::{self, Caller};
use super::input::{self, File};
use super::limits::{self, Route};
use super::pds_state::Shared;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/xrpc/com.atproto.repo.uploadBlob", post(upload))
        .route("/xrpc/com.atproto.sync.getBlob", get(get_blob))
}

async fn upload(State(fake): State<Shared>, caller: Caller, file: File) -> Result<Response, ApiError> {
    let checked = caller::check_not_taken_down(&fake).and_then(|()| caller.blob(&file.mime_type));
    let limit = fake.state().blobs.limit;
    // The body is read before any refusal, because a client that is still writing
    // does not read the response.
    let max_bytes = if checked.is_ok() && file.size_bytes <= limit { limit } else { 0 };
    let bytes = input::read(file.body, usize::try_from(max_bytes).unwrap_or(usize::MAX)).await;
    checked?;
    let now = fake.clock.now();
    let mut state = fake.state();
    let allowance = limits::take(&mut state.limits, Route::UploadBlob, 1, now)?;
    let bytes = bytes.ok_or_else(ApiError::too_large)?;
    state.blobs.collect_expired(now);
    let blob = state.blobs.add(&file.mime_type, bytes.into(), now);
    Ok((allowance.headers(), Json(json!({ "blob": blob }))).into_response())
}

#[derive(Deserialize)]
struct GetBlobQuery {
    did: String,
    cid: String,
}

async fn get_blob(
    State(fake): State<Shared>,
    Query(GetBlobQuery { did, cid }): Query<GetBlobQuery>,
) -> Result<Response, ApiError> {
    let state = fake.state();
    if did != account::DID {
        return Err(ApiError::bad("RepoNotFound", format!("Could not find repo for DID: {did}")));
    }
    let found = state.blobs.get(&cid).ok_or_else(|| ApiError::bad("BlobNotFound", "Blob not found"))?;
    Ok(([(CONTENT_TYPE, found.mime_type.clone())], found.bytes.clone()).into_response())
}
