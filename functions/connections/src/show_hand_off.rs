//! `GET /connect/{state_token}`: the page of a hand-off, wherever it is.
//!
//! Whoever has the state token in the address may see the page: the person may
//! use another browser than the client, and need not be signed in here.

use std::collections::BTreeMap;

use api::Segments;
use api::page::{Page, PageError, PageResult};
use askama::Template;
use axum::extract::State;
use axum::http::header::REFRESH;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use platforms::{Connect, Field};
use secrecy::ExposeSecret;
use storage::Stage;

use crate::App;
use crate::hand_off::{Offer, Visit};

/// The page that asks for what the platform has to know first, or only whether
/// to go on to the platform.
#[derive(Template)]
#[template(path = "ask.html")]
pub(crate) struct AskPage<'a> {
    action: String,
    title: &'a str,
    inputs: Vec<Input>,
    fault: Option<&'a str>,
}

struct Input {
    name: &'static str,
    label: &'static str,
    example: &'static str,
    kind: &'static str,
    hint: Option<&'static str>,
    value: String,
    fault: Option<String>,
}

/// The page that asks which of several accounts to connect.
#[derive(Template)]
#[template(path = "choose.html")]
struct ChoosePage<'a> {
    action: String,
    title: &'a str,
    offers: &'a [Offer],
}

/// The page that says how the hand-off ended, or that it is still running.
#[derive(Template)]
#[template(path = "end.html")]
struct EndPage<'a> {
    heading: &'a str,
    notice: &'a str,
    text: &'a str,
    is_good: bool,
}

/// What the person typed, and what is wrong with it.
#[derive(Default)]
pub(crate) struct Typed<'a> {
    pub(crate) values: BTreeMap<String, String>,
    pub(crate) faults: BTreeMap<&'static str, String>,
    pub(crate) fault: Option<&'a str>,
}

pub(crate) async fn show_hand_off(
    Segments(state_token): Segments<String>,
    State(app): State<App>,
) -> PageResult<Response> {
    let now = app.api.clock.now();
    let visit = app.visit(state_token, now).await?.ok_or_else(unknown)?;
    let platform = app.platforms.get(&visit.hand_off.provider).ok_or_else(unknown)?;
    let title = platform.rules().title;
    match visit.hand_off.stage {
        Stage::Completed => connected_page(&app, &visit, &title).await,
        Stage::Failed => {
            let reason = visit.hand_off.reason.as_deref().unwrap_or("the platform refused");
            let text = "Nothing was connected. To try again, start over in the app that you came from. \
                        You can close this page.";
            let page = EndPage {
                heading: &format!("{title} is not connected"),
                notice: &sentence(reason),
                text,
                is_good: false,
            };
            page.show()
        }
        _ if !visit.hand_off.is_open(now) => Err(expired()),
        Stage::Asking | Stage::Waiting => Ok(ask_page(&app, platform, &visit, Typed::default())?.into_response()),
        Stage::Answering => {
            let notice = format!("We are talking to {title}.");
            let text = "This page goes on by itself.";
            let page = EndPage { heading: "One moment", notice: &notice, text, is_good: true };
            let mut response = page.show()?;
            response.headers_mut().insert(REFRESH, HeaderValue::from_static("2"));
            Ok(response)
        }
        Stage::Choosing => {
            let offers = app.offers(&visit).await?;
            Ok(choose_page(&visit, &title, &offers)?.into_response())
        }
    }
}

/// The page that is shown before the platform's own page.
pub(crate) fn ask_page(app: &App, platform: &dyn Connect, visit: &Visit, mut typed: Typed<'_>) -> PageResult<Page> {
    let input = |field: &Field| Input {
        name: field.name,
        label: field.label,
        example: field.example,
        kind: if field.secret { "password" } else { "text" },
        hint: field.optional,
        // A secret is never sent back to the browser; it has to be typed again.
        value: typed.values.remove(field.name).filter(|_| !field.secret).unwrap_or_default(),
        fault: typed.faults.remove(field.name),
    };
    let inputs: Vec<Input> = platform.fields().iter().map(input).collect();
    let has_fault = typed.fault.is_some() || inputs.iter().any(|it| it.fault.is_some());
    let title = platform.rules().title;
    let page = AskPage { action: action(visit), title: &title, inputs, fault: typed.fault };
    let page = Page::of(format!("Connect {title}"), &page)?.forms_may_leave(&app.api.origin);
    Ok(if has_fault { page.status(StatusCode::UNPROCESSABLE_ENTITY) } else { page })
}

/// The page that asks for one of several accounts.
fn choose_page(visit: &Visit, title: &str, offers: &[Offer]) -> PageResult<Page> {
    let page = ChoosePage { action: action(visit), title, offers };
    Ok(Page::of("Choose an account", &page)?.showing_avatars())
}

async fn connected_page(app: &App, visit: &Visit, title: &str) -> PageResult<Response> {
    let record = match visit.hand_off.connection_id {
        Some(id) => app.api.store.connection(visit.hand_off.user_id, id).await?,
        None => None,
    };
    let name = record.and_then(|it| {
        let profile = it.connection.profile;
        profile.username.map(|it| format!("@{it}")).or(profile.display_name)
    });
    let account = name.map_or_else(|| format!("Your {title} account"), |it| format!("{it} on {title}"));
    let page = EndPage {
        heading: &format!("{title} is connected"),
        notice: &format!("{account} is connected."),
        text: "You can close this page and go back to where you came from.",
        is_good: true,
    };
    page.show()
}

impl EndPage<'_> {
    fn show(&self) -> PageResult<Response> {
        Ok(Page::of(self.heading, self)?.into_response())
    }
}

/// Makes a sentence of a reason, which may be in a platform's words.
fn sentence(reason: &str) -> String {
    let reason = reason.trim().trim_end_matches('.');
    let mut letters = reason.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

pub(crate) fn action(visit: &Visit) -> String {
    format!("/connect/{}", visit.state_token.expose_secret())
}

/// The page for a hand-off that does not exist, or no longer.
pub(crate) fn unknown() -> PageError {
    let text = "It is not known, or too old. Go back to where you came from and start again.";
    PageError::new(StatusCode::NOT_FOUND, "This link leads nowhere", text)
}

/// The page for a hand-off that has expired.
pub(crate) fn expired() -> PageError {
    let text = "It was good for ten minutes. Nothing was connected. Start again in the app that you came from; \
                you can close this page.";
    PageError::new(StatusCode::GONE, "This link has expired", text)
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
