//! Who may continue a connect flow: its owner, in a browser in which they are signed in, or a guest
//! where the deployment permits guests.
//!
//! Prevents account-linking phishing: with a link alone, an attacker could make a victim connect
//! their account to the attacker's user.

use std::net::IpAddr;

use api::page::{PageError, PageResult};
use api::session::{cookie, set_cookie, sign_in};
use api::{ClientIp, SignedIn};
use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use domain::token;
use secrecy::{ExposeSecret, SecretString};
use storage::{ConnectFlow, FlowOwner, FlowState};

use crate::App;
use crate::connect_flow::LoadedFlow;
use crate::flow_access_error::FlowAccessError;
use crate::recipient::Recipient;

/// Whether unauthenticated visitors may continue a user's connect flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guests {
    /// Only the owner may continue.
    #[default]
    Denied,
    /// A visitor with the link may continue, after a page has named the recipient.
    Permitted,
}

/// Identifies the browser of a guest.
const COOKIE_NAME: &str = "__Host-connect-flow";

/// Longer than the lifetime of a connect flow.
const LIFETIME: TimeDelta = TimeDelta::hours(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryPoint {
    Page,
    Form,
    Callback,
}

pub(crate) enum Participant {
    Owner(SignedIn),
    Guest(GuestCookie),
}

/// A visitor before authorization, identified by a session or the cookie of a guest.
pub(crate) struct Visitor {
    session: Option<SignedIn>,
    guest_cookie: Option<GuestCookie>,
    address: IpAddr,
}

pub(crate) struct GuestCookie(SecretString);

/// What the response to a denied visitor shows.
#[derive(Clone, Copy)]
struct FlowPage<'a> {
    recipient: &'a Recipient,
    address: &'a str,
}

/// A connect flow with the participant who continues it and the recipient of the account.
pub(crate) struct FlowVisit {
    pub(crate) loaded: LoadedFlow,
    pub(crate) participant: Participant,
    pub(crate) recipient: Recipient,
}

impl App {
    /// Finds the connect flow and checks that the visitor may continue it; changes nothing.
    /// `address` is the path to return to after signing in.
    pub(crate) async fn enter(
        &self,
        state_token: String,
        visitor: Visitor,
        entry_point: EntryPoint,
        address: &str,
    ) -> Result<FlowVisit, FlowAccessError> {
        let loaded = self
            .load_flow(state_token, visitor.address, self.api.clock.now())
            .await?
            .ok_or(FlowAccessError::Unknown)?;
        let user = self.api.store.user(loaded.flow.user_id).await?.ok_or(FlowAccessError::Unknown)?;
        let recipient = Recipient::new(&user);
        let participant =
            self.participant(&loaded.flow, visitor, entry_point, FlowPage { recipient: &recipient, address })?;
        Ok(FlowVisit { loaded, participant, recipient })
    }

    fn participant(
        &self,
        connect_flow: &ConnectFlow,
        visitor: Visitor,
        entry_point: EntryPoint,
        page: FlowPage<'_>,
    ) -> Result<Participant, FlowAccessError> {
        let Visitor { session, guest_cookie, .. } = visitor;
        let guest_owner = guest_cookie.as_ref().map(|it| FlowOwner::Guest(it.hash()));
        let is_same_browser = guest_owner.is_some() && guest_owner == connect_flow.owner;
        let is_guest_flow = matches!(connect_flow.owner, Some(FlowOwner::Guest(_)));
        if entry_point == EntryPoint::Callback && is_guest_flow && !is_same_browser {
            return Err(FlowAccessError::AnotherBrowser);
        }
        if let Some(session) = session.as_ref().filter(|it| it.user == connect_flow.user_id) {
            return Ok(Participant::Owner(session.clone()));
        }
        if self.guests == Guests::Permitted && connect_flow.owner != Some(FlowOwner::Owner) {
            // What an owner has started is not open to everyone who has the link.
            let is_open_to_guests = matches!(
                connect_flow.state,
                FlowState::CollectingInput | FlowState::AwaitingCallback | FlowState::Failed
            );
            if is_same_browser || (!is_guest_flow && is_open_to_guests && entry_point != EntryPoint::Callback) {
                return Ok(Participant::Guest(guest_cookie.unwrap_or_else(GuestCookie::random)));
            }
            if is_guest_flow {
                return Err(FlowAccessError::AnotherBrowser);
            }
        }
        let return_path = page.address.to_owned();
        match (session, entry_point) {
            (Some(session), _) => {
                Err(FlowAccessError::AnotherUser { session, owner: page.recipient.to_string(), back: return_path })
            }
            (None, EntryPoint::Form) => Err(FlowAccessError::Page(PageError::signed_out(&sign_in(&return_path)))),
            (None, EntryPoint::Page | EntryPoint::Callback) => Err(FlowAccessError::SignedOut { back: return_path }),
        }
    }
}

impl FromRequestParts<App> for Visitor {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> PageResult<Self> {
        let session = <SignedIn as OptionalFromRequestParts<App>>::from_request_parts(parts, app).await?;
        let Ok(ClientIp(address)) = ClientIp::from_request_parts(parts, app).await;
        Ok(Self { session, guest_cookie: GuestCookie::from_headers(&parts.headers), address })
    }
}

impl Participant {
    /// The value of the hidden field `csrf` of each form.
    pub(crate) fn csrf(&self) -> String {
        match self {
            Self::Owner(session) => session.csrf().to_owned(),
            Self::Guest(guest_cookie) => guest_cookie.csrf(),
        }
    }

    /// Rejects a form that does not come from a page of this browser.
    pub(crate) fn check(&self, csrf: &str) -> PageResult<()> {
        match self {
            Self::Owner(session) => session.check(csrf),
            Self::Guest(guest_cookie) if token::hash(csrf) == token::hash(&guest_cookie.csrf()) => Ok(()),
            Self::Guest(_) => Err(PageError::forged()),
        }
    }

    pub(crate) fn session(&self) -> Option<&SignedIn> {
        match self {
            Self::Owner(session) => Some(session),
            Self::Guest(_) => None,
        }
    }

    pub(crate) fn flow_owner(&self) -> FlowOwner {
        match self {
            Self::Owner(_) => FlowOwner::Owner,
            Self::Guest(guest_cookie) => FlowOwner::Guest(guest_cookie.hash()),
        }
    }

    /// Adds the cookie of a guest to the response.
    pub(crate) fn respond(&self, inner: impl IntoResponse) -> Response {
        let mut response = inner.into_response();
        if let Self::Guest(guest_cookie) = self {
            response.headers_mut().append(SET_COOKIE, set_cookie(COOKIE_NAME, &guest_cookie.0, LIFETIME));
        }
        response
    }
}

impl GuestCookie {
    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        cookie(headers, COOKIE_NAME).filter(|it| !it.is_empty()).map(|it| Self(it.into()))
    }

    fn random() -> Self {
        Self(token::random_token())
    }

    fn hash(&self) -> String {
        token::hash(self.0.expose_secret())
    }

    fn csrf(&self) -> String {
        token::hash(&format!("form#{}", self.0.expose_secret()))
    }
}

#[cfg(test)]
mod tests;
