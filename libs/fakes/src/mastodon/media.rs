//! Uploads, and polling until the files are ready.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use domain::media::MimeType;
use http::{StatusCode, header};
use serde_json::Value;

use super::account::authorize;
use super::api_error::ApiError;
use super::flavor::SecondUpload;
use super::instance::media::Medium;
use super::instance::{Instance, InstanceState, Memory};
use crate::fake::params::{essence, parts};

/// The accepted types. Audio is left out, because no test uploads any.
pub(crate) const TYPES: [&str; 11] = [
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/heic",
    "image/heif",
    "image/webp",
    "image/avif",
    "video/webm",
    "video/mp4",
    "video/quicktime",
    "video/ogg",
];

/// `POST /api/v1/media`: the returned file is ready.
pub(crate) async fn upload_v1(State(instance): InstanceState, request: Request) -> Result<Json<Value>, ApiError> {
    let medium = read_upload(&instance, request).await?;
    let view = medium.view(instance.base_url());
    instance.memory().media.push(medium);
    Ok(Json(view))
}

/// `POST /api/v2/media`: a large file is processed later.
pub(crate) async fn upload(State(instance): InstanceState, request: Request) -> Result<Response, ApiError> {
    if instance.differences.second_upload == SecondUpload::Absent {
        return Err(ApiError::not_found());
    }
    let mut medium = read_upload(&instance, request).await?;
    let mut memory = instance.memory();
    let large = medium.is_video() || medium.mime_type == "image/gif";
    let mut status = StatusCode::OK;
    let mut view = medium.view(instance.base_url());
    match instance.differences.second_upload {
        SecondUpload::LargeLater if large => {
            medium.polls_left = memory.polls_until_ready;
            status = StatusCode::ACCEPTED;
            view["url"] = Value::Null;
        }
        SecondUpload::WithoutUrl => view["url"] = Value::Null,
        SecondUpload::AlwaysAccepted => status = StatusCode::ACCEPTED,
        SecondUpload::LargeLater | SecondUpload::Absent => {}
    }
    memory.media.push(medium);
    Ok((status, Json(view)).into_response())
}

/// `GET /api/v1/media/{id}`: 206 until it is ready.
pub(crate) async fn show(
    State(instance): InstanceState,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let now = instance.clock.now();
    let mut memory = instance.memory();
    authorize(&memory, request.headers(), &["write", "write:media"], now)?;
    let medium = find(&mut memory, &id, now).ok_or_else(ApiError::not_found)?;
    if medium.failed {
        return Err(ApiError::unprocessable("Error processing thumbnail for uploaded media"));
    }
    let status = if medium.is_ready() { StatusCode::OK } else { StatusCode::PARTIAL_CONTENT };
    let view = medium.view(instance.base_url());
    medium.polls_left = medium.polls_left.saturating_sub(1);
    Ok((status, Json(view)).into_response())
}

/// The file with this id, if no status uses it yet.
pub(crate) fn find<'a>(memory: &'a mut Memory, id: &str, now: DateTime<Utc>) -> Option<&'a mut Medium> {
    memory.media.iter_mut().find(|it| it.id.to_string() == id && it.is_free(now))
}

/// Reads the form with the file, and refuses invalid ones.
async fn read_upload(instance: &Arc<Instance>, request: Request) -> Result<Medium, ApiError> {
    authorize(&instance.memory(), request.headers(), &["write", "write:media"], instance.clock.now())?;
    if !request.headers().contains_key(header::CONTENT_LENGTH) {
        return Err(ApiError::page(StatusCode::LENGTH_REQUIRED, "411 Length Required"));
    }
    let form = Form::read(request).await?;
    let Some((mime_type, bytes)) = form.file else {
        return Err(ApiError::invalid("File can't be blank"));
    };
    check_file(instance, &mime_type, &bytes)?;
    let longest = instance.differences.description_limit;
    if form.description.as_ref().is_some_and(|it| longest < it.chars().count()) {
        return Err(ApiError::invalid(format!("Description is too long (maximum is {longest} characters)")));
    }
    let now = instance.clock.now();
    Ok(Medium {
        id: instance.memory().next_id(now),
        mime_type,
        bytes,
        description: form.description,
        uploaded_at: now,
        polls_left: 0,
        failed: false,
        attached: false,
    })
}

fn check_file(instance: &Instance, mime_type: &str, bytes: &Bytes) -> Result<(), ApiError> {
    if !TYPES.contains(&mime_type) {
        return Err(ApiError::invalid("File content type is invalid, File is invalid"));
    }
    let is_what_it_says = MimeType::parse(mime_type).is_none_or(|it| it.matches(bytes));
    if !is_what_it_says {
        return Err(ApiError::invalid("File has contents that are not what they are reported to be, File is invalid"));
    }
    if instance.differences.matrix_limit.is_some_and(|it| it < pixels(mime_type, bytes)) {
        return Err(ApiError::unprocessable("Validation failed: images of so many pixels are not supported"));
    }
    let is_video = mime_type.starts_with("video/");
    let limit = if is_video { instance.differences.video_limit } else { instance.differences.image_limit };
    if limit <= bytes.len() {
        let limit = format!("{} MB", limit >> 20);
        return Err(ApiError::invalid(format!(
            "File file size must be less than {limit}, File must be less than {limit}"
        )));
    }
    Ok(())
}

/// Number of pixels in the header of a PNG; 0 for any other file.
fn pixels(mime_type: &str, bytes: &Bytes) -> u64 {
    let side = |at: usize| bytes.get(at..at + 4).and_then(|it| it.try_into().ok()).map_or(0, u32::from_be_bytes);
    if mime_type == "image/png" { u64::from(side(16)) * u64::from(side(20)) } else { 0 }
}

#[derive(Default)]
struct Form {
    file: Option<(String, Bytes)>,
    description: Option<String>,
}

impl Form {
    /// A form of another content type has no file, and a part without a filename is not a file.
    async fn read(request: Request) -> Result<Self, ApiError> {
        let mut form = Self::default();
        if essence(request.headers()) != "multipart/form-data" {
            return Ok(form);
        }
        let broken = "Error occurred while parsing request parameters";
        for part in parts(request).await.map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, broken))? {
            match part.name.as_str() {
                "file" if part.file_name.as_ref().is_some_and(|it| !it.is_empty()) => {
                    form.file = Some((part.mime_type.to_ascii_lowercase(), part.bytes));
                }
                "description" => form.description = Some(part.text()),
                _ => {}
            }
        }
        Ok(form)
    }
}
