//! Pictures, videos and documents: uploads in this module, downloads in `serve`.

pub(super) mod serve;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path as FsPath;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::token;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use super::Sandbox;
use super::api_error::SandboxApiError;
use super::caller::{Caller, PUBLISH};
use super::fact::{Fact, Medium};
use super::fault_kind::FaultKind;
use super::record_calls::{CallRecorder, ResponseSummary};
use super::sandbox_state::SandboxState;

/// Maximum size of one file, in bytes.
const MAX_FILE: usize = 64 * 1024 * 1024;

/// Removes files without a fact: a process that ended during an upload left them.
pub(super) fn remove_unknown_files(media_dir: &FsPath, state: &SandboxState) -> io::Result<()> {
    for entry in std::fs::read_dir(media_dir)? {
        let entry = entry?;
        let known = entry.file_name().to_str().is_some_and(|it| state.medium(it).is_some());
        if !known && entry.file_type()?.is_file() {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Stores the body as a file of the caller.
pub(super) async fn upload_medium(
    State(sandbox): State<Sandbox>,
    Extension(call): Extension<CallRecorder>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, SandboxApiError> {
    caller.needs(PUBLISH)?;
    let mime_type = mime_type(&headers).ok_or_else(|| SandboxApiError::Malformed {
        status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
        message: "content-type must be the type of an image, a video or a PDF document".into(),
    })?;
    let mut ready_at = None;
    if let Some(fault) = call.strike(caller.account) {
        match fault.kind {
            FaultKind::MediaSlow => tokio::time::sleep(fault.delay).await,
            FaultKind::MediaProcessing => ready_at = Some(sandbox.now() + fault.delay),
            kind => {
                // The body is read to its end, because a client that is still sending would not see
                // the response.
                drain(body).await;
                caller.lose_access(&sandbox, kind)?;
                return Err(match kind {
                    FaultKind::MediaRefuse => {
                        SandboxApiError::content("file_refused", "the sandbox does not accept this file")
                    }
                    _ => SandboxApiError::Broken,
                });
            }
        }
    }
    let id = new_id();
    store(&sandbox, &id, body).await?;
    let medium = Medium { account: caller.account, mime_type, ready_at };
    sandbox.ledger().record(Fact::Uploaded { id: id.clone(), medium: medium.clone() })?;
    let summary = Extension(ResponseSummary(format!("file {id}")));
    Ok((StatusCode::CREATED, summary, show(&sandbox, &id, &medium)).into_response())
}

/// Whether posts can use a file of the caller yet.
pub(super) async fn get_own_medium(
    State(sandbox): State<Sandbox>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, SandboxApiError> {
    caller.needs(PUBLISH)?;
    let medium = sandbox.ledger().state().medium(&id).filter(|it| it.account == caller.account).cloned();
    let medium = medium.ok_or_else(|| SandboxApiError::Malformed {
        status: StatusCode::NOT_FOUND,
        message: "this account has no such file".into(),
    })?;
    Ok(show(&sandbox, &id, &medium))
}

/// A file as the API returns it to its owner.
fn show(sandbox: &Sandbox, id: &str, medium: &Medium) -> Json<Value> {
    let state = if medium.processing_time_left(sandbox.now()).is_some() { "processing" } else { "ready" };
    Json(json!({ "id": id, "url": sandbox.url(&format!("media/{id}")), "state": state }))
}

async fn drain(body: Body) {
    let mut body = body.into_data_stream();
    while let Some(Ok(_)) = body.next().await {}
}

/// Writes to a temporary file, which is deleted if the upload fails.
async fn store(sandbox: &Sandbox, id: &str, body: Body) -> Result<(), SandboxApiError> {
    let temporary = tempfile::NamedTempFile::new_in(sandbox.media_dir())?;
    let (file, path) = temporary.into_parts();
    let mut file = File::from_std(file);
    let mut body = body.into_data_stream();
    let mut size = 0;
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|_| SandboxApiError::Malformed {
            status: StatusCode::BAD_REQUEST,
            message: "the upload was interrupted".into(),
        })?;
        size += piece.len();
        if MAX_FILE < size {
            return Err(SandboxApiError::TooLarge);
        }
        file.write_all(&piece).await?;
    }
    if size == 0 {
        return Err(SandboxApiError::content("empty_file", "the file is empty"));
    }
    file.flush().await?;
    path.persist(sandbox.media_dir().join(id)).map_err(|it| it.error)?;
    Ok(())
}

/// The media type of a picture, video or document. SVG is rejected: an SVG file may have scripts, and would
/// be served from the origin of our pages.
fn mime_type(headers: &HeaderMap) -> Option<String> {
    let full = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let essence = full.split(';').next()?.trim().to_ascii_lowercase();
    let (kind, subtype) = essence.split_once('/')?;
    let is_plain = !subtype.is_empty()
        && subtype.len() <= 40
        && subtype.bytes().all(|it| it.is_ascii_alphanumeric() || b".+-".contains(&it))
        && !subtype.contains("svg");
    let is_accepted = is_plain && matches!(kind, "image" | "video") || essence == "application/pdf";
    is_accepted.then_some(essence)
}

/// Random, so that no client can guess the URL of a file before its post is public.
fn new_id() -> String {
    token::random_hex()
}
