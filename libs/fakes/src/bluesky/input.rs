//! Request bodies of the data server.

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use serde_json::Value;

use super::api_error::ApiError;

/// Maximum length of a JSON body, in bytes.
const LIMIT: usize = 1_000_000;

/// A body that is a JSON object.
pub(super) struct Input(pub(super) Value);

impl Input {
    /// A required string field.
    pub(super) fn text(&self, name: &str) -> Result<&str, ApiError> {
        text(&self.0, name)
    }
}

/// A required string field of an object.
pub(super) fn text<'a>(object: &'a Value, name: &str) -> Result<&'a str, ApiError> {
    let missing = || ApiError::invalid(format!("Input must have the property \"{name}\""));
    object[name].as_str().ok_or_else(missing)
}

impl<S: Send + Sync> FromRequest<S> for Input {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        if kind.split(';').next() != Some("application/json") {
            return Err(ApiError::invalid(format!("Wrong request encoding (Content-Type): {kind}")));
        }
        let body = read(request.into_body(), LIMIT).await.ok_or_else(ApiError::too_large)?;
        match serde_json::from_slice(&body) {
            Ok(value @ Value::Object(_)) => Ok(Self(value)),
            _ => Err(ApiError::invalid("Input must be a JSON object")),
        }
    }
}

/// Reads a body; `None` when it is longer than `limit` bytes. A longer body is still
/// read to the end, because a client that is still writing does not read the response.
pub(super) async fn read(body: Body, limit: usize) -> Option<Vec<u8>> {
    use futures::StreamExt;

    let mut read = Some(Vec::new());
    let mut chunks = body.into_data_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        read = read.filter(|it| it.len() + chunk.len() <= limit);
        if let Some(read) = &mut read {
            read.extend_from_slice(&chunk);
        }
    }
    read
}

pub(super) struct File {
    pub(super) mime_type: String,
    pub(super) body: Body,
    /// From `Content-Length`.
    pub(super) size_bytes: u64,
}

impl<S: Send + Sync> FromRequest<S> for File {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let header = |name| request.headers().get(name).and_then(|it| it.to_str().ok());
        let mime_type = header(CONTENT_TYPE).map(|it| it.split(';').next().unwrap_or(it).trim().to_owned());
        let size_bytes = header(CONTENT_LENGTH).and_then(|it| it.parse().ok());
        let body = request.into_body();
        let missing = |what: &str| ApiError::invalid(format!("Request {what} is missing"));
        let mime_type = mime_type.filter(|it| it.contains('/')).ok_or_else(|| missing("encoding (Content-Type)"))?;
        let size_bytes = size_bytes.ok_or_else(|| missing("length (Content-Length)"))?;
        Ok(Self { mime_type, body, size_bytes })
    }
}
