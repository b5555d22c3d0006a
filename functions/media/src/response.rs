//! The response of `POST /media`.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use contract::MediumView;
use http::{HeaderName, HeaderValue, StatusCode};

/// Marks a response that is repeated for an idempotency key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

pub(crate) struct ReplayableResponse {
    json: String,
    replayed: bool,
}

impl ReplayableResponse {
    pub(crate) fn new(view: &MediumView) -> Result<Self, serde_json::Error> {
        Ok(Self { json: serde_json::to_string(view)?, replayed: false })
    }

    pub(crate) fn replayed(json: String) -> Self {
        Self { json, replayed: true }
    }

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
