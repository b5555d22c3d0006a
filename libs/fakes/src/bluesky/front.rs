//! Injected faults.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;

use super::api_error::ApiError;
use super::repo::POST;
use super::{Fake, dpop};
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::fake::oauth::classify_token_call;

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] = &["/message", "/error_description"];

    /// A request that is refused only for its nonce does not count as a call, because the client
    /// repeats it immediately.
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        classify(head, body).filter(|_| !dpop::lacks_nonce(&self.clock, head))
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        let refusal = match (fault, call) {
            (InjectedFault::RateLimited { retry_after }, _) => ApiError::rate_limited(self.clock.now() + retry_after),
            (InjectedFault::Unavailable, _) => {
                ApiError::xrpc(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "Service Unavailable")
            }
            (InjectedFault::Refused, Call::Publish) => ApiError::invalid(format!(
                "Invalid {POST} record: string too big (maximum 300 graphemes) at $.record.text"
            )),
            (InjectedFault::Refused, Call::Upload) => ApiError::too_large(),
            (InjectedFault::Refused, _) => ApiError::invalid("Invalid request"),
            _ => ApiError::xrpc(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError", "Internal Server Error"),
        };
        refusal.into_response()
    }

    fn inject_fault(&self, head: &Parts) {
        let query = head.uri.query().unwrap_or_default();
        self.memory().fail_job(query.strip_prefix("jobId=").unwrap_or_default());
    }
}

fn classify(head: &Parts, body: &[u8]) -> Option<Call> {
    let path = head.uri.path();
    let is_of_posts = || head.uri.query().is_some_and(|it| it.contains(&format!("collection={POST}")));
    match path.strip_prefix("/xrpc/").unwrap_or(path) {
        "/oauth/token" => Some(classify_token_call(head, body)),
        "/oauth/revoke" | "com.atproto.server.deleteSession" => Some(Call::Revoke),
        "com.atproto.server.createSession" => Some(Call::Exchange),
        "com.atproto.server.refreshSession" => Some(Call::Refresh),
        "com.atproto.repo.uploadBlob" | "app.bsky.video.uploadVideo" | "app.bsky.video.uploadPart" => {
            Some(Call::Upload)
        }
        "app.bsky.video.getJobStatus" => Some(Call::Process),
        "app.bsky.actor.getProfile" => Some(Call::Account),
        "com.atproto.repo.putRecord" => Some(Call::Publish),
        "com.atproto.repo.getRecord" if is_of_posts() => Some(Call::LookUp),
        _ => None,
    }
}
