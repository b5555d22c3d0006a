//! The answers to somebody who may not go on with a connect flow.

use api::page::{Page, PageError};
use api::session::{sign_in, sign_in_anew};
use api::{NoPermit, SignedIn};
use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use storage::StorageError;

use crate::error::ConnectionsError;

/// Why somebody may not go on with a connect flow.
pub(crate) enum FlowAccessError {
    /// There is none, or none any more.
    Unknown,
    /// Nobody is signed in; the sign-in leads back.
    SignedOut { back: String },
    /// Somebody else is signed in.
    AnotherUser { session: SignedIn, owner: String, back: String },
    /// Somebody goes on with it in another browser.
    AnotherBrowser,
    /// Something else, which a page tells.
    Page(PageError),
}

#[derive(Template)]
#[template(path = "another_user.html")]
struct AnotherUserPage {
    owner: String,
    sign_in: String,
}

impl IntoResponse for FlowAccessError {
    fn into_response(self) -> Response {
        match self {
            Self::Unknown => unknown().into_response(),
            Self::SignedOut { back } => Redirect::to(&sign_in(&back)).into_response(),
            Self::AnotherUser { session, owner, back } => {
                let page = AnotherUserPage { owner, sign_in: sign_in_anew(&back) };
                match Page::of("This belongs to another user", &page) {
                    Ok(page) => page.signed_in(&session).status(StatusCode::FORBIDDEN).into_response(),
                    Err(error) => error.into_response(),
                }
            }
            Self::AnotherBrowser => {
                let text = "Somebody goes on with this link in another browser. If that is you, use the browser in \
                            which you began. Otherwise ask whoever sent you the link for a new one.";
                PageError::new(StatusCode::FORBIDDEN, "This goes on in another browser", text).into_response()
            }
            Self::Page(error) => error.into_response(),
        }
    }
}

/// The page for a connect flow that does not exist, or no longer.
fn unknown() -> PageError {
    let text = "It is not known, or too old. Go back to where you came from and start again.";
    PageError::new(StatusCode::NOT_FOUND, "This link leads nowhere", text)
}

impl From<NoPermit> for FlowAccessError {
    fn from(refusal: NoPermit) -> Self {
        Self::Page(refusal.into())
    }
}

impl From<PageError> for FlowAccessError {
    fn from(error: PageError) -> Self {
        Self::Page(error)
    }
}

impl From<ConnectionsError> for FlowAccessError {
    fn from(failure: ConnectionsError) -> Self {
        Self::Page(failure.into())
    }
}

impl From<StorageError> for FlowAccessError {
    fn from(error: StorageError) -> Self {
        Self::Page(error.into())
    }
}
