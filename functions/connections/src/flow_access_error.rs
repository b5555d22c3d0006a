//! Responses to visitors who may not continue a connect flow.

use api::page::{Page, PageError};
use api::session::{sign_in, sign_in_again_path};
use api::{PermitError, SignedIn};
use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use storage::StorageError;

use crate::error::ConnectionsError;

pub(crate) enum FlowAccessError {
    /// The flow does not exist, or has expired.
    Unknown,
    /// No user is signed in. `back` is where the sign-in returns to.
    SignedOut {
        back: String,
    },
    /// A user other than the owner is signed in.
    AnotherUser {
        session: SignedIn,
        owner: String,
        back: String,
    },
    /// A guest or the owner continues the flow in another browser.
    AnotherBrowser,
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
            Self::Unknown => unknown_flow().into_response(),
            Self::SignedOut { back: return_path } => Redirect::to(&sign_in(&return_path)).into_response(),
            Self::AnotherUser { session, owner, back: return_path } => {
                let page = AnotherUserPage { owner, sign_in: sign_in_again_path(&return_path) };
                match Page::render("This belongs to another user", &page) {
                    Ok(page) => page.signed_in(&session).status(StatusCode::FORBIDDEN).into_response(),
                    Err(error) => error.into_response(),
                }
            }
            Self::AnotherBrowser => {
                let text = "Nothing was connected here. If you opened the link yourself, continue in that browser. \
                            Otherwise, ask the sender for a new link.";
                PageError::new(StatusCode::FORBIDDEN, "This link is open in another browser", text).into_response()
            }
            Self::Page(error) => error.into_response(),
        }
    }
}

fn unknown_flow() -> PageError {
    let text = "Start over in the app or on the page that you came from.";
    PageError::new(StatusCode::NOT_FOUND, "This link has expired or is invalid", text)
        .with_link("/", "Go to the start page")
}

impl From<PermitError> for FlowAccessError {
    fn from(error: PermitError) -> Self {
        Self::Page(error.into())
    }
}

impl From<PageError> for FlowAccessError {
    fn from(error: PageError) -> Self {
        Self::Page(error)
    }
}

impl From<ConnectionsError> for FlowAccessError {
    fn from(error: ConnectionsError) -> Self {
        Self::Page(error.into())
    }
}

impl From<StorageError> for FlowAccessError {
    fn from(error: StorageError) -> Self {
        Self::Page(error.into())
    }
}
