//! The response of `POST /media`.

use std::collections::BTreeMap;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

/// Marks a response that is repeated for an idempotency key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Where to upload the file, or the file that was fetched.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum MediumView {
    /// Where to upload the file.
    Presigned(PresignedView),
    /// The file that was fetched.
    Fetched(FetchedView),
}

/// Where to upload the file.
#[derive(Serialize, ToSchema)]
#[schema(as = PresignedUpload, example = json!({
    "upload_url": "https://media.example.com/media/7/42.png?X-Amz-Signature=0a1b",
    "upload_headers": { "content-type": "image/png", "if-none-match": "*" },
    "path": "media/7/42.png",
    "expires_in": 3600
}))]
pub(crate) struct PresignedView {
    /// PUT the bytes of the file to this URL.
    pub(crate) upload_url: String,
    /// Send exactly these headers with the PUT.
    pub(crate) upload_headers: BTreeMap<String, String>,
    /// Name the file by this path in a post.
    pub(crate) path: String,
    /// Seconds until `upload_url` expires.
    pub(crate) expires_in: u64,
}

/// The file that was fetched.
#[derive(Serialize, ToSchema)]
#[schema(as = FetchedMedium, example = json!({
    "path": "media/7/42.png",
    "url": "https://media.example.com/media/7/42.png?X-Amz-Signature=0a1b",
    "mime_type": "image/png",
    "size": 48_203
}))]
pub(crate) struct FetchedView {
    /// Name the file by this path in a post.
    pub(crate) path: String,
    /// A link to the file, valid for an hour.
    pub(crate) url: String,
    /// The declared type, which the first bytes of the file match.
    pub(crate) mime_type: String,
    /// The size of the file in bytes.
    pub(crate) size: u64,
}

/// A response as it is sent, and stored under its idempotency key.
pub(crate) struct ReplayableResponse {
    json: String,
    replayed: bool,
}

impl ReplayableResponse {
    pub(crate) fn new(view: &MediumView) -> Result<Self, serde_json::Error> {
        Ok(Self { json: serde_json::to_string(view)?, replayed: false })
    }

    /// A stored response that is sent again.
    pub(crate) fn replayed(json: String) -> Self {
        Self { json, replayed: true }
    }

    /// The text that is stored.
    pub(crate) fn json(&self) -> &str {
        &self.json
    }
}

impl IntoResponse for ReplayableResponse {
    fn into_response(self) -> Response {
        let json = HeaderValue::from_static("application/json");
        let mut response = (StatusCode::CREATED, [(CONTENT_TYPE, json)], self.json).into_response();
        if self.replayed {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}
