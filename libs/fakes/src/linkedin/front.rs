//! Calls that fail as a test has ordered.

use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{Method, StatusCode};
use serde_json::json;

use super::Fake;
use super::api_error::ApiError;
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::fake::oauth::{Authorizes, Fault, classify_token_call};

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] =
        &["/message", "/errorDetails/inputErrors/0/description", "/error_description"];

    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let path = head.uri.path();
        match (&head.method, path) {
            (&Method::POST, "/oauth/v2/accessToken") => Some(classify_token_call(head, body)),
            (&Method::POST, "/oauth/v2/revoke") => Some(Call::Revoke),
            (&Method::PUT, _) => Some(Call::Upload),
            (&Method::POST, _) if path.starts_with("/rest/socialActions/") => Some(Call::Publish),
            (&Method::GET, _) if path.starts_with("/rest/socialActions/") => Some(Call::LookUp),
            (&Method::POST, "/rest/posts") => Some(Call::Publish),
            (&Method::GET, "/rest/posts") => Some(Call::LookUp),
            (&Method::POST, "/rest/videos") if head.uri.query() == Some("action=finalizeUpload") => Some(Call::Process),
            (&Method::GET, _) if path.starts_with("/rest/videos/") || path.starts_with("/rest/documents/") => {
                Some(Call::Process)
            }
            (&Method::GET, "/v2/userinfo" | "/v2/me" | "/rest/organizations") => Some(Call::Account),
            _ => None,
        }
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        match (call, fault) {
            (Call::Exchange | Call::Refresh, InjectedFault::Refused) => {
                self.refusal(Fault::InvalidGrant("the grant is of no use"))
            }
            (_, InjectedFault::RateLimited { .. }) => ApiError::too_many().into_response(),
            (_, InjectedFault::Unavailable) => error_response(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
            (_, InjectedFault::Refused) => {
                ApiError::new(422, 0, "UNPROCESSABLE", "The content does not comply with our policies").into_response()
            }
            _ => error_response(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
        }
    }
}

fn error_response(status: StatusCode, message: &str) -> Response {
    ApiError::with(status, json!({ "status": status.as_u16(), "message": message })).into_response()
}
