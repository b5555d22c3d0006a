//! Forms and queries of pages. One that is not complete is answered with a
//! page.

use axum::Form;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use http::StatusCode;
use http::request::Parts;
use serde::de::DeserializeOwned;

use super::PageError;

/// The fields of a form that was sent.
#[derive(Clone, Debug)]
pub struct Filled<T>(pub T);

/// The query parameters of a page.
#[derive(Clone, Debug)]
pub struct Asked<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Filled<T> {
    type Rejection = PageError;

    async fn from_request(request: Request, state: &S) -> Result<Self, PageError> {
        match Form::from_request(request, state).await {
            Ok(Form(fields)) => Ok(Self(fields)),
            Err(_) => Err(PageError::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "The form is not complete",
                "Go back, reload the page and try again.",
            )),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(_) => Err(PageError::new(
                StatusCode::BAD_REQUEST,
                "The address is not complete",
                "Part of it is missing or doubled. Open the link again as you were given it.",
            )),
        }
    }
}
