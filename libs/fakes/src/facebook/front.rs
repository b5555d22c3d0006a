//! Injected faults.

use axum::response::{IntoResponse, Response};
use http::Method;
use http::request::Parts;

use super::{Fake, unwanted};
use crate::conformance::fake_platform::{Call, InjectedFault};
use crate::fake::front::FaultInjection;
use crate::meta::error::GraphError;
use crate::meta::trouble::{self, minutes};

impl FaultInjection for Fake {
    const TRANSLATED: &'static [&'static str] = trouble::MESSAGES;

    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call> {
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        let says = |what: &[u8]| body.windows(what.len()).any(|it| it == what);
        let edge = path.rsplit('/').next().unwrap_or_default();
        match (&head.method, edge) {
            (&Method::GET, "access_token") => Some(Call::Exchange),
            (&Method::DELETE, "permissions") => Some(Call::Revoke),
            (&Method::POST, "photos") => Some(Call::Upload),
            (&Method::POST, "feed" | "photo_stories" | "comments") => Some(Call::Publish),
            (&Method::POST, "videos" | "video_reels" | "video_stories") if says(b"upload_phase=finish") => {
                Some(Call::Publish)
            }
            (&Method::POST, "videos") if says(b"video_file_chunk") => Some(Call::Upload),
            (&Method::POST, _) if path.starts_with("/video-upload/") => Some(Call::Upload),
            (&Method::GET, "published_posts" | "stories" | "comments") => Some(Call::LookUp),
            (&Method::GET, _) if query.contains("fields=status") => Some(Call::Process),
            // A Page, by its id.
            (&Method::GET, id) if id.bytes().all(|it| it.is_ascii_digit()) => Some(Call::Account),
            _ => None,
        }
    }

    fn respond(&self, call: Call, fault: InjectedFault) -> Response {
        match (call, fault) {
            (Call::Exchange, InjectedFault::RateLimited { .. }) => {
                GraphError::new(4, "(#4) Application request limit reached").into_response()
            }
            (_, InjectedFault::RateLimited { retry_after }) => {
                let error = GraphError::new(32, "(#32) Page request limit reached");
                error.regained_in(minutes(retry_after)).into_response()
            }
            (_, InjectedFault::Refused) => unwanted(100, 1_346_001, "Your content couldn't be shared.").into_response(),
            _ => trouble::respond(call, fault).into_response(),
        }
    }
}
