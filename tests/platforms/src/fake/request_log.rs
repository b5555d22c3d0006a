//! What arrived at a platform, in order, for tests and for people who look.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, header};
use url::form_urlencoded::byte_serialize;

use super::wire::Cut;

/// Where people can look.
pub const PAGE: &str = "/_arrived";

/// The most of a body that is kept, in bytes.
const MOST: usize = 4_000;

/// A request and its result.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// `POST /api/v1/statuses?x=y`
    pub asked: String,
    pub headers: HeaderMap,
    /// The beginning of the body, where it is text.
    pub body: String,
    /// How many bytes the body has.
    pub size: usize,
    /// The status of the answer; `None` when the connection was cut.
    pub status: Option<u16>,
}

/// What arrived so far.
#[derive(Clone, Debug, Default)]
pub struct RequestLog(Arc<Mutex<Vec<RecordedRequest>>>);

impl RequestLog {
    /// All of it, in order.
    pub fn all(&self) -> Vec<RecordedRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn latest(&self, method_and_path: &str) -> Option<RecordedRequest> {
        let is_it = |it: &RecordedRequest| it.asked.split('?').next() == Some(method_and_path);
        self.all().into_iter().rfind(is_it)
    }

    /// Whether this stands in a request, as it is or as in a form or an address.
    pub fn has(&self, what: &str) -> bool {
        let in_a_form: String = byte_serialize(what.as_bytes()).collect();
        let says = |it: &str| it.contains(what) || it.contains(&in_a_form);
        self.all().iter().any(|RecordedRequest { asked, headers, body, .. }| {
            says(asked) || says(body) || headers.values().filter_map(|it| it.to_str().ok()).any(says)
        })
    }

    fn page(&self) -> String {
        let mut page = "<!DOCTYPE html>\n<html><head><title>What arrived</title></head><body><table>".to_owned();
        for RecordedRequest { asked, headers, body, size, status } in self.all() {
            let of = |name| headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
            // The kind of proof is of interest, the proof is not.
            let proof = of(header::AUTHORIZATION).split(' ').next().unwrap_or_default();
            let status = status.map_or_else(|| "cut".to_owned(), |it| it.to_string());
            let cells = [&asked, proof, of(header::CONTENT_TYPE), &size.to_string(), &body, &status];
            let cells = cells.map(|it| format!("<td><pre>{}</pre></td>", escaped(it))).concat();
            let _ = write!(page, "<tr>{cells}</tr>");
        }
        page + "</table></body></html>\n"
    }
}

/// A server that keeps what arrives, and shows it at [`PAGE`].
pub fn around<S: Clone + Send + Sync + 'static>(server: Router<S>, request_log: &RequestLog) -> Router<S> {
    let shown = request_log.clone();
    server
        .layer(from_fn_with_state(request_log.clone(), keep))
        .route(PAGE, get(move || async move { Html(shown.page()) }))
}

async fn keep(State(request_log): State<RequestLog>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else { return Cut.into_response() };
    let is_text = std::str::from_utf8(&body).is_ok();
    let shown = if is_text { &body[..body.len().min(MOST)] } else { &[] };
    let mut arrival = RecordedRequest {
        asked: format!("{} {}", head.method, head.uri),
        headers: head.headers.clone(),
        body: String::from_utf8_lossy(shown).into_owned(),
        size: body.len(),
        status: None,
    };
    let response = next.run(Request::from_parts(head, Body::from(body))).await;
    let is_cut = response.extensions().get::<Cut>().is_some();
    arrival.status = (!is_cut).then(|| response.status().as_u16());
    request_log.0.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
    response
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
