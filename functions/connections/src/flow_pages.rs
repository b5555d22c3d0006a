//! The pages of a connect flow.

use std::collections::BTreeMap;

use api::page::{Page, PageError, PageResult};
use askama::Template;
use axum::http::header::REFRESH;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use connecting::{AccountChoice, LoadedFlow, link_accounts_path};
use domain::id::ProfileId;
use domain::web_address::is_web_address;
use platforms::{Connect, Field, Instructions};
use secrecy::ExposeSecret;
use storage::MAX_CONNECTED;
use url::Url;

use crate::App;
use crate::error::ConnectionsError;
use crate::participant::{FlowAccessError, FlowVisit};
use crate::recipient::Recipient;

/// An account id follows.
pub(crate) const ACCOUNT_FIELD: &str = "account.";

#[derive(Template)]
#[template(path = "ask.html")]
struct FormPage<'a> {
    action: String,
    csrf: String,
    title: &'a str,
    recipient: &'a Recipient,
    is_guest: bool,
    /// The permissions that a guest gives, for a sentence.
    permissions: &'static str,
    /// Whether the platform asks for consent. It does not when a typed secret alone gives access.
    is_asked_there: bool,
    inputs: Vec<Input>,
    error: Option<&'a str>,
}

struct Input {
    name: &'static str,
    label: String,
    example: &'static str,
    kind: &'static str,
    hint: Option<String>,
    value: String,
    error: Option<String>,
}

#[derive(Template)]
#[template(path = "redirect.html")]
struct RedirectPage<'a> {
    title: &'a str,
    recipient: &'a Recipient,
    url: &'a str,
    host: &'a str,
}

#[derive(Template)]
#[template(path = "choose.html")]
struct ChoosePage<'a> {
    action: String,
    csrf: String,
    title: &'a str,
    recipient: &'a Recipient,
    choices: &'a [AccountChoice],
    error: Option<&'a str>,
    /// False when there are more than one write can store.
    can_connect_all: bool,
}

#[derive(Template)]
#[template(path = "end.html")]
struct EndPage<'a> {
    heading: &'a str,
    notice: &'a str,
    text: &'a str,
    is_good: bool,
    is_guest: bool,
    /// Whether an owner can start again on the page.
    can_retry: bool,
    csrf: String,
    platform: &'a str,
    /// The customer who connects an account.
    profile: Option<ProfileId>,
    recipient: &'a Recipient,
    /// The page of the connect link.
    link: Option<String>,
}

#[derive(Default)]
pub(crate) struct TypedValues {
    pub(crate) values: BTreeMap<String, String>,
    pub(crate) field_errors: BTreeMap<&'static str, String>,
    pub(crate) error: Option<String>,
}

/// In seconds, until the page reloads.
const RELOAD: HeaderValue = HeaderValue::from_static("5");

#[derive(Template)]
#[template(path = "wait.html")]
struct WaitPage<'a> {
    action: String,
    csrf: String,
    title: &'a str,
    recipient: &'a Recipient,
    text: &'a str,
    url: Option<&'a str>,
    code: Option<&'a str>,
}

impl FlowVisit {
    pub(crate) fn form(&self, app: &App, platform: &dyn Connect, mut typed: TypedValues) -> PageResult<Page> {
        let urls = app.addresses(platform);
        let input = |field: &Field| Input {
            name: field.name,
            label: field.label_for(&urls),
            example: field.example,
            kind: if field.secret { "password" } else { "text" },
            hint: field.hint_for(&urls),
            // A secret is never sent back to the browser; the user types it again.
            value: typed.values.remove(field.name).filter(|_| !field.secret).unwrap_or_default(),
            error: typed.field_errors.remove(field.name),
        };
        let inputs: Vec<Input> = platform.fields().iter().map(input).collect();
        let has_error = typed.error.is_some() || inputs.iter().any(|it| it.error.is_some());
        let title = platform.rules().title;
        let page = FormPage {
            action: action(&self.loaded),
            csrf: self.participant.csrf(),
            title: &title,
            recipient: &self.recipient,
            is_guest: self.participant.session().is_none(),
            permissions: platforms::permissions(platform.name()),
            is_asked_there: !platform.fields().iter().any(|it| it.secret && it.optional.is_none()),
            inputs,
            error: typed.error.as_deref(),
        };
        let page = self.framed(Page::render(format!("Connect {title}"), &page)?);
        Ok(if has_error { page.status(StatusCode::UNPROCESSABLE_ENTITY) } else { page })
    }

