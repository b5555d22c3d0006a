//! Who may continue a connect flow: its owner, in a browser in which they are signed in, or a guest
//! where the deployment permits guests ([`domain::connect_flow::ConnectFlow::access`]). And the
//! responses to the others.

use std::net::IpAddr;

use api::page::{Brand, Page, PageError, PageResult};
use api::session::{sign_in, sign_in_again_path};
use api::{ClientIp, GuestCookie, PermitError, SignedIn};
use askama::Template;
use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use connecting::{ConnectingError, LoadedFlow, link_accounts_path};
use domain::connect_flow::{EntryPoint, FlowAccess, FlowOwner};
use storage::StorageError;

use crate::App;
use crate::error::ConnectionsError;
use crate::recipient::Recipient;

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

pub(crate) struct FlowVisit {
    pub(crate) loaded: LoadedFlow,
    pub(crate) participant: Participant,
    pub(crate) recipient: Recipient,
    /// The operator's brand, for the flow of a connect link.
    pub(crate) brand: Option<Brand>,
}

/// The response to a visitor who may not continue a connect flow.
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
    /// The connect link of the flow has ended or expired.
    LinkClosed {
        page: String,
    },
    Page(PageError),
}

#[derive(Template)]
#[template(path = "another_user.html")]
struct AnotherUserPage {
    owner: String,
    sign_in: String,
}

impl App {
    /// Checks that the visitor may continue the flow; changes nothing. `address` is the path to
    /// return to after signing in.
    pub(crate) async fn enter(
        &self,
        state_token: String,
        visitor: Visitor,
        entry_point: EntryPoint,
        address: &str,
    ) -> Result<FlowVisit, FlowAccessError> {
        let loaded = self.connect_flows().find(state_token, visitor.address).await?;
        let loaded = loaded.ok_or(FlowAccessError::Unknown)?;
        // Guests could otherwise connect accounts for a user whom the operator has disabled.
        let user = self.api.store.user(loaded.flow.user_id).await?.filter(|it| !it.disabled);
        let user = user.ok_or(FlowAccessError::Unknown)?;
        let recipient = Recipient::new(&user);

        let Visitor { session, guest_cookie, .. } = visitor;
        let (signed_in, guest) = (session.as_ref().map(|it| it.user), guest_cookie.as_ref().map(GuestCookie::owner));
        let access = loaded.flow.access(signed_in, guest.as_ref(), entry_point, self.guests);
        let back = address.to_owned();
        let participant = match (access, session) {
            (FlowAccess::Owner, Some(session)) => Participant::Owner(session),
            (FlowAccess::Guest, _) => Participant::Guest(guest_cookie.unwrap_or_else(GuestCookie::random)),
            (FlowAccess::AnotherBrowser, _) => return Err(FlowAccessError::AnotherBrowser),
            (FlowAccess::Denied, Some(session)) => {
                return Err(FlowAccessError::AnotherUser { session, owner: recipient.to_string(), back });
            }
            (FlowAccess::Denied | FlowAccess::Owner, None) if entry_point == EntryPoint::Form => {
                return Err(FlowAccessError::Page(PageError::signed_out(&sign_in(&back))));
            }
            (FlowAccess::Denied | FlowAccess::Owner, None) => return Err(FlowAccessError::SignedOut { back }),
        };
        if let (Some(link), Participant::Guest(browser)) = (&loaded.flow.link, &participant) {
            let now = self.api.clock.now();
            let found =
                self.api.store.remembered_connect_link(&link.key, now).await?.ok_or(FlowAccessError::Unknown)?;
            if loaded.flow.is_open(now) && found.check(Some(&browser.owner()), now).is_err() {
                return Err(FlowAccessError::LinkClosed { page: link_accounts_path(&link.key) });
            }
        }
        let brand = loaded.flow.link.as_ref().map(|_| self.connect_links.brand.clone());
        Ok(FlowVisit { loaded, participant, recipient, brand })
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
            Self::Guest(guest_cookie) => guest_cookie.check(csrf),
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
            Self::Guest(guest_cookie) => guest_cookie.owner(),
        }
    }

    pub(crate) fn respond(&self, inner: impl IntoResponse) -> Response {
        match self {
            Self::Owner(_) => inner.into_response(),
            Self::Guest(guest_cookie) => guest_cookie.respond(inner),
        }
    }
}

impl IntoResponse for FlowAccessError {
    fn into_response(self) -> Response {
        match self {
            Self::Unknown => PageError::unknown_link().into_response(),
            Self::SignedOut { back: return_path } => Redirect::to(&sign_in(&return_path)).into_response(),
            Self::AnotherUser { session, owner, back: return_path } => {
                let page = AnotherUserPage { owner, sign_in: sign_in_again_path(&return_path) };
                match Page::render("This belongs to another user", &page) {
                    Ok(page) => page.signed_in(&session).status(StatusCode::FORBIDDEN).into_response(),
                    Err(error) => error.into_response(),
                }
            }
            Self::AnotherBrowser => PageError::another_browser().into_response(),
            Self::LinkClosed { page } => Redirect::to(&page).into_response(),
            Self::Page(error) => error.into_response(),
        }
    }
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

impl From<ConnectingError> for FlowAccessError {
    fn from(error: ConnectingError) -> Self {
        match error {
            ConnectingError::UnknownFlow => Self::Unknown,
            error => ConnectionsError::from(error).into(),
        }
    }
}

#[cfg(test)]
mod tests;
