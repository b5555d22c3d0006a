//! Injected faults.

use axum::response::{IntoResponse, Response};
use http::Method;
use http::request::Parts;

use super::Fake;
use super::api_error::ApiError;
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::fake::oauth::{Authorizes, Fault, classify_token_call};

impl FaultInjection for Fake {
    /// `detail` is not translated: only this text identifies a duplicate post.
    const TRANSLATED: &'static [&'static str] = &["/title", "/errors/0/message", "/error_description"];

    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let path = head.uri.path();
        match (&head.method, path) {
            (&Method::POST, "/2/oauth2/token") => Some(classify_token_call(head, body)),
            (&Method::POST, "/2/oauth2/revoke") => Some(Call::Revoke),
            (&Method::POST, "/2/media/upload") => Some(Call::Upload),
            (&Method::POST, _) if path.ends_with("/append") => Some(Call::Upload),
            (&Method::POST, _) if path.ends_with("/finalize") => Some(Call::Process),
            (&Method::GET, "/2/media/upload") => Some(Call::Process),
            (&Method::POST, "/2/tweets") => Some(Call::Publish),
            (&Method::GET, _) if path.ends_with("/tweets") => Some(Call::LookUp),
            (&Method::GET, "/2/users/me") => Some(Call::Account),
            _ => None,
        }
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        match (call, fault) {
            (Call::Exchange | Call::Refresh, InjectedFault::Refused) => self.refusal(Fault::InvalidGrant("")),
            (_, InjectedFault::RateLimited { retry_after }) => {
                ApiError::too_many(self.clock.now() + retry_after).into_response()
            }
            (_, InjectedFault::Unavailable) => {
                ApiError::new(503, "Service Unavailable", "Service Unavailable").into_response()
            }
            (Call::Upload, InjectedFault::Refused) => ApiError::invalid("media type unrecognized").into_response(),
            (_, InjectedFault::Refused) => {
                ApiError::forbidden("You are not permitted to perform this action.").into_response()
            }
            _ => ApiError::new(500, "Internal Server Error", "Internal Server Error").into_response(),
        }
    }

    fn inject_fault(&self, _: &Parts) {
        self.memory().spoils = true;
    }
}
