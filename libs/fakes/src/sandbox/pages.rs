//! Parts that all HTML pages of the sandbox share.

use askama::Template;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

/// Allows our own style, script, pictures and videos, and forms to ourselves. The directive for
/// forms is the last one, so that a page may append sources to it.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
     media-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

/// For files that are shown without a page.
pub const NO_SCRIPT: &str = "default-src 'none'; media-src 'self'; sandbox";

pub fn show(page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (headers(), Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a sandbox page could not be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn headers() -> [(HeaderName, &'static str); 4] {
    [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ]
}

#[derive(Template)]
#[template(path = "sandbox/message.html")]
struct MessagePage<'a> {
    title: &'a str,
    message: &'a str,
}

pub(super) fn message(status: StatusCode, title: &str, message: &str) -> Response {
    (status, show(&MessagePage { title, message })).into_response()
}

pub fn not_found() -> Response {
    message(StatusCode::NOT_FOUND, "Page not found", "This page does not exist, or its data was deleted.")
}

pub(super) async fn get_style() -> Response {
    asset("text/css; charset=utf-8", include_str!("../../templates/sandbox/style.css"))
}

/// For the pages that show what is published.
pub(super) async fn get_reload_script() -> Response {
    asset("text/javascript; charset=utf-8", include_str!("../../templates/sandbox/reload.js"))
}

fn asset(content_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "max-age=300"),
    ];
    (headers, text).into_response()
}
