//! What the fakes of Google's platforms share:
//!
//! - [`oauth`]: the authorization server
//! - [`api_error`]: errors of the APIs
//! - [`payload`]: request bodies
//! - [`list`]: lists with pages
//! - [`no_such_path`]: the page for a path of no API

pub mod api_error;
pub mod list;
pub mod oauth;
pub mod payload;

use axum::response::{Html, IntoResponse, Response};
use http::{StatusCode, Uri};

/// The page of Google's front end for a path that no API has.
pub async fn no_such_path(uri: Uri) -> Response {
    let page = format!(
        "<!DOCTYPE html>\n<html lang=en>\n<title>Error 404 (Not Found)!!1</title>\n<p><b>404.</b> <ins>That’s an \
         error.</ins>\n<p>The requested URL <code>{}</code> was not found on this server. <ins>That’s all we know.</ins>\n",
        uri.path()
    );
    (StatusCode::NOT_FOUND, Html(page)).into_response()
}
