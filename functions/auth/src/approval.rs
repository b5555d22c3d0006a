//! The consent page, for devices and for apps.

use api::SignedIn;
use api::page::{Page, PageResult};
use askama::Template;
use domain::name::ClientName;
use domain::scope::Scopes;
use http::StatusCode;

use crate::profile_choice::{ProfileField, ProfileInput};

pub(crate) enum Requester {
    Device(Device),
    /// An app that sent the user's browser here.
    Program(Program),
}

pub(crate) struct Device {
    pub(crate) user_code: String,
    pub(crate) asked_at: String,
    pub(crate) asked_from: String,
    pub(crate) is_from_here: bool,
}

pub(crate) struct Program {
    /// The secret of its request.
    pub(crate) request: String,
    /// The host of the client's metadata document.
    pub(crate) host: String,
    /// The host of the redirect URI.
    pub(crate) answered_at: String,
    pub(crate) is_on_this_machine: bool,
    /// Whether it asks to schedule posts, so that the user can limit it to drafts.
    pub(crate) asks_to_schedule: bool,
}

#[derive(Template)]
#[template(path = "approve.html")]
struct ApprovePage<'a> {
    csrf: &'a str,
    asker: &'a Requester,
    client_name: Option<&'a str>,
    scopes: Vec<&'static str>,
    profile: &'a ProfileField,
    email: &'a str,
}

impl Requester {
    pub(crate) fn page(
        &self,
        session: &SignedIn,
        client_name: Option<&ClientName>,
        scopes: &Scopes,
        profile: &ProfileField,
    ) -> PageResult<Page> {
        let page = ApprovePage {
            csrf: session.csrf(),
            asker: self,
            client_name: client_name.map(ClientName::as_str),
            scopes: scopes.meanings(),
            profile,
            email: &session.person().email,
        };
        let title = match self {
            Self::Device(_) => "Approve a device",
            Self::Program(_) => "Approve an app",
        };
        let status = if profile.fault.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        Ok(Page::render(title, &page)?.status(status).signed_in(session))
    }

    fn action(&self) -> &'static str {
        match self {
            Self::Device(_) => "/device",
            Self::Program(_) => "/oauth/authorize",
        }
    }

    /// The form field that identifies the request.
    fn field(&self) -> &'static str {
        match self {
            Self::Device(_) => "user_code",
            Self::Program(_) => "request",
        }
    }

    fn value(&self) -> &str {
        match self {
            Self::Device(device) => &device.user_code,
            Self::Program(program) => &program.request,
        }
    }

    fn can_offer_drafts(&self) -> bool {
        matches!(self, Self::Program(program) if program.asks_to_schedule)
    }
}
