//! One log line per request, so that a developer sees what a client sent.

use std::time::Instant;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

/// The target of the lines, for `LOG_LEVEL`.
pub(crate) const TARGET: &str = "request";

/// State tokens of connect flows, keys of files and codes are parts of paths that grant access.
const SECRET_FROM: usize = 32;

/// Logs method, path, status and duration of each request. Queries are omitted: they contain codes
/// and signatures.
pub(crate) async fn log(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), redact_path(request.uri().path()));
    let began = Instant::now();
    let response = next.run(request).await;
    let (status, duration_ms) = (response.status().as_u16(), began.elapsed().as_millis());
    tracing::info!(target: TARGET, "{method} {path} {status} {duration_ms} ms");
    response
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
}
