//! What `POST /media` answers.

use std::collections::BTreeMap;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

/// Marks an answer that is repeated for an idempotency key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Where to upload to, or what was fetched.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum MediumView {
    /// Where to upload to.
    Presigned(PresignedView),
    /// What was fetched.
    Fetched(FetchedView),
}

/// Where to upload to.
#[derive(Serialize, ToSchema)]
#[schema(as = PresignedUpload, example = json!({
    "upload_url": "https://media.example.com/media/7/42.png?X-Amz-Signature=0a1b",
    "upload_headers": { "content-type": "image/png", "if-none-match": "*" },
    "path": "media/7/42.png",
    "expires_in": 3600
}))]
pub(crate) struct PresignedView {
    /// Takes one PUT of the file's bytes.
    pub(crate) upload_url: String,
    /// The headers that the PUT must send, exactly these.
    pub(crate) upload_headers: BTreeMap<String, String>,
    /// The reference by which a post names the file.
    pub(crate) path: String,
    /// Seconds for which `upload_url` is good.
    pub(crate) expires_in: u64,
}

/// What was fetched.
#[derive(Serialize, ToSchema)]
#[schema(as = FetchedMedium, example = json!({
    "path": "media/7/42.png",
    "url": "https://media.example.com/media/7/42.png?X-Amz-Signature=0a1b",
    "mime_type": "image/png",
    "size": 48_203
}))]
pub(crate) struct FetchedView {
    /// The reference by which a post names the file.
    pub(crate) path: String,
    /// A link to the file that works for an hour.
    pub(crate) url: String,
    /// As declared, and as the first bytes say.
    pub(crate) mime_type: String,
    /// In bytes.
    pub(crate) size: u64,
}

/// An answer as it is sent, and stored under its idempotency key.
pub(crate) struct Answer {
    json: String,
    replayed: bool,
}

impl Answer {
    /// An answer that is given for the first time.
    pub(crate) fn new(view: &MediumView) -> Result<Self, serde_json::Error> {
        Ok(Self { json: serde_json::to_string(view)?, replayed: false })
    }

    /// A stored answer that is given again.
    pub(crate) fn replayed(json: String) -> Self {
        Self { json, replayed: true }
    }

    /// The text that is stored.
    pub(crate) fn json(&self) -> &str {
        &self.json
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let json = HeaderValue::from_static("application/json");
        let mut response = (StatusCode::CREATED, [(CONTENT_TYPE, json)], self.json).into_response();
        if self.replayed {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}
