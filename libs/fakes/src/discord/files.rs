//! Request bodies: JSON, or a form with files (reference, "Uploading Files").

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Multipart, Request};
use bytes::Bytes;
use domain::media::MimeType;
use http::{StatusCode, header};
use serde_json::{Value, json};

use super::api_error::ApiError;
use crate::fake::params::essence;

/// Maximum size of a request with files: 25 MiB.
const MAX_REQUEST: usize = 25 << 20;

/// Maximum file size in a server without boosts: 10 MiB.
const MAX_FILE: usize = 10 << 20;

pub(super) struct Body {
    pub(super) payload: Value,
    /// By `n` in `files[n]`.
    pub(super) files: BTreeMap<u64, File>,
}

pub(super) struct File {
    pub(super) name: String,
    pub(super) mime_type: MimeType,
    pub(super) bytes: Bytes,
}

impl Body {
    pub(super) async fn read(request: Request) -> Result<Self, ApiError> {
        match essence(request.headers()).as_str() {
            "application/json" => {
                let body = Bytes::from_request(request, &()).await.map_err(|_| not_json())?;
                Ok(Self { payload: parse_object(&body)?, files: BTreeMap::new() })
            }
            "multipart/form-data" => Self::read_form(request).await,
            other => {
                let message = format!("Expected \"Content-Type\" header to be one of them, not {other:?}.");
                Err(ApiError::field("_errors", "CONTENT_TYPE_INVALID", &message))
            }
        }
    }

    async fn read_form(request: Request) -> Result<Self, ApiError> {
        let length =
            request.headers().get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
        match length {
            None => return Err(ApiError::new(StatusCode::LENGTH_REQUIRED, 0, "411: Length Required")),
            Some(length) if MAX_REQUEST < length => return Err(ApiError::too_large()),
            Some(_) => {}
        }
        let broken = |_| ApiError::bad(50_035, "Invalid Form Body");
        let mut form = Multipart::from_request(request, &()).await.map_err(|_| ApiError::bad(50_035, "no boundary"))?;
        let (mut payload, mut files) = (None, BTreeMap::new());
        while let Some(part) = form.next_field().await.map_err(broken)? {
            let name = part.name().unwrap_or_default().to_owned();
            if name == "payload_json" && part.file_name().is_none() && payload.is_none() {
                payload = Some(parse_object(&part.bytes().await.map_err(broken)?)?);
                continue;
            }
            let number = name.strip_prefix("files[").and_then(|it| it.strip_suffix(']')).and_then(|it| it.parse().ok());
            let (Some(number), Some(file_name)) = (number, part.file_name().map(str::to_owned)) else {
                return Err(ApiError::field(&name, "UNKNOWN", "There is no such field, or it has no file name."));
            };
            let stated_type = part.content_type().unwrap_or_default().to_owned();
            let bytes = part.bytes().await.map_err(broken)?;
            if MAX_FILE < bytes.len() {
                return Err(ApiError::too_large());
            }
            let mime_type = MimeType::sniff(&bytes)
                .filter(|it| it.as_str() == stated_type && has_matching_extension(&file_name, *it));
            let mime_type = mime_type.ok_or_else(|| ApiError::bad(50_046, "Invalid file uploaded"))?;
            if files.insert(number, File { name: file_name, mime_type, bytes }).is_some() {
                return Err(ApiError::field(&name, "NOT_UNIQUE", "Each file must be uniquely named."));
            }
        }
        if 10 < files.len() {
            return Err(ApiError::bad(30_015, "Maximum number of attachments in a message reached (10)"));
        }
        Ok(Self { payload: payload.unwrap_or_else(|| json!({})), files })
    }
}

/// Clients choose how to display a file by its extension.
fn has_matching_extension(file_name: &str, mime_type: MimeType) -> bool {
    file_name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && end == mime_type.extension())
}

fn parse_object(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).ok().filter(Value::is_object).ok_or_else(not_json)
}

fn not_json() -> ApiError {
    ApiError::bad(50_109, "The request body contains invalid JSON.")
}
