//! `GET /connect/{state_token}`: the page of a connect flow, for each state.

use std::collections::BTreeMap;

use api::Segments;
use api::page::{Page, PageError, PageResult};
use askama::Template;
use axum::extract::State;
use axum::http::header::REFRESH;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use domain::connection::Connection;
use platforms::{Connect, Field};
use secrecy::ExposeSecret;
use storage::{FlowState, MAX_CONNECTED};
use url::Url;

use crate::App;
use crate::connect_flow::{AccountChoice, LoadedFlow};
use crate::error::ConnectionsError;
use crate::flow_access_error::FlowAccessError;
use crate::participant::{EntryPoint, FlowVisit, Visitor};
use crate::plan_limit::account_name;
use crate::recipient::Recipient;

/// Asks for the platform's field values, or only for confirmation.
#[derive(Template)]
#[template(path = "ask.html")]
struct FormPage<'a> {
    action: String,
    csrf: String,
    title: &'a str,
    recipient: &'a Recipient,
    is_guest: bool,
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

/// Redirects to the platform's page.
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

/// Shows how the connect flow ended, or that it is still running.
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
    recipient: &'a Recipient,
}

/// The typed values and the errors in them.
#[derive(Default)]
pub(crate) struct TypedValues<'a> {
    pub(crate) values: BTreeMap<String, String>,
    pub(crate) field_errors: BTreeMap<&'static str, String>,
    pub(crate) error: Option<&'a str>,
}

pub(crate) async fn show_connect_flow(
    Segments(state_token): Segments<String>,
    State(app): State<App>,
    visitor: Visitor,
) -> Result<Response, FlowAccessError> {
    let address = format!("/connect/{state_token}");
    let visit = app.enter(state_token, visitor, EntryPoint::Page, &address).await?;
    Ok(visit.participant.respond(page(&app, &visit).await?))
}

async fn page(app: &App, visit: &FlowVisit) -> Result<Response, FlowAccessError> {
    let now = app.api.clock.now();
    let connect_flow = &visit.loaded.flow;
    let platform = app.platforms.get(&connect_flow.provider).ok_or(FlowAccessError::Unknown)?;
    let title = platform.rules().title;
    Ok(match connect_flow.state {
        FlowState::Completed => {
            let (notice, title) = describe_connected(app, &visit.loaded, title).await?;
            let close = "You can close this page and return to your app.";
            let left_out = connect_flow.reason.as_deref().map(|it| format!("{it} {close}"));
            let text = left_out.as_deref().unwrap_or(close);
            visit.end(&format!("{title} is connected"), &notice, text, true, false)?.into_response()
        }
        FlowState::Failed => {
            let reason = connect_flow.reason.as_deref().unwrap_or("the platform refused access");
            let text = format!("Nothing was connected. {}", visit.how_to_retry());
            visit.end(&format!("{title} is not connected"), &sentence(reason), &text, false, true)?.into_response()
        }
        _ if !connect_flow.is_open(now) => {
            let text = format!("Nothing was connected. {}", visit.how_to_retry());
            let page = visit.end("This link has expired", "A link is valid for ten minutes.", &text, false, true)?;
            page.status(StatusCode::GONE).into_response()
        }
        FlowState::CollectingInput | FlowState::AwaitingCallback => {
            visit.request_picture(app, platform, TypedValues::default())?.into_response()
        }
        FlowState::AwaitingApproval if app.check_approval(&visit.loaded).await? => {
            Redirect::to(&action(&visit.loaded)).into_response()
        }
        FlowState::AwaitingApproval => app.wait_page(platform, visit).await?,
        FlowState::Completing => {
            let notice = format!("Waiting for {title} to respond.");
            let page = visit.end("One moment", &notice, "This page reloads automatically.", true, false)?;
            with_refresh(page, HeaderValue::from_static("2"))
        }
        FlowState::ChoosingAccounts => {
            let choices = app.account_choices(&visit.loaded).await?;
            visit.choose(&title, &choices, None)?.into_response()
        }
    })
}

