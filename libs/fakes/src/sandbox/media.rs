//! Pictures, videos and documents: uploads in this module, downloads in `serve`.

pub(super) mod serve;

use std::io;
use std::path::Path as FsPath;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use domain::token;
use serde_json::{Value, json};

use super::Sandbox;
use super::api_error::SandboxApiError;
use super::caller::Caller;
use super::fact::{Fact, Medium};
use super::ledger::Ledger;
use super::oauth::PUBLISH;
use crate::fake::params::essence;

/// In bytes.
pub(super) const MAX_FILE: usize = 64 * 1024 * 1024;

#[derive(Clone, Copy)]
pub(super) struct ProcessingTime(pub(super) Duration);

/// A process that ended during an upload left files without a fact.
pub(super) fn remove_unknown_files(media_dir: &FsPath, ledger: &Ledger) -> io::Result<()> {
    for entry in std::fs::read_dir(media_dir)? {
        let entry = entry?;
        let known = entry.file_name().to_str().is_some_and(|it| ledger.medium(it).is_some());
        if !known && entry.file_type()?.is_file() {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

pub(super) async fn upload_medium(
    State(sandbox): State<Sandbox>,
    processing: Option<Extension<ProcessingTime>>,
    caller: Caller,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), SandboxApiError> {
    caller.needs(PUBLISH)?;
    let mime_type = essence(&headers);
    if !is_accepted(&mime_type) {
        let message = "content-type must be the type of an image, a video or a PDF document";
        return Err(SandboxApiError::malformed(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    if body.is_empty() {
        return Err(SandboxApiError::content("empty_file", "the file is empty"));
    }
    let ready_at = processing.map(|Extension(ProcessingTime(time))| sandbox.now() + time);
    // Random, so that no client can guess the URL of a file before its post is public.
    let id = token::random_hex();
    tokio::fs::write(sandbox.media_dir().join(&id), body).await?;
    let medium = Medium { account: caller.account, mime_type, ready_at };
    sandbox.ledger().record(Fact::Uploaded { id: id.clone(), medium: medium.clone() })?;
    Ok((StatusCode::CREATED, show(&sandbox, &id, &medium)))
}

pub(super) async fn get_own_medium(
    State(sandbox): State<Sandbox>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, SandboxApiError> {
    caller.needs(PUBLISH)?;
    let medium = sandbox.ledger().medium(&id).filter(|it| it.account == caller.account).cloned();
    let not_found = || SandboxApiError::malformed(StatusCode::NOT_FOUND, "this account has no such file");
    Ok(show(&sandbox, &id, &medium.ok_or_else(not_found)?))
}

fn show(sandbox: &Sandbox, id: &str, medium: &Medium) -> Json<Value> {
    let state = if medium.processing_time_left(sandbox.now()).is_some() { "processing" } else { "ready" };
    Json(json!({ "id": id, "url": sandbox.url(&format!("media/{id}")), "state": state }))
}

/// Pictures, videos and documents. SVG is rejected: an SVG file may have scripts, and would be
/// served from the origin of our pages.
fn is_accepted(mime_type: &str) -> bool {
    let Some((kind, subtype)) = mime_type.split_once('/') else { return false };
    let is_plain = (1..=40).contains(&subtype.len())
        && subtype.bytes().all(|it| it.is_ascii_alphanumeric() || b".+-".contains(&it))
        && !subtype.contains("svg");
    is_plain && matches!(kind, "image" | "video") || mime_type == "application/pdf"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An SVG can contain a script, which would run on our origin.
    #[test]
    fn only_files_without_scripts_are_accepted() {
        assert!(is_accepted("image/png") && is_accepted("application/pdf"));
        for mime_type in ["image/svg+xml", "text/html", "image/", "image"] {
            assert!(!is_accepted(mime_type), "{mime_type}");
        }
    }
}
