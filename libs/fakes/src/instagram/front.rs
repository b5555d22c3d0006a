//! Calls that fail as a test has ordered.

use axum::response::{IntoResponse, Response};
use http::Method;
use http::request::Parts;

use super::making::failed;
use super::{Fake, ID};
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::meta::trouble;

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] = trouble::MESSAGES;

    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let has = |what: &[u8]| body.windows(what.len()).any(|it| it == what);
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        match (&head.method, path) {
            (_, "/oauth/access_token") => Some(Call::Exchange),
            (_, "/v26.0/oauth/access_token") if query.contains("&code=") || query.starts_with("code=") => {
                Some(Call::Exchange)
            }
            (_, "/refresh_access_token") => Some(Call::Refresh),
            (&Method::DELETE, "/v26.0/me/permissions") => Some(Call::Revoke),
            (&Method::POST, _) if path.ends_with("/media_publish") || path.ends_with("/comments") => {
                Some(Call::Publish)
            }
            (&Method::POST, _) if path.starts_with("/ig-api-upload/") => Some(Call::Upload),
            (&Method::POST, _) if has(b"image_url=") || has(b"video_url=") => Some(Call::Upload),
            (&Method::GET, _) if ["/media", "/stories", "/comments"].iter().any(|it| path.ends_with(it)) => {
                Some(Call::LookUp)
            }
            (&Method::GET, _) if query.contains("fields=status") => Some(Call::Process),
            (&Method::GET, "/v26.0/me") => Some(Call::Account),
            (&Method::GET, _) if path.strip_prefix("/v26.0/") == Some(ID) => Some(Call::Account),
            _ => None,
        }
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        trouble::respond(call, fault).into_response()
    }

    fn inject_fault(&self, _: &Parts) {
        self.memory().containers.fail(&failed(2_207_026));
    }
}
