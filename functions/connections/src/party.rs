//! Who may go on with a hand-off: the user who began it, in a browser in which
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
use storage::{GoesOn, HandOff, Stage};

use crate::App;
use crate::hand_off::Visit;
use crate::receiver::Receiver;
use crate::turned_away::TurnedAway;

/// Whether people who do not sign in may go on with somebody's hand-off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guests {
    /// Only the user who began it may.
    #[default]
    Refused,
    /// Whoever is given the link may, after a page has told them who receives
    /// access.
    Permitted,
}

/// By this cookie the browser of a guest is known again.
const COOKIE_NAME: &str = "__Host-hand-off";

/// Longer than any hand-off.
const LIFETIME: TimeDelta = TimeDelta::hours(1);

/// Where somebody comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// They open the page.
    Page,
    /// They send a form of it.
    Form,
    /// They come back from the platform.
    Callback,
}

/// Somebody who may go on with a hand-off.
pub(crate) enum Party {
    /// The user who began it.
    Owner(SignedIn),
    /// Somebody who was given the link.
    Guest(Mark),
}

/// By what a browser is known: a session, or the mark of a guest.
pub(crate) struct Known {
    session: Option<SignedIn>,
    mark: Option<Mark>,
    address: IpAddr,
}

/// The secret in the cookie of a guest's browser.
pub(crate) struct Mark(SecretString);

/// What somebody is told who is not let in.
#[derive(Clone, Copy)]
struct Here<'a> {
    receiver: &'a Receiver,
    address: &'a str,
}

/// A hand-off, who goes on with it, and who receives the account.
pub(crate) struct Entered {
    pub(crate) visit: Visit,
    pub(crate) party: Party,
    pub(crate) receiver: Receiver,
}

impl App {
    /// Lets somebody in to a hand-off, or says why not; nothing is changed.
    /// `address` is where they are, to come back to after signing in.
    pub(crate) async fn enter(
        &self,
        state_token: String,
        known: Known,
        door: Door,
        address: &str,
    ) -> Result<Entered, TurnedAway> {
        let visit = self.visit(state_token, known.address, self.api.clock.now()).await?.ok_or(TurnedAway::Unknown)?;
        let user = self.api.store.user(visit.hand_off.user_id).await?.ok_or(TurnedAway::Unknown)?;
        let receiver = Receiver::of(&user);
        let party = self.party(&visit.hand_off, known, door, Here { receiver: &receiver, address })?;
        Ok(Entered { visit, party, receiver })
    }

    fn party(&self, hand_off: &HandOff, known: Known, door: Door, here: Here<'_>) -> Result<Party, TurnedAway> {
        let Known { session, mark, .. } = known;
        let ours = mark.as_ref().map(|it| GoesOn::Guest(it.hash()));
        let is_in_that_browser = ours.is_some() && ours == hand_off.goes_on;
        let is_a_guests = matches!(hand_off.goes_on, Some(GoesOn::Guest(_)));
        if door == Door::Callback && is_a_guests && !is_in_that_browser {
            return Err(TurnedAway::AnotherBrowser);
        }
        if let Some(session) = session.as_ref().filter(|it| it.user == hand_off.user_id) {
            return Ok(Party::Owner(session.clone()));
        }
        if self.guests == Guests::Permitted && hand_off.goes_on != Some(GoesOn::Owner) {
            // What an owner does is not for everybody who has the link.
            let is_open_to_all = matches!(hand_off.stage, Stage::Asking | Stage::Waiting | Stage::Failed);
            if is_in_that_browser || (!is_a_guests && is_open_to_all && door != Door::Callback) {
                return Ok(Party::Guest(mark.unwrap_or_else(Mark::random)));
            }
            if is_a_guests {
                return Err(TurnedAway::AnotherBrowser);
            }
        }
        let back = here.address.to_owned();
        match (session, door) {
            (Some(session), _) => Err(TurnedAway::AnotherUser { session, owner: here.receiver.to_string(), back }),
            (None, Door::Form) => Err(TurnedAway::Told(PageError::signed_out(&sign_in(&back)))),
            (None, Door::Page | Door::Callback) => Err(TurnedAway::SignedOut { back }),
        }
    }
}

impl FromRequestParts<App> for Known {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> PageResult<Self> {
        let session = <SignedIn as OptionalFromRequestParts<App>>::from_request_parts(parts, app).await?;
        let Ok(ClientIp(address)) = ClientIp::from_request_parts(parts, app).await;
        Ok(Self { session, mark: Mark::of(&parts.headers), address })
    }
}

impl Party {
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

    /// As the hand-off remembers who goes on with it.
    pub(crate) fn goes_on(&self) -> GoesOn {
        match self {
            Self::Owner(_) => GoesOn::Owner,
            Self::Guest(mark) => GoesOn::Guest(mark.hash()),
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

impl Mark {
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
