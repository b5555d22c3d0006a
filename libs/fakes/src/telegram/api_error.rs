//! Error responses.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct ApiError {
    code: u16,
    description: String,
    parameters: Option<Value>,
}

impl ApiError {
    pub(super) fn new(code: u16, description: &str) -> Self {
        Self { code, description: description.to_owned(), parameters: None }
    }

    pub(super) fn bad(description: &str) -> Self {
        Self::new(400, &format!("Bad Request: {description}"))
    }

    pub(super) fn too_many(seconds: i64) -> Self {
        let description = format!("Too Many Requests: retry after {seconds}");
        Self { parameters: Some(json!({ "retry_after": seconds })), ..Self::new(429, &description) }
    }

    pub(super) fn moved(to: i64) -> Self {
        let refusal = Self::bad("group chat was upgraded to a supergroup chat");
        Self { parameters: Some(json!({ "migrate_to_chat_id": to })), ..refusal }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut body = json!({ "ok": false, "error_code": self.code, "description": self.description });
        if let Some(parameters) = self.parameters {
            body["parameters"] = parameters;
        }
        (StatusCode::from_u16(self.code).unwrap_or(StatusCode::BAD_REQUEST), Json(body)).into_response()
    }
}
