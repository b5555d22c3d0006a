//! `/account/connections`: the page with a user's connections, their state and their buttons.

mod account_group;
mod platform_lists;

use api::SignedIn;
use api::page::{AccountPage, Page, PageQuery, PageResult};
use askama::Template;
use axum::extract::State;
use serde::Deserialize;

use self::account_group::{AccountGroup, AccountRow};
use self::platform_lists::{MissingPlatform, OfferedPlatform, missing, offered};
use crate::App;

/// The page has a search for more accounts than this.
const MAX_WITHOUT_SEARCH: usize = 8;

#[derive(Deserialize)]
pub(crate) struct AccountsQuery {
    #[serde(default)]
    disconnected: bool,
    #[serde(default)]
    q: String,
}

#[derive(Template)]
#[template(path = "accounts.html")]
struct AccountsPage<'a> {
    csrf: &'a str,
    disconnected: bool,
    /// Like `lost_grants`, regardless of the search.
    total: usize,
    lost_grants: usize,
    has_search: bool,
    search: &'a str,
    groups: Vec<AccountGroup>,
    offered: Vec<OfferedPlatform>,
    missing: Vec<MissingPlatform>,
}

pub(crate) async fn show_accounts(
    State(app): State<App>,
    session: SignedIn,
    PageQuery(query): PageQuery<AccountsQuery>,
) -> PageResult<Page> {
    let (now, zone) = (app.api.clock.now(), session.zone());
    let connections = app.api.store.connections(session.user).await?;
    let rows = connections.into_iter().map(|it| AccountRow::new(it, &app.platforms, &zone, now));
    let mut accounts: Vec<_> = rows.collect();
    let total = accounts.len();
    let lost_grants = accounts.iter().filter(|it| it.needs_reconnection).count();
    let search = query.q.trim();
    accounts.retain(|it| it.matches(search));
    let page = AccountsPage {
        csrf: session.csrf(),
        disconnected: query.disconnected,
        total,
        lost_grants,
        // With few accounts a search in the URL is shown, too, because it filters them.
        has_search: MAX_WITHOUT_SEARCH < total || !search.is_empty(),
        search,
        groups: AccountGroup::all(accounts),
        offered: offered(&app.platforms),
        missing: missing(&app.platforms),
    };
    Ok(Page::render("Your connections", &page)?
        .signed_in(&session)
        .with_account_navigation(AccountPage::Connections)
        .with_images())
}

#[cfg(test)]
mod tests;
