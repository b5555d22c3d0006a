//! Injected faults.

use axum::response::{IntoResponse, Response};
use http::Method;
use http::request::Parts;

use super::Fake;
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::meta::trouble;

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] = trouble::MESSAGES;

    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let has = |what: &[u8]| body.windows(what.len()).any(|it| it == what);
        let path = head.uri.path();
        match (&head.method, path) {
            (&Method::POST, "/oauth/access_token") => Some(Call::Exchange),
            (_, "/refresh_access_token") => Some(Call::Refresh),
            (_, "/v1.0/me") => Some(Call::Account),
            (&Method::POST, _) if path.ends_with("/threads_publish") => Some(Call::Publish),
            (&Method::POST, _) if has(b"image_url=") || has(b"video_url=") => Some(Call::Upload),
            (&Method::GET, _) if path.ends_with("/threads") || path.ends_with("/replies") => Some(Call::LookUp),
            (&Method::GET, _) if head.uri.query().is_some_and(|it| it.contains("fields=status")) => Some(Call::Process),
            _ => None,
        }
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        trouble::respond(call, fault).into_response()
    }

    fn inject_fault(&self, _: &Parts) {
        self.memory().containers.fail("FAILED_PROCESSING_VIDEO");
    }
}
