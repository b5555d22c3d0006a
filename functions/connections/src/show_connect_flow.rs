//! `GET /connect/{state_token}`: the page of a connect flow, wherever it is.

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
use crate::access_error::FlowAccessError;
use crate::connect_flow::{AccountChoice, LoadedFlow};
use crate::error::ConnectionsError;
use crate::participant::{EntryPoint, FlowVisit, Visitor};
use crate::plan_limit::name_of;
use crate::recipient::Recipient;

/// The page that asks for what the platform has to know first, or only whether
/// to go on to the platform.
#[derive(Template)]
#[template(path = "ask.html")]
struct AskPage<'a> {
    action: String,
    csrf: String,
    title: &'a str,
    receiver: &'a Recipient,
    is_guest: bool,
    /// Whether the platform asks too. It does not where a secret is typed, which gives
    /// access by itself.
    is_asked_there: bool,
    inputs: Vec<Input>,
    fault: Option<&'a str>,
}

struct Input {
    name: &'static str,
    label: String,
    example: &'static str,
    kind: &'static str,
    hint: Option<String>,
    value: String,
    fault: Option<String>,
}

/// The page that leads on to the platform's own.
#[derive(Template)]
#[template(path = "depart.html")]
struct DepartPage<'a> {
    title: &'a str,
    receiver: &'a Recipient,
    url: &'a str,
    host: &'a str,
}

/// The page that asks which of several accounts to connect.
#[derive(Template)]
#[template(path = "choose.html")]
struct ChoosePage<'a> {
    action: String,
    csrf: String,
    title: &'a str,
    receiver: &'a Recipient,
    offers: &'a [AccountChoice],
    fault: Option<&'a str>,
    /// Whether all of them can be connected at once.
    can_take_all: bool,
}

/// The page that says how the connect flow ended, or that it is still running.
#[derive(Template)]
#[template(path = "end.html")]
struct EndPage<'a> {
    heading: &'a str,
    notice: &'a str,
    text: &'a str,
    is_good: bool,
    is_guest: bool,
    receiver: &'a Recipient,
}

/// What the person typed, and what is wrong with it.
#[derive(Default)]
pub(crate) struct Typed<'a> {
    pub(crate) values: BTreeMap<String, String>,
    pub(crate) faults: BTreeMap<&'static str, String>,
    pub(crate) fault: Option<&'a str>,
}

pub(crate) async fn show_connect_flow(
    Segments(state_token): Segments<String>,
    State(app): State<App>,
    known: Visitor,
) -> Result<Response, FlowAccessError> {
    let address = format!("/connect/{state_token}");
    let entered = app.enter(state_token, known, EntryPoint::Page, &address).await?;
    Ok(entered.participant.answer(page(&app, &entered).await?))
}

async fn page(app: &App, entered: &FlowVisit) -> Result<Response, FlowAccessError> {
    let now = app.api.clock.now();
    let connect_flow = &entered.flow.flow;
    let platform = app.platforms.get(&connect_flow.provider).ok_or(FlowAccessError::Unknown)?;
    let title = platform.rules().title;
    Ok(match connect_flow.state {
        FlowState::Completed => {
            let (notice, title) = connected_accounts(app, &entered.flow, title).await?;
            let close = "You can close this page and go back to where you came from.";
            let left_out = connect_flow.reason.as_deref().map(|it| format!("{it} {close}"));
            let text = left_out.as_deref().unwrap_or(close);
            entered.end(&format!("{title} is connected"), &notice, text, true)?.into_response()
        }
        FlowState::Failed => {
            let reason = connect_flow.reason.as_deref().unwrap_or("the platform refused");
            let text = "Nothing was connected. To try again, start over in the app that you came from. \
                        You can close this page.";
            entered.end(&format!("{title} is not connected"), &sentence(reason), text, false)?.into_response()
        }
        _ if !connect_flow.is_open(now) => {
            let text = "Nothing was connected. Start again in the app that you came from; you can close this page.";
            let page = entered.end("This link has expired", "It was good for ten minutes.", text, false)?;
            page.status(StatusCode::GONE).into_response()
        }
        FlowState::CollectingInput | FlowState::AwaitingCallback => {
            entered.ask(app, platform, Typed::default())?.into_response()
        }
        FlowState::AwaitingApproval if app.look_for_approval(&entered.flow).await? => {
            Redirect::to(&action(&entered.flow)).into_response()
        }
        FlowState::AwaitingApproval => app.wait_page(platform, entered).await?,
        FlowState::Completing => {
            let notice = format!("We are talking to {title}.");
            let page = entered.end("One moment", &notice, "This page goes on by itself.", true)?;
            leading_on(page, HeaderValue::from_static("2"))
        }
        FlowState::ChoosingAccounts => {
            let offers = app.account_choices(&entered.flow).await?;
            entered.choose(&title, &offers, None)?.into_response()
        }
    })
}

