//! `/account/connections`: the page with a user's connections, their state and their buttons.

use api::SignedIn;
use api::page::{AccountPage, Page, PageQuery, PageResult, date};
use askama::Template;
use axum::extract::State;
use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::time_zone::TimeZone;
use domain::web_address::is_web_address;
use serde::Deserialize;

use crate::App;

#[derive(Deserialize)]
pub(crate) struct AccountsQuery {
    #[serde(default)]
    disconnected: bool,
}

#[derive(Template)]
#[template(path = "accounts.html")]
struct AccountsPage<'a> {
    csrf: &'a str,
    disconnected: bool,
    lost_grants: usize,
    accounts: Vec<AccountRow>,
    platforms: Vec<PlatformOption>,
}

struct AccountRow {
    id: String,
    platform: String,
    /// The name of the server's software: some servers that speak Mastodon's API have names of
    /// their own.
    title: String,
    name: String,
    /// `None` when it equals `name`.
    display_name: Option<String>,
    avatar: Option<String>,
    needs_reconnection: bool,
    is_offered: bool,
    since: String,
    /// The day on which only the user can renew the access; `None` when the service refreshes it.
    ends: Option<String>,
    pending: u32,
}

struct PlatformOption {
    name: &'static str,
    title: String,
}

/// Connections that need to be reconnected come first.
pub(crate) async fn show_accounts(
    State(app): State<App>,
    session: SignedIn,
    PageQuery(query): PageQuery<AccountsQuery>,
) -> PageResult<Page> {
    let (now, zone) = (app.api.clock.now(), session.zone());
    let connections = app.api.store.connections(session.user).await?;
    let mut accounts: Vec<_> = connections.into_iter().map(|it| AccountRow::new(it, &app, &zone, now)).collect();
    accounts.sort_by_key(|it| !it.needs_reconnection);
    let names = app.platforms.names().into_iter();
    let platforms =
        names.filter_map(|name| Some(PlatformOption { name, title: app.platforms.get(name)?.rules().title }));
    let page = AccountsPage {
        csrf: session.csrf(),
        disconnected: query.disconnected,
        lost_grants: accounts.iter().filter(|it| it.needs_reconnection).count(),
        accounts,
        platforms: platforms.collect(),
    };
    Ok(Page::render("Your connections", &page)?
        .signed_in(&session)
        .with_account_navigation(AccountPage::Connections)
        .with_images())
}

impl AccountRow {
    fn new(connection: Connection, app: &App, zone: &TimeZone, now: DateTime<Utc>) -> Self {
        let name = connection.profile.shown_name();
        Self {
            id: connection.connection_id.to_string(),
            is_offered: app.platforms.get(&connection.provider).is_some(),
            platform: connection.provider,
            title: connection.rules.title,
            display_name: connection.profile.display_name.filter(|it| *it != name),
            name,
            avatar: connection.profile.avatar.filter(|it| is_web_address(it)),
            needs_reconnection: connection.needs_reconnection,
            since: date(connection.created_at, zone),
            ends: connection.token_expires_at.filter(|it| now < *it).map(|it| date(it, zone)),
            pending: connection.pending,
        }
    }
}

#[cfg(test)]
mod tests;
