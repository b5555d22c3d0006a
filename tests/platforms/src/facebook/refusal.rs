//! Answers to calls that do not do what they were to do.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

/// What a call answers that is not carried out.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    body: Value,
    /// After how many minutes calls are taken again.
    minutes: Option<i64>,
}

impl Refusal {
    /// This status with this body.
    pub(super) fn with(status: u16, body: Value) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, body, minutes: None }
    }

    /// An error of this code and subcode.
    pub(super) fn of(status: u16, code: i64, subcode: Option<i64>, message: &str) -> Self {
        let mut error = json!({
            "message": message,
            "type": "OAuthException",
            "code": code,
            "fbtrace_id": "AXq7hTq4bKQ0fEJzqJ3sFlm",
        });
        if let Some(subcode) = subcode {
            error["error_subcode"] = subcode.into();
        }
        Self::with(status, json!({ "error": error }))
    }

    /// "Invalid parameter"
    pub(super) fn invalid(message: &str) -> Self {
        Self::of(400, 100, None, &format!("(#100) {message}"))
    }

    /// The same with words for users.
    pub(super) fn for_users(code: i64, subcode: i64, message: &str) -> Self {
        let mut refusal = Self::of(400, code, Some(subcode), "Invalid parameter");
        refusal.body["error"]["error_user_title"] = "Cannot publish".into();
        refusal.body["error"]["error_user_msg"] = message.into();
        refusal
    }

    /// There is nothing by this id, or it may not be seen.
    pub(super) fn not_found(id: &str) -> Self {
        let words = format!(
            "Unsupported get request. Object with ID '{id}' does not exist, cannot be loaded due to missing \
             permissions, or does not support this operation"
        );
        Self::of(400, 100, Some(33), &words)
    }

    /// A token that is of no use any more.
    pub(super) fn token(subcode: Option<i64>) -> Self {
        Self::of(400, 190, subcode, "Error validating access token")
    }

    /// "(#200) …"
    pub(super) fn permission(code: i64, permission: &str) -> Self {
        let words = format!("(#{code}) This endpoint requires the '{permission}' permission to be granted");
        Self::of(403, code, None, &words)
    }

    /// Too many calls of a Page.
    pub(super) fn too_many(minutes: i64) -> Self {
        let mut refusal = Self::of(400, 32, None, "(#32) Page request limit reached");
        refusal.minutes = Some(minutes);
        refusal
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self { status, body, minutes } = self;
        let Some(minutes) = minutes else { return (status, Json(body)).into_response() };
        (status, [usage(100, minutes)], Json(body)).into_response()
    }
}

/// What a Page's calls say of how many were made.
pub(super) fn usage(percent: u64, minutes: i64) -> (&'static str, String) {
    let said = json!({ super::PAGE: [{
        "type": "pages", "call_count": percent, "total_cputime": 1, "total_time": 2,
        "estimated_time_to_regain_access": minutes,
    }] });
    ("x-business-use-case-usage", said.to_string())
}
