use askama::Template;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::RETRY_AFTER;
use storage::StorageError;

use super::{Brand, Page};

pub type PageResult<T> = Result<T, PageError>;

/// Its response has it as an extension, for [`PageError::into_branded_response`] in a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageError {
    status: StatusCode,
    title: String,
    text: String,
    next: Option<Next>,
    /// Seconds.
    wait: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Next {
    href: String,
    label: String,
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    title: &'a str,
    text: &'a str,
    next: Option<&'a Next>,
}

impl PageError {
    /// `title` states what happened in a few words, `text` what to do next in one or two sentences.
    pub fn new(status: StatusCode, title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { status, title: title.into(), text: text.into(), next: None, wait: None }
    }

    #[must_use]
    pub fn with_link(mut self, href: impl Into<String>, label: impl Into<String>) -> Self {
        self.next = Some(Next { href: href.into(), label: label.into() });
        self
    }

    /// Seconds.
    #[must_use]
    pub fn with_retry_after(self, wait: u64) -> Self {
        Self { wait: Some(wait), ..self }
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Page not found", "Check the address, or go to the start page.")
            .with_link("/", "Go to the start page")
    }

    pub fn forged() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "This form is out of date",
            "You signed in again after you opened this page, or another site sent the form. Go back, reload the page and try again.",
        )
    }

    pub fn signed_out(sign_in: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "You are signed out", "Nothing was changed. Sign in and try again.")
            .with_link(sign_in, "Sign in")
    }

    /// Also for a connect link or a connect flow that has expired.
    pub fn unknown_link() -> Self {
        let text = "Go back to the app, the page or the message that the link came from, and start over or ask for a new link.";
        Self::new(StatusCode::NOT_FOUND, "This link has expired or is invalid", text)
    }

    pub fn another_browser() -> Self {
        let text = "Nothing was changed here. If you opened the link yourself, continue in that browser. Otherwise, ask \
                    the sender for a new link.";
        Self::new(StatusCode::FORBIDDEN, "This link is open in another browser", text)
    }

    /// `wait` is in seconds.
    pub(crate) fn too_many(wait: u64) -> Self {
        let unit = if wait == 1 { "second" } else { "seconds" };
        let text = format!("Nothing was changed. Wait {wait} {unit}, then try again.");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests", text).with_retry_after(wait)
    }

    pub(crate) fn too_many_calls(wait: u64) -> Self {
        let text = format!(
            "Too many calls for your other requests, or to the same server, are in progress. Nothing was changed. Wait \
             {wait} seconds, then try again."
        );
        Self::new(StatusCode::TOO_MANY_REQUESTS, "The server is busy with earlier requests", text)
            .with_retry_after(wait)
    }

    pub fn into_branded_response(self, brand: &Brand) -> Response {
        self.into_response_with(Some(brand))
    }

    fn into_response_with(self, brand: Option<&Brand>) -> Response {
        let inner = ErrorPage { title: &self.title, text: &self.text, next: self.next.as_ref() };
        let body = match inner.render() {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%error, "error page could not be rendered");
                return (self.status, self.text).into_response();
            }
        };
        let page = Page::raw(self.title.clone(), body).status(self.status);
        let mut response = match brand {
            Some(brand) => page.branded(brand).into_response(),
            None => page.into_response(),
        };
        if let Some(wait) = self.wait {
            response.headers_mut().insert(RETRY_AFTER, wait.into());
        }
        response.extensions_mut().insert(self);
        response
    }

    fn unavailable() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "The service is temporarily unavailable",
            "Nothing was changed. Try again in a few seconds.",
        )
    }

    fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, FAILED, "Something failed on our side. Try again.")
    }
}

const FAILED: &str = "Something went wrong";

/// The cause is in the logs.
pub(crate) fn failed(text: &str) -> Response {
    PageError::new(StatusCode::INTERNAL_SERVER_ERROR, FAILED, text).into_response()
}

impl From<StorageError> for PageError {
    fn from(error: StorageError) -> Self {
        tracing::error!(%error, "storage failed during a page request");
        match error {
            StorageError::Unavailable(_) | StorageError::Contended => Self::unavailable(),
            StorageError::Unreadable(_) | StorageError::Answer(_) | StorageError::Request(_) => Self::internal(),
        }
    }
}

impl From<askama::Error> for PageError {
    fn from(error: askama::Error) -> Self {
        tracing::error!(%error, "page could not be rendered");
        Self::internal()
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        self.into_response_with(None)
    }
}
