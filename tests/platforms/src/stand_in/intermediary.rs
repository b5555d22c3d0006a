//! A proxy, CDN or firewall in front of a platform, which answers some calls in its place.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use http::{Method, StatusCode};

/// What is answered with a page instead of being passed on.
#[derive(Clone, Debug, Default)]
pub struct Intermediary(Arc<Mutex<Option<Blocked>>>);

#[derive(Clone, Debug)]
struct Blocked {
    method: Method,
    path: String,
    status: StatusCode,
    times: usize,
}

impl Intermediary {
    /// Answers the next `times` calls of this method whose path contains `path` with a page of this status.
    pub fn block(&self, method: Method, path: &str, status: u16, times: usize) {
        let status = StatusCode::from_u16(status).expect("it is a status");
        *self.blocked() = Some(Blocked { method, path: path.to_owned(), status, times });
    }

    /// How many of these calls have not arrived yet.
    pub fn left(&self) -> usize {
        self.blocked().as_ref().map_or(0, |it| it.times)
    }

    fn blocked(&self) -> std::sync::MutexGuard<'_, Option<Blocked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn meet(&self, request: &Request) -> Option<StatusCode> {
        let mut blocked = self.blocked();
        let blocked = blocked.as_mut().filter(|it| 0 < it.times)?;
        let is_it = *request.method() == blocked.method && request.uri().path().contains(&blocked.path);
        blocked.times -= usize::from(is_it);
        is_it.then_some(blocked.status)
    }
}

/// A server behind an intermediary.
pub fn around(server: Router, intermediary: &Intermediary) -> Router {
    server.layer(from_fn_with_state(intermediary.clone(), pass))
}

async fn pass(State(intermediary): State<Intermediary>, request: Request, next: Next) -> Response {
    let Some(status) = intermediary.meet(&request) else { return next.run(request).await };
    // The whole request is read first: a client that still writes would not see the response.
    let _ = axum::body::to_bytes(request.into_body(), usize::MAX).await;
    // Pages of real ones carry data for scripts, too.
    let page = "<!DOCTYPE html>\n<html><head><title>Attention required</title>\n<script>var it = \
                {\"code\":\"rest_not_logged_in\",\"errcode\":\"M_UNKNOWN_TOKEN\",\"message\":\"Blocked.\",\"id\":1};\
                </script></head><body><h1>Sorry, you have been blocked</h1></body></html>\n";
    (status, Html(page)).into_response()
}
