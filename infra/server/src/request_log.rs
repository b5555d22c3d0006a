//! One log line per request, and a trace id in every line that a request causes.

use std::time::Instant;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use domain::token::random_hex;
use http::HeaderMap;
use tracing::Instrument;

/// For `LOG_LEVEL`.
pub(crate) const TARGET: &str = "request";

/// State tokens of connect flows, keys of files and codes are parts of paths that grant access.
const SECRET_FROM: usize = 32;

/// Omits queries: they contain codes and signatures.
pub(crate) async fn log(request: Request, next: Next) -> Response {
    let span = tracing::info_span!(target: TARGET, "request", trace_id = trace_id(request.headers()));
    let logged = async {
        let (method, path) = (request.method().clone(), redact_path(request.uri().path()));
        let began = Instant::now();
        let response = next.run(request).await;
        let (status, duration_ms) = (response.status().as_u16(), began.elapsed().as_millis());
        tracing::info!(target: TARGET, "{method} {path} {status} {duration_ms} ms");
        response
    };
    logged.instrument(span).await
}

/// The trace id of the caller, from `traceparent` (W3C Trace Context, section 3.2), else a new one.
fn trace_id(headers: &HeaderMap) -> String {
    let header = headers.get("traceparent").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let id = header.split('-').nth(1).unwrap_or_default();
    let is_valid = id.len() == 32 && id.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    if is_valid && id.bytes().any(|it| it != b'0') { id.to_owned() } else { random_hex() }
}

fn redact_path(path: &str) -> String {
    let parts = path.split('/').map(|it| if it.len() < SECRET_FROM { it } else { "…" });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_parts_of_a_path_are_left_out() {
        assert_eq!(redact_path("/api/v1/posts/360128"), "/api/v1/posts/360128");
        assert_eq!(redact_path(&format!("/connect/{}", "a".repeat(43))), "/connect/…");
    }

    #[test]
    fn trace_of_the_caller_is_continued() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let of =
            |header: &str| trace_id(&[("traceparent".parse().unwrap(), header.parse().unwrap())].into_iter().collect());

        assert_eq!(of(&format!("00-{id}-00f067aa0b1902b7-01")), id);
        for invalid in
            ["", "00", "00-xyz-00f067aa0b1902b7-01", &format!("00-{}-1-01", "0".repeat(32)), &id.to_uppercase()]
        {
            assert_ne!(of(invalid), id);
            assert_eq!(of(invalid).len(), 32, "{invalid}");
        }
    }
}