impl FlowVisit {
    /// The page that is shown before the platform's own page.
    pub(crate) fn ask(&self, app: &App, platform: &dyn Connect, mut typed: Typed<'_>) -> PageResult<Page> {
        let here = app.addresses(platform);
        let input = |field: &Field| Input {
            name: field.name,
            label: field.label_at(&here),
            example: field.example,
            kind: if field.secret { "password" } else { "text" },
            hint: field.hint_at(&here),
            // A secret is never sent back to the browser; it has to be typed again.
            value: typed.values.remove(field.name).filter(|_| !field.secret).unwrap_or_default(),
            fault: typed.faults.remove(field.name),
        };
        let inputs: Vec<Input> = platform.fields().iter().map(input).collect();
        let has_fault = typed.fault.is_some() || inputs.iter().any(|it| it.fault.is_some());
        let title = platform.rules().title;
        let page = AskPage {
            action: action(&self.flow),
            csrf: self.participant.csrf(),
            title: &title,
            receiver: &self.recipient,
            is_guest: self.participant.session().is_none(),
            is_asked_there: !platform.fields().iter().any(|it| it.secret && it.optional.is_none()),
            inputs,
            fault: typed.fault,
        };
        let page = self.framed(Page::of(format!("Connect {title}"), &page)?);
        Ok(if has_fault { page.status(StatusCode::UNPROCESSABLE_ENTITY) } else { page })
    }

    /// Sends the browser to the platform's page.
    pub(crate) fn depart(&self, platform: &dyn Connect, url: &str) -> Result<Response, FlowAccessError> {
        let (page, refresh) = redirect_page(platform, &self.recipient, url)?;
        Ok(leading_on(self.framed(page), refresh))
    }

    /// The page that asks for some of several accounts.
    pub(crate) fn choose(&self, title: &str, offers: &[AccountChoice], fault: Option<&str>) -> PageResult<Page> {
        let page = ChoosePage {
            action: action(&self.flow),
            csrf: self.participant.csrf(),
            title,
            receiver: &self.recipient,
            offers,
            fault,
            can_take_all: offers.len() <= MAX_CONNECTED,
        };
        let page = self.framed(Page::of("Choose accounts", &page)?.showing_avatars());
        Ok(if fault.is_some() { page.status(StatusCode::UNPROCESSABLE_ENTITY) } else { page })
    }

    /// The page that says why something was not done.
    pub(crate) fn refuse(&self, status: StatusCode, heading: &str, text: &str) -> Result<Response, FlowAccessError> {
        Ok(self.end(heading, "Nothing was changed.", text, false)?.status(status).into_response())
    }

    fn end(&self, heading: &str, notice: &str, text: &str, is_good: bool) -> PageResult<Page> {
        let is_guest = self.participant.session().is_none();
        let page = EndPage { heading, notice, text, is_good, is_guest, receiver: &self.recipient };
        Ok(self.framed(Page::of(heading, &page)?))
    }

    pub(crate) fn framed(&self, page: Page) -> Page {
        match self.participant.session() {
            Some(session) => page.signed_in(session),
            None => page,
        }
    }
}

/// A page that leads to the platform's, by this header. The browser goes there from
/// a page of ours and not by a redirect, because browsers check every redirect after
/// a form against the page's policy, which would have to allow forms to lead
/// anywhere.
pub(crate) fn redirect_page(
    platform: &dyn Connect,
    receiver: &Recipient,
    url: &str,
) -> Result<(Page, HeaderValue), PageError> {
    let refresh = HeaderValue::try_from(format!("0; url={url}")).map_err(|_| ConnectionsError::Memory)?;
    let title = platform.rules().title;
    let parsed = Url::parse(url).map_err(|_| ConnectionsError::Memory)?;
    let host = parsed.host_str().unwrap_or(&title);
    let page = DepartPage { title: &title, receiver, url, host };
    Ok((Page::of(format!("On to {title}"), &page)?, refresh))
}

pub(crate) fn leading_on(page: Page, refresh: HeaderValue) -> Response {
    let mut response = page.into_response();
    response.headers_mut().insert(REFRESH, refresh);
    response
}

/// Which accounts were connected, in a sentence, and what they are on: of the servers
/// that a platform has, some run other software and go by its name.
async fn connected_accounts(app: &App, visit: &LoadedFlow, title: String) -> Result<(String, String), FlowAccessError> {
    let connect_flow = &visit.flow;
    let is_of_it = |it: &Connection| {
        connect_flow.connection_id == Some(it.connection_id) || connect_flow.also_connected.contains(&it.connection_id)
    };
    let mut connected = app.api.store.connections(connect_flow.user_id).await?;
    connected.retain(is_of_it);
    let title = connected.first().map_or(title, |it| it.rules.title.clone());
    let names: Vec<String> = connected.iter().map(|it| name_of(&it.profile)).collect();
    let sentence = match &names[..] {
        [] => format!("Your {title} account is connected."),
        [name] => format!("{name} on {title} is connected."),
        [others @ .., last] => format!("{} and {last} on {title} are connected.", others.join(", ")),
    };
    Ok((sentence, title))
}

/// Makes a sentence of a reason, which may be in a platform's words.
fn sentence(reason: &str) -> String {
    let reason = reason.trim().trim_end_matches('.');
    let mut letters = reason.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

pub(crate) fn action(visit: &LoadedFlow) -> String {
    format!("/connect/{}", visit.state_token.expose_secret())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_as_a_sentence() {
        assert_eq!(sentence("it was cancelled"), "It was cancelled.");
        assert_eq!(sentence("Disconnect one first."), "Disconnect one first.");
    }
}
