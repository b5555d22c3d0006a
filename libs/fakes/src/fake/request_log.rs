//! The requests that arrived at a fake, in order, for tests and for developers.

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

use super::params::basic;
use super::wire::Cut;

pub const PAGE: &str = "/_arrived";

/// Longer bodies are truncated, in bytes.
const MAX_BODY_BYTES: usize = 4_000;

#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// `POST /api/v1/statuses?x=y`
    pub request_line: String,
    pub headers: HeaderMap,
    /// The beginning of the body if it is text, else empty.
    pub body: String,
    pub size_bytes: usize,
    /// The status of the response; `None` if the connection was cut.
    pub status: Option<u16>,
}

#[derive(Clone, Debug, Default)]
pub struct RequestLog(Arc<Mutex<Vec<RecordedRequest>>>);

impl RequestLog {
    pub fn all(&self) -> Vec<RecordedRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn latest(&self, method_and_path: &str) -> Option<RecordedRequest> {
        let is_match = |it: &RecordedRequest| it.request_line.split('?').next() == Some(method_and_path);
        self.all().into_iter().rfind(is_match)
    }

    /// Whether any request contains this text: as it is, URL-encoded, or in Basic credentials.
    pub fn has(&self, text: &str) -> bool {
        let form_encoded: String = byte_serialize(text.as_bytes()).collect();
        let contains_text = |it: &str| it.contains(text) || it.contains(&form_encoded);
        self.all().iter().any(|RecordedRequest { request_line: asked, headers, body, .. }| {
            contains_text(asked)
                || contains_text(body)
                || headers.values().filter_map(|it| it.to_str().ok()).any(contains_text)
                || basic(headers).is_some_and(|(user, password)| contains_text(&user) || contains_text(&password))
        })
    }

    fn page(&self) -> String {
        let mut page = "<!DOCTYPE html>\n<html><head><title>What arrived</title></head><body><table>".to_owned();
        for RecordedRequest { request_line: asked, headers, body, size_bytes: size, status } in self.all() {
            let header = |name| headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
            // Shows the scheme of the credentials, but not the credentials.
            let proof = header(header::AUTHORIZATION).split(' ').next().unwrap_or_default();
            let status = status.map_or_else(|| "cut".to_owned(), |it| it.to_string());
            let cells = [&asked, proof, header(header::CONTENT_TYPE), &size.to_string(), &body, &status];
            let cells = cells.map(|it| format!("<td><pre>{}</pre></td>", escaped(it))).concat();
            let _ = write!(page, "<tr>{cells}</tr>");
        }
        page + "</table></body></html>\n"
    }
}

/// Records the requests of a server, and lists them at [`PAGE`].
pub fn wrap<S: Clone + Send + Sync + 'static>(router: Router<S>, request_log: &RequestLog) -> Router<S> {
    let page_log = request_log.clone();
    router
        .layer(from_fn_with_state(request_log.clone(), record))
        .route(PAGE, get(move || async move { Html(page_log.page()) }))
}

async fn record(State(request_log): State<RequestLog>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else { return Cut.into_response() };
    let is_text = std::str::from_utf8(&body).is_ok();
    let text = if is_text { &body[..body.len().min(MAX_BODY_BYTES)] } else { &[] };
    let mut recorded = RecordedRequest {
        request_line: format!("{} {}", head.method, head.uri),
        headers: head.headers.clone(),
        body: String::from_utf8_lossy(text).into_owned(),
        size_bytes: body.len(),
        status: None,
    };
    let response = next.run(Request::from_parts(head, Body::from(body))).await;
    let is_cut = response.extensions().get::<Cut>().is_some();
    recorded.status = (!is_cut).then(|| response.status().as_u16());
    request_log.0.lock().unwrap_or_else(PoisonError::into_inner).push(recorded);
    response
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
