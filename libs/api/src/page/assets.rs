use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

pub(super) const STYLE: &str = include_str!("../../assets/style.css");
const COMPOSER: &str = include_str!("../../assets/composer.js");
const CONSENT: &str = include_str!("../../assets/consent.js");
const DOCS: &str = include_str!("../../assets/docs.js");
const ICON: &str = include_str!("../../assets/icon.svg");

/// Browsers cache them for ten minutes: long enough for a visit, and short enough that a new
/// release appears soon.
const KEEP: &str = "public, max-age=600";

pub(crate) fn router() -> Router {
    Router::new()
        .route("/assets/style.css", get(|| async { asset("text/css; charset=utf-8", STYLE) }))
        .route("/assets/composer.js", get(|| async { asset("text/javascript; charset=utf-8", COMPOSER) }))
        .route("/assets/consent.js", get(|| async { asset("text/javascript; charset=utf-8", CONSENT) }))
        .route("/assets/docs.js", get(|| async { asset("text/javascript; charset=utf-8", DOCS) }))
        .route("/assets/icon.svg", get(|| async { asset("image/svg+xml", ICON) }))
        .route("/favicon.ico", get(|| async { asset("image/svg+xml", ICON) }))
}

/// Assets are the same for every visitor, cost no call of the store, and are not counted.
pub(crate) fn is_one(path: &str) -> bool {
    path.starts_with("/assets/") || path == "/favicon.ico"
}

fn asset(content_type: &'static str, body: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, content_type), (CACHE_CONTROL, KEEP)], body)
}
