//! What every request passes before a handler has it: it is read to its end, and
//! fails if a test has ordered that.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use platforms::conformance::network::{Call, Trouble};

use super::wire::Cut;

/// What the front has to know of a platform.
pub trait Front: Send + Sync + 'static {
    /// What kind of call this is; `None` for those that never fail.
    fn call(&self, head: &Parts, body: &[u8]) -> Option<Call>;

    /// Counts a call, and says how it is to fail: see
    /// [`Troubles::meet`](super::troubles::Troubles::meet).
    fn meet(&self, call: Call) -> Option<Trouble>;

    /// The platform's own answer to a call that is not carried out: `Broken`,
    /// `Unavailable`, `Limited` or `Unwanted`.
    fn answer(&self, call: Call, trouble: Trouble) -> Response;

    /// From now on, the file that this request asks for could not be processed.
    fn spoil(&self, head: &Parts) {
        let _ = head;
    }
}

/// A server whose calls can be in trouble.
pub fn around<S: Clone + Send + Sync + 'static>(server: Router<S>, platform: Arc<impl Front>) -> Router<S> {
    server.layer(from_fn_with_state(platform, pass))
}

async fn pass<P: Front>(State(platform): State<Arc<P>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    // Read whatever becomes of it: a client that still writes would not see the
    // answer. Where it cannot be read, the client went away.
    let Ok(body) = to_bytes(body, usize::MAX).await else { return Cut.into_response() };
    let call = platform.call(&head, &body);
    let trouble = call.and_then(|it| Some((it, platform.meet(it)?)));
    if matches!(trouble, Some((Call::Process, Trouble::Unwanted))) {
        platform.spoil(&head);
    }
    let request = Request::from_parts(head, Body::from(body));
    match trouble {
        None | Some((Call::Process, Trouble::Unwanted)) => next.run(request).await,
        Some((_, Trouble::CutBefore)) => Cut.into_response(),
        Some((_, Trouble::LoseAnswer)) => {
            next.run(request).await;
            Cut.into_response()
        }
        Some((call, Trouble::BrokenAfter)) => {
            next.run(request).await;
            platform.answer(call, Trouble::Broken)
        }
        Some((_, Trouble::Gibberish)) => {
            Html("<!DOCTYPE html>\n<html><body>Welcome! Please sign in.</body></html>\n").into_response()
        }
        Some((_, Trouble::Intermediary { status })) => {
            let status = StatusCode::from_u16(status).expect("tests name statuses that there are");
            (status, Html("<!DOCTYPE html>\n<html><head><title>Access denied</title></head></html>\n")).into_response()
        }
        Some((call, trouble)) => platform.answer(call, trouble),
    }
}
