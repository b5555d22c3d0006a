//! Who may go on with a connect flow: the user who began it, in a browser in which
//! they are signed in, or a guest where the deployment permits guests.
//!
//! Whoever is sent a link could otherwise be made to connect their account for
//! somebody else without reading so anywhere.

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
use crate::access_error::FlowAccessError;
use crate::connect_flow::LoadedFlow;
use crate::recipient::Recipient;

/// Whether people who do not sign in may go on with somebody's connect flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guests {
    /// Only the user who began it may.
    #[default]
    Denied,
    /// Whoever is given the link may, after a page has told them who receives
    /// access.
    Permitted,
}

/// By this cookie the browser of a guest is known again.
const COOKIE_NAME: &str = "__Host-connect flow";

/// Longer than any connect flow.
const LIFETIME: TimeDelta = TimeDelta::hours(1);

/// Where somebody comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryPoint {
    /// They open the page.
    Page,
    /// They send a form of it.
    Form,
    /// They come back from the platform.
    Callback,
}

/// Somebody who may go on with a connect flow.
pub(crate) enum Participant {
    /// The user who began it.
    Owner(SignedIn),
    /// Somebody who was given the link.
    Guest(GuestCookie),
}

/// By what a browser is known: a session, or the mark of a guest.
pub(crate) struct Visitor {
    session: Option<SignedIn>,
    mark: Option<GuestCookie>,
    address: IpAddr,
}

/// The secret in the cookie of a guest's browser.
pub(crate) struct GuestCookie(SecretString);

/// What somebody is told who is not let in.
#[derive(Clone, Copy)]
struct FlowPage<'a> {
    receiver: &'a Recipient,
    address: &'a str,
}

/// A connect flow, who goes on with it, and who receives the account.
pub(crate) struct FlowVisit {
    pub(crate) flow: LoadedFlow,
    pub(crate) participant: Participant,
    pub(crate) recipient: Recipient,
}

impl App {
    /// Lets somebody in to a connect flow, or says why not; nothing is changed.
    /// `address` is where they are, to come back to after signing in.
    pub(crate) async fn enter(
        &self,
        state_token: String,
        known: Visitor,
        door: EntryPoint,
        address: &str,
    ) -> Result<FlowVisit, FlowAccessError> {
        let visit =
            self.load_flow(state_token, known.address, self.api.clock.now()).await?.ok_or(FlowAccessError::Unknown)?;
        let user = self.api.store.user(visit.flow.user_id).await?.ok_or(FlowAccessError::Unknown)?;
        let receiver = Recipient::of(&user);
        let party = self.participant(&visit.flow, known, door, FlowPage { receiver: &receiver, address })?;
        Ok(FlowVisit { flow: visit, participant: party, recipient: receiver })
    }

    fn participant(
        &self,
        connect_flow: &ConnectFlow,
        known: Visitor,
        door: EntryPoint,
        here: FlowPage<'_>,
    ) -> Result<Participant, FlowAccessError> {
        let Visitor { session, mark, .. } = known;
        let ours = mark.as_ref().map(|it| FlowOwner::Guest(it.hash()));
        let is_in_that_browser = ours.is_some() && ours == connect_flow.owner;
        let is_a_guests = matches!(connect_flow.owner, Some(FlowOwner::Guest(_)));
        if door == EntryPoint::Callback && is_a_guests && !is_in_that_browser {
            return Err(FlowAccessError::AnotherBrowser);
        }
        if let Some(session) = session.as_ref().filter(|it| it.user == connect_flow.user_id) {
            return Ok(Participant::Owner(session.clone()));
        }
        if self.guests == Guests::Permitted && connect_flow.owner != Some(FlowOwner::Owner) {
            // What an owner does is not for everybody who has the link.
            let is_open_to_all = matches!(
                connect_flow.state,
                FlowState::CollectingInput | FlowState::AwaitingCallback | FlowState::Failed
            );
            if is_in_that_browser || (!is_a_guests && is_open_to_all && door != EntryPoint::Callback) {
                return Ok(Participant::Guest(mark.unwrap_or_else(GuestCookie::random)));
            }
            if is_a_guests {
                return Err(FlowAccessError::AnotherBrowser);
            }
        }
        let back = here.address.to_owned();
        match (session, door) {
            (Some(session), _) => Err(FlowAccessError::AnotherUser { session, owner: here.receiver.to_string(), back }),
            (None, EntryPoint::Form) => Err(FlowAccessError::Page(PageError::signed_out(&sign_in(&back)))),
            (None, EntryPoint::Page | EntryPoint::Callback) => Err(FlowAccessError::SignedOut { back }),
        }
    }
}

impl FromRequestParts<App> for Visitor {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> PageResult<Self> {
        let session = <SignedIn as OptionalFromRequestParts<App>>::from_request_parts(parts, app).await?;
        let Ok(ClientIp(address)) = ClientIp::from_request_parts(parts, app).await;
        Ok(Self { session, mark: GuestCookie::of(&parts.headers), address })
    }
}

impl Participant {
    /// What each form has in its hidden field `csrf`.
    pub(crate) fn csrf(&self) -> String {
        match self {
            Self::Owner(session) => session.csrf().to_owned(),
            Self::Guest(mark) => mark.csrf(),
        }
    }

    /// Refuses a form that does not come from a page of this browser.
    pub(crate) fn check(&self, csrf: &str) -> PageResult<()> {
        match self {
            Self::Owner(session) => session.check(csrf),
            Self::Guest(mark) if token::hash(csrf) == token::hash(&mark.csrf()) => Ok(()),
            Self::Guest(_) => Err(PageError::forged()),
        }
    }

    /// The session of the owner.
    pub(crate) fn session(&self) -> Option<&SignedIn> {
        match self {
            Self::Owner(session) => Some(session),
            Self::Guest(_) => None,
        }
    }

    /// As the connect flow remembers who goes on with it.
    pub(crate) fn flow_owner(&self) -> FlowOwner {
        match self {
            Self::Owner(_) => FlowOwner::Owner,
            Self::Guest(mark) => FlowOwner::Guest(mark.hash()),
        }
    }

    /// The answer, with the cookie of a guest.
    pub(crate) fn answer(&self, answer: impl IntoResponse) -> Response {
        let mut response = answer.into_response();
        if let Self::Guest(mark) = self {
            response.headers_mut().append(SET_COOKIE, set_cookie(COOKIE_NAME, &mark.0, LIFETIME));
        }
        response
    }
}

impl GuestCookie {
    fn of(headers: &HeaderMap) -> Option<Self> {
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