    pub(crate) fn redirect(&self, platform: &dyn Connect, url: &str) -> Result<Response, FlowAccessError> {
        let (page, refresh) = redirect_page(platform, &self.recipient, url)?;
        Ok(with_refresh(self.framed(page), refresh))
    }

    pub(crate) fn choose(&self, title: &str, choices: &[AccountChoice], error: Option<&str>) -> PageResult<Page> {
        let page = ChoosePage {
            action: action(&self.loaded),
            csrf: self.participant.csrf(),
            title,
            recipient: &self.recipient,
            choices,
            error,
            can_connect_all: choices.len() <= MAX_CONNECTED,
        };
        let page = self.framed(Page::render("Choose accounts", &page)?.with_images());
        Ok(if error.is_some() { page.status(StatusCode::UNPROCESSABLE_ENTITY) } else { page })
    }

    pub(crate) fn wait(&self, title: &str, instructions: &Instructions) -> Result<Response, FlowAccessError> {
        let page = WaitPage {
            action: action(&self.loaded),
            csrf: self.participant.csrf(),
            title,
            recipient: &self.recipient,
            text: &instructions.text,
            url: instructions.url.as_deref().filter(|it| is_web_address(it)),
            code: instructions.code.as_deref(),
        };
        let page = self.framed(Page::render(format!("Approve access on {title}"), &page)?);
        Ok(with_refresh(page, RELOAD))
    }

    pub(crate) fn refuse(
        &self,
        status: StatusCode,
        heading: &str,
        text: &str,
        can_retry: bool,
    ) -> Result<Response, FlowAccessError> {
        Ok(self.end(heading, "Nothing was changed.", text, false, can_retry)?.status(status).into_response())
    }

    pub(crate) fn link_page(&self) -> Option<String> {
        self.loaded.flow.link.as_ref().map(|it| link_accounts_path(&it.key))
    }

    /// A sentence for a page without a result. Only an owner and the customer with a link can start a new flow.
    pub(crate) fn how_to_retry(&self) -> String {
        match self.participant.session() {
            _ if self.loaded.flow.link.is_some() => "Go back to try again or to choose another platform.".to_owned(),
            Some(_) => "Try again here, or start over in the app that you came from.".to_owned(),
            None => format!("To try again, ask {} for a new link.", self.recipient),
        }
    }

    pub(crate) fn end(
        &self,
        heading: &str,
        notice: &str,
        text: &str,
        is_good: bool,
        can_retry: bool,
    ) -> PageResult<Page> {
        let page = EndPage {
            heading,
            notice,
            text,
            is_good,
            is_guest: self.participant.session().is_none(),
            can_retry,
            csrf: self.participant.csrf(),
            platform: &self.loaded.flow.provider,
            profile: self.loaded.flow.of_profile.as_ref().map(|it| it.profile_id),
            recipient: &self.recipient,
            link: self.link_page(),
        };
        Ok(self.framed(Page::render(heading, &page)?))
    }

    pub(crate) fn framed(&self, page: Page) -> Page {
        match (&self.brand, self.participant.session()) {
            (Some(brand), _) => page.branded(brand),
            (None, Some(session)) => page.signed_in(session),
            (None, None) => page,
        }
    }
}

/// A page that redirects to the platform's page by this header. It is not a redirect response,
/// because browsers check every redirect after a form against the page's policy, which would have
/// to allow forms to lead anywhere.
pub(crate) fn redirect_page(
    platform: &dyn Connect,
    recipient: &Recipient,
    url: &str,
) -> Result<(Page, HeaderValue), PageError> {
    let refresh = HeaderValue::try_from(format!("0; url={url}")).map_err(|_| ConnectionsError::InvalidUrl)?;
    let title = platform.rules().title;
    let parsed = Url::parse(url).map_err(|_| ConnectionsError::InvalidUrl)?;
    let host = parsed.host_str().unwrap_or(&title);
    let page = RedirectPage { title: &title, recipient, url, host };
    Ok((Page::render(format!("Continue to {title}"), &page)?, refresh))
}

pub(crate) fn with_refresh(page: Page, refresh: HeaderValue) -> Response {
    let mut response = page.into_response();
    response.headers_mut().insert(REFRESH, refresh);
    response
}

pub(crate) fn action(loaded: &LoadedFlow) -> String {
    format!("/connect/{}", loaded.state_token.expose_secret())
}

/// Makes a reason, which may be a platform's message, a sentence.
pub(crate) fn sentence(reason: &str) -> String {
    let reason = reason.trim().trim_end_matches('.');
    let mut chars = reason.chars();
    let first = chars.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}
