//! `/`: the start page.

use api::page::{Page, PageResult};
use api::{Api, SignedIn};
use askama::Template;
use axum::extract::State;

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage<'a> {
    origin: &'a str,
    is_signed_in: bool,
}

pub(crate) async fn start_page(State(api): State<Api>, session: Option<SignedIn>) -> PageResult<Page> {
    let page = Page::render("Start", &StartPage { origin: &api.origin, is_signed_in: session.is_some() })?;
    Ok(match session {
        Some(session) => page.signed_in(&session),
        None => page,
    })
}
