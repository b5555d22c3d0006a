//! Injected faults.

use axum::response::{IntoResponse, Response};
use http::Method;
use http::request::Parts;

use super::Fake;
use super::api_error::ApiError;
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::fake::oauth::{Fault, classify_token_call};

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] = &["/error", "/error_description"];

    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let path = head.uri.path();
        match path {
            "/oauth2/token" => return Some(classify_token_call(head, body)),
            "/oauth2/revoke" => return Some(Call::Revoke),
            _ => {}
        }
        match path.strip_prefix("/_matrix/client/v3/") {
            None if path == "/_matrix/media/v3/upload" => Some(Call::Upload),
            Some("login") if head.method == Method::POST => Some(Call::Exchange),
            Some("refresh") => Some(Call::Refresh),
            Some("logout") => Some(Call::Revoke),
            Some(it) if it.contains("/send/") => Some(Call::Publish),
            Some(it) if it.ends_with("/messages") => Some(Call::LookUp),
            Some(it) if it.starts_with("profile/") => Some(Call::Account),
            None | Some(_) => None,
        }
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        let is_of_oauth = self.kind.has_oauth && matches!(call, Call::Exchange | Call::Refresh);
        if is_of_oauth && fault == InjectedFault::Refused {
            return Fault::InvalidGrant("the grant has ended").into_response();
        }
        match (call, fault) {
            (_, InjectedFault::RateLimited { retry_after }) => ApiError::too_many(retry_after.num_milliseconds()),
            (_, InjectedFault::Unavailable) => ApiError::new(503, "M_UNKNOWN", "Service unavailable"),
            (Call::Refresh, InjectedFault::Refused) => ApiError::unknown_token(false),
            (_, InjectedFault::Refused) => ApiError::forbidden("This message has been rejected as probable spam"),
            _ => ApiError::new(500, "M_UNKNOWN", "Internal server error"),
        }
        .into_response()
    }
}