impl FlowVisit {
    pub(crate) fn request_picture(
        &self,
        app: &App,
        platform: &dyn Connect,
        mut typed: TypedValues<'_>,
    ) -> PageResult<Page> {
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
            is_asked_there: !platform.fields().iter().any(|it| it.secret && it.optional.is_none()),
            inputs,
            error: typed.error,
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
        let page = self.framed(Page::render("Choose accounts", &page)?.with_avatars());
        Ok(if error.is_some() { page.status(StatusCode::UNPROCESSABLE_ENTITY) } else { page })
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

    /// A sentence for a page without a result. Only an owner can start a new flow.
    pub(crate) fn how_to_retry(&self) -> String {
        match self.participant.session() {
            Some(_) => "Try again here, or start over in the app that you came from.".to_owned(),
            None => format!("To try again, ask {} for a new link.", self.recipient),
        }
    }

    fn end(&self, heading: &str, notice: &str, text: &str, is_good: bool, can_retry: bool) -> PageResult<Page> {
        let page = EndPage {
            heading,
            notice,
            text,
            is_good,
            is_guest: self.participant.session().is_none(),
            can_retry,
            csrf: self.participant.csrf(),
            platform: &self.loaded.flow.provider,
            recipient: &self.recipient,
        };
        Ok(self.framed(Page::render(heading, &page)?))
    }

    pub(crate) fn framed(&self, page: Page) -> Page {
        match self.participant.session() {
            Some(session) => page.signed_in(session),
            None => page,
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
    let refresh = HeaderValue::try_from(format!("0; url={url}")).map_err(|_| ConnectionsError::UnreadableState)?;
    let title = platform.rules().title;
    let parsed = Url::parse(url).map_err(|_| ConnectionsError::UnreadableState)?;
    let host = parsed.host_str().unwrap_or(&title);
    let page = RedirectPage { title: &title, recipient, url, host };
    Ok((Page::render(format!("Continue to {title}"), &page)?, refresh))
}

pub(crate) fn with_refresh(page: Page, refresh: HeaderValue) -> Response {
    let mut response = page.into_response();
    response.headers_mut().insert(REFRESH, refresh);
    response
}

/// A sentence that names the connected accounts, and the platform's name: some servers run other
/// software and have its name.
async fn describe_connected(
    app: &App,
    loaded: &LoadedFlow,
    title: String,
) -> Result<(String, String), FlowAccessError> {
    let connect_flow = &loaded.flow;
    let is_of_flow = |it: &Connection| {
        connect_flow.connection_id == Some(it.connection_id) || connect_flow.also_connected.contains(&it.connection_id)
    };
    let mut connected = app.api.store.connections(connect_flow.user_id).await?;
    connected.retain(is_of_flow);
    let title = connected.first().map_or(title, |it| it.rules.title.clone());
    let names: Vec<String> = connected.iter().map(|it| account_name(&it.profile)).collect();
    let sentence = match &names[..] {
        [] => format!("Your {title} account is connected."),
        [name] => format!("{name} on {title} is connected."),
        [others @ .., last] => format!("{} and {last} on {title} are connected.", others.join(", ")),
    };
    Ok((sentence, title))
}

/// Makes a reason, which may be a platform's message, a sentence.
fn sentence(reason: &str) -> String {
    let reason = reason.trim().trim_end_matches('.');
    let mut chars = reason.chars();
    let first = chars.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

pub(crate) fn action(loaded: &LoadedFlow) -> String {
    format!("/connect/{}", loaded.state_token.expose_secret())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_shown_as_a_sentence() {
        assert_eq!(sentence("you cancelled"), "You cancelled.");
        assert_eq!(sentence("Disconnect one first."), "Disconnect one first.");
    }
}
