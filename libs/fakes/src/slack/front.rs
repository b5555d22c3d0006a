//! Injected faults.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;

use super::Fake;
use super::api_error::ApiError;
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::fake::oauth::classify_token_call;

impl FaultInjection for Fake {
    /// Errors are codes.
    const HAS_MESSAGES: bool = false;

    /// The two upload calls differ in kind, so that a test can fail either: the announcement counts
    /// as processing, which Slack does not have.
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let path = head.uri.path();
        match path.strip_prefix("/api/") {
            None if path.starts_with("/upload/") => Some(Call::Upload),
            Some("oauth.v2.access") => Some(classify_token_call(head, body)),
            Some("auth.revoke") => Some(Call::Revoke),
            Some("files.getUploadURLExternal") => Some(Call::Process),
            Some("chat.postMessage" | "files.completeUploadExternal") => Some(Call::Publish),
            Some("conversations.history" | "conversations.replies" | "files.info") => Some(Call::LookUp),
            Some("auth.test" | "team.info") => Some(Call::Account),
            None | Some(_) => None,
        }
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        match (call, fault) {
            (_, InjectedFault::RateLimited { retry_after }) => {
                ApiError::too_many(retry_after.num_seconds()).into_response()
            }
            (_, InjectedFault::Unavailable) => ApiError::unavailable().into_response(),
            (Call::Upload, InjectedFault::Refused) => (StatusCode::BAD_REQUEST, "it is not wanted").into_response(),
            (Call::Upload, _) => (StatusCode::INTERNAL_SERVER_ERROR, "it could not be kept").into_response(),
            (Call::Exchange, InjectedFault::Refused) => ApiError::new("invalid_code").into_response(),
            (Call::Refresh, InjectedFault::Refused) => ApiError::new("invalid_refresh_token").into_response(),
            (_, InjectedFault::Refused) => ApiError::new("restricted_action").into_response(),
            // With 200, like errors of the Web API.
            _ => ApiError::new("internal_error").into_response(),
        }
    }
}
