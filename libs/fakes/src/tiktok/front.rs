//! Injected faults.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::Method;
use http::request::Parts;
use serde_json::{Value, json};

use super::init::{DIRECT_VIDEO, INBOX_VIDEO, PHOTOS};
use super::posts::STATUS;
use super::{Fake, LOG_ID, refusal, upload};
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::fake::oauth::{Authorizes, Fault, classify_token_call};

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] = &["/error/message", "/error_description"];

    /// The last chunk of a video starts the posting process.
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let is_incomplete = || {
            let body: Value = serde_json::from_slice(body).unwrap_or_default();
            let is_it = |id: &str| body["publish_id"] == id;
            self.memory().posts.iter().any(|it| is_it(&it.publish_id) && it.received_at.is_none())
        };
        let is_last_chunk = || upload::range(&head.headers).is_some_and(|(_, end, total)| end == total);
        match (&head.method, head.uri.path()) {
            (&Method::POST, "/v2/oauth/token/") => Some(classify_token_call(head, body)),
            (&Method::POST, "/v2/oauth/revoke/") => Some(Call::Revoke),
            (&Method::GET, "/v2/user/info/") => Some(Call::Account),
            (&Method::POST, PHOTOS) => Some(Call::Publish),
            (&Method::PUT, upload::PATH) if is_last_chunk() => Some(Call::Publish),
            (&Method::PUT, upload::PATH) | (&Method::POST, DIRECT_VIDEO | INBOX_VIDEO) => Some(Call::Upload),
            (&Method::POST, STATUS) if is_incomplete() => Some(Call::Process),
            (&Method::POST, STATUS | "/v2/video/list/") => Some(Call::LookUp),
            _ => None,
        }
    }

    /// The documentation has no header that names when a limit ends.
    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        let (status, Json(body)) = match (call, fault) {
            (Call::Exchange | Call::Refresh, InjectedFault::Refused) => return self.refusal(Fault::InvalidGrant("")),
            (_, InjectedFault::RateLimited { .. }) => refusal(429, "rate_limit_exceeded", "Please try again later."),
            (_, InjectedFault::Unavailable) => refusal(503, "internal_error", "Please try again later."),
            (Call::Upload, InjectedFault::Refused) => {
                refusal(400, "invalid_file_upload", "The uploaded file does not meet API specifications.")
            }
            (_, InjectedFault::Refused) => {
                refusal(403, "spam_risk_user_banned_from_posting", "The user is banned from making new posts.")
            }
            _ => refusal(500, "internal_error", "TikTok server or network error."),
        };
        let error = &body["error"];
        let flat = json!({ "error": error["code"], "error_description": error["message"], "log_id": LOG_ID });
        let is_oauth = matches!(call, Call::Exchange | Call::Refresh | Call::Revoke);
        (status, Json(if is_oauth { flat } else { body })).into_response()
    }

    fn inject_fault(&self, _: &Parts) {
        self.memory().fail_reason = Some("file_format_check_failed".to_owned());
    }
}
