//! Guests: visitors without a session, whom a cookie identifies. They continue connect flows, and use connect links.

use std::convert::Infallible;

use axum::extract::OptionalFromRequestParts;
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use domain::connect_flow::FlowOwner;
use domain::connect_link::ConnectLink;
use domain::token;
use domain::user::User;
use http::header::SET_COOKIE;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use storage::StorageError;

use crate::Api;
use crate::page::{PageError, PageResult};
use crate::session::{cookie, set_cookie};

const COOKIE_NAME: &str = "__Host-connect-flow";

/// Longer than the lifetime of a connect link and of its flows.
const LIFETIME: TimeDelta = TimeDelta::days(8);

pub struct GuestCookie(SecretString);

impl GuestCookie {
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        cookie(headers, COOKIE_NAME).filter(|it| !it.is_empty()).map(|it| Self(it.into()))
    }

    pub fn random() -> Self {
        Self(token::random_token())
    }

    pub fn owner(&self) -> FlowOwner {
        FlowOwner::Guest(token::hash(self.0.expose_secret()))
    }

    /// For the hidden field `csrf` of each form.
    pub fn csrf(&self) -> String {
        token::hash(&format!("form#{}", self.0.expose_secret()))
    }

    /// Rejects a form that does not come from a page of this browser.
    pub fn check(&self, csrf: &str) -> PageResult<()> {
        if token::hash(csrf) == token::hash(&self.csrf()) {
            return Ok(());
        }
        let text = "Open the link again. If you see this page once more, allow cookies for this site in your browser.";
        Err(PageError::new(StatusCode::FORBIDDEN, "This form is out of date", text))
    }

    pub fn respond(&self, inner: impl IntoResponse) -> Response {
        let mut response = inner.into_response();
        response.headers_mut().append(SET_COOKIE, set_cookie(COOKIE_NAME, &self.0, LIFETIME));
        response
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for GuestCookie {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(Self::from_headers(&parts.headers))
    }
}

pub struct RequestedLink {
    pub key: String,
    pub link: ConnectLink,
    pub user: User,
    pub cookie: GuestCookie,
}

impl Api {
    /// Changes nothing. `None` also if the operator has disabled the user of the link.
    pub async fn visit_link(
        &self,
        key: String,
        cookie: Option<GuestCookie>,
    ) -> Result<Option<RequestedLink>, StorageError> {
        let Some(link) = self.store.remembered_connect_link(&key, self.clock.now()).await? else { return Ok(None) };
        let user = self.store.user(link.user_id).await?.filter(|it| !it.disabled);
        let cookie = cookie.unwrap_or_else(GuestCookie::random);
        Ok(user.map(|user| RequestedLink { key, link, user, cookie }))
    }
}
