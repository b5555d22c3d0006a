//! The documentation: the `OpenAPI` document, and a page made from it and from `docs/api.md`.

mod guide;
mod page;
mod schema;

use std::sync::OnceLock;

use api::openapi::DOCUMENT;
use api::page::{Page, PageResult};
use api::{ApiResult, Params, Visitor};
use axum::extract::State;
use axum::response::IntoResponse;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use self::page::DocsPage;
use crate::App;

pub(crate) async fn openapi(_: Visitor, params: Params) -> ApiResult<impl IntoResponse> {
    params.none()?;
    Ok(([(CONTENT_TYPE, "application/json")], DOCUMENT))
}

/// Without resources of other sites.
pub(crate) async fn docs(State(app): State<App>) -> PageResult<Page> {
    // The texts are compiled in, and a process serves one origin, so one page is enough.
    static PAGE: OnceLock<PageResult<Page>> = OnceLock::new();
    let render = || {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap_or_default();
        let page = DocsPage::new(&document, &app.api.origin);
        Ok(Page::render("Documentation", &page)?.wide().with_search())
    };
    PAGE.get_or_init(render).clone()
}
