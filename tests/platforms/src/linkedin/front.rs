//! Calls that fail as a test has ordered.

use axum::response::{IntoResponse, Response};
use http::Method;
use http::request::Parts;
use platforms::conformance::network::{Call, Trouble};
use serde_json::json;

use super::Here;
use super::refusal::Refusal;
use crate::stand_in::front::Front;
use crate::stand_in::oauth::{Authorizes, Fault};

impl Front for Here {
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let path = head.uri.path();
        let is_renewal = || body.windows(24).any(|it| it == b"grant_type=refresh_token");
        match (&head.method, path) {
            (&Method::POST, "/oauth/v2/accessToken") if is_renewal() => Some(Call::Refresh),
            (&Method::POST, "/oauth/v2/accessToken") => Some(Call::Exchange),
            (&Method::POST, "/oauth/v2/revoke") => Some(Call::Revoke),
            (&Method::PUT, _) => Some(Call::Upload),
            (&Method::POST, "/rest/posts") => Some(Call::Publish),
            (&Method::GET, "/rest/posts") => Some(Call::LookUp),
            (&Method::POST, "/rest/videos") if head.uri.query() == Some("action=finalizeUpload") => Some(Call::Process),
            (&Method::GET, _) if path.starts_with("/rest/videos/") => Some(Call::Process),
            (&Method::GET, "/v2/userinfo" | "/v2/me" | "/rest/organizations") => Some(Call::Account),
            _ => None,
        }
    }

    fn translated(&self) -> &'static [&'static str] {
        self.memory().troubles.translated(&[
            "/message",
            "/errorDetails/inputErrors/0/description",
            "/error_description",
        ])
    }

    fn meet(&self, call: Call) -> Option<Trouble> {
        self.memory().troubles.meet(call)
    }

    fn answer(&self, call: Call, trouble: Trouble) -> Response {
        match (call, trouble) {
            (Call::Exchange | Call::Refresh, Trouble::Unwanted) => {
                self.refusal(Fault::InvalidGrant("the grant is of no use"))
            }
            (_, Trouble::Limited { .. }) => Refusal::too_many().into_response(),
            (_, Trouble::Unavailable) => {
                Refusal::with(503, json!({ "status": 503, "message": "Service Unavailable" })).into_response()
            }
            (_, Trouble::Unwanted) => {
                Refusal::new(422, 0, "UNPROCESSABLE", "The content does not comply with our policies").into_response()
            }
            _ => Refusal::with(500, json!({ "status": 500, "message": "Internal Server Error" })).into_response(),
        }
    }
}
