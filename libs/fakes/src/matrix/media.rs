//! The content repository.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::{Fake, MAX_FILE_BYTES};
use crate::fake::params::essence;

pub(super) struct File {
    pub(super) mime_type: String,
    pub(super) bytes: Bytes,
}

/// `GET /_matrix/client/v1/media/config`
pub(super) async fn config(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> Result<Json<Value>, ApiError> {
    fake.memory().device(&headers, fake.clock.now())?;
    Ok(Json(json!({ "m.upload.size": MAX_FILE_BYTES })))
}

/// `POST /_matrix/media/v3/upload`
pub(super) async fn upload(
    State(fake): State<Arc<Fake>>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Result<Json<Value>, ApiError> {
    let mut memory = fake.memory();
    memory.device(&headers, fake.clock.now())?;
    if query.iter().any(|(name, _)| name != "filename") {
        return Err(ApiError::parameter("there is no such parameter"));
    }
    // Synapse requires the length in advance.
    if !headers.contains_key(header::CONTENT_LENGTH) {
        return Err(ApiError::new(400, "M_UNKNOWN", "Request must specify a Content-Length"));
    }
    if MAX_FILE_BYTES < bytes.len() {
        return Err(ApiError::new(413, "M_TOO_LARGE", "Upload request body is too large"));
    }
    let uri = format!("mxc://lighthouse.example/file-{}", memory.next());
    memory.files.insert(uri.clone(), File { mime_type: essence(&headers), bytes });
    Ok(Json(json!({ "content_uri": uri })))
}
