//! Calls in trouble.

use axum::response::{IntoResponse, Response};
use http::Method;
use http::request::Parts;
use platforms::conformance::network::{Call, Trouble};

use super::Here;
use super::refusal::Refusal;
use crate::stand_in::front::Front;

impl Front for Here {
    const TRANSLATED: &'static [&'static str] = &["/error"];

    fn call(&self, head: &Parts, _: &[u8]) -> Option<Call> {
        let path = head.uri.path();
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

    fn meet(&self, call: Call) -> Option<Trouble> {
        let trouble = self.troubles().meet(call);
        let mut memory = self.memory();
        if call == Call::Publish
            && let Some((messages, failing)) = memory.failing
        {
            memory.failing = messages.checked_sub(1).map(|it| (it, failing));
            return trouble.or((messages == 0).then_some(failing));
        }
        trouble
    }

    fn answer(&self, call: Call, trouble: Trouble) -> Response {
        match (call, trouble) {
            (_, Trouble::Limited { retry_after }) => Refusal::too_many(retry_after.num_milliseconds()),
            (_, Trouble::Unavailable) => Refusal::new(503, "M_UNKNOWN", "Service unavailable"),
            (Call::Refresh, Trouble::Unwanted) => Refusal::unknown_token(false),
            (_, Trouble::Unwanted) => Refusal::forbidden("This message has been rejected as probable spam"),
            _ => Refusal::new(500, "M_UNKNOWN", "Internal server error"),
        }
        .into_response()
    }
}
