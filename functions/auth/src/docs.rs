//! The documentation: the `OpenAPI` document, and a page made from it.

mod schema;
mod view;

use std::sync::LazyLock;

use api::Visitor;
use api::openapi::DOCUMENT;
use api::page::{Page, PageResult};
use axum::response::IntoResponse;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use view::DocsPage;

/// Answers the document.
pub(crate) async fn openapi(_: Visitor) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT)
}

/// Shows it to people, without a script and without any other site.
pub(crate) async fn docs() -> PageResult<Page> {
    // The document is part of the program: read once.
    static PAGE: LazyLock<PageResult<Page>> = LazyLock::new(|| {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap_or_default();
        Ok(Page::of("Documentation", &DocsPage::of(&document))?.wide())
    });
    PAGE.clone()
}
