//! The documentation: the `OpenAPI` document, and a page made from it.

mod page;
mod schema;

use std::sync::LazyLock;

use api::openapi::DOCUMENT;
use api::page::{Page, PageResult};
use api::{ApiResult, Params, Visitor};
use axum::response::IntoResponse;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use self::page::DocsPage;

/// Returns the `OpenAPI` document.
pub(crate) async fn openapi(_: Visitor, params: Params) -> ApiResult<impl IntoResponse> {
    params.none()?;
    Ok(([(CONTENT_TYPE, "application/json")], DOCUMENT))
}

/// Shows the document as a page without scripts or resources of other sites.
pub(crate) async fn docs() -> PageResult<Page> {
    // The document is compiled in and never changes, so one page is enough.
    static PAGE: LazyLock<PageResult<Page>> = LazyLock::new(|| {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap_or_default();
        Ok(Page::render("Documentation", &DocsPage::from_document(&document))?.wide())
    });
    PAGE.clone()
}
