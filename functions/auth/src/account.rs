//! `/account`: who is signed in, and which devices have access.

use api::page::{Asked, Filled, Page, PageError, PageResult};
use api::{Api, SignedIn};
use askama::Template;
use axum::extract::State;
use axum::response::Redirect;
use chrono::{DateTime, Utc};
use domain::scope::{Scope, Scopes};
use serde::Deserialize;
use storage::{Race, TokenGrant};

#[derive(Deserialize)]
pub(crate) struct AccountQuery {
    #[serde(default)]
    revoked: bool,
}

#[derive(Deserialize)]
pub(crate) struct RevokeForm {
    csrf: String,
    grant: String,
}

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'a> {
    csrf: &'a str,
    name: &'a str,
    email: &'a str,
    devices: Vec<Device>,
    revoked: bool,
}

/// A device that has access, as the page shows it.
struct Device {
    grant: String,
    number: usize,
    has_all: bool,
    scopes: Vec<&'static str>,
    approved: String,
    used: String,
    expires: String,
}

/// Shows the account.
pub(crate) async fn account(
    State(api): State<Api>,
    session: SignedIn,
    Asked(query): Asked<AccountQuery>,
) -> PageResult<Page> {
    let (user, tokens) = futures::try_join!(api.store.user(session.user), api.store.tokens_of(session.user))?;
    let user = user.ok_or_else(|| PageError::signed_out("/sign-in"))?;
    let now = api.clock.now();
    let open = tokens.into_iter().filter(|(_, token)| now < token.expires_at);
    let page = AccountPage {
        csrf: session.csrf(),
        name: &user.name,
        email: &user.email,
        devices: open.enumerate().map(|(index, (hash, token))| Device::of(index + 1, hash, &token)).collect(),
        revoked: query.revoked,
    };
    Ok(Page::of("Your account", &page)?.signed_in(&session))
}

/// Ends a device's access.
pub(crate) async fn revoke(
    State(api): State<Api>,
    session: SignedIn,
    Filled(form): Filled<RevokeForm>,
) -> PageResult<Redirect> {
    session.check(&form.csrf)?;
    // When the token is gone already, there is nothing to revoke.
    if api.store.revoke_token(session.user, &form.grant).await? == Race::Won {
        tracing::info!(user_id = session.user.get(), "a token was revoked");
    }
    Ok(Redirect::to("/account?revoked=true"))
}

impl Device {
    fn of(number: usize, grant: String, token: &TokenGrant) -> Self {
        Self {
            grant,
            number,
            has_all: token.scopes == Scopes::of(&[]),
            scopes: token.scopes.iter().map(Scope::meaning).collect(),
            approved: date_and_time(token.created_at),
            // Without a time: the store notes the last use once a day only.
            used: token.last_used_at.format("%-d %B %Y").to_string(),
            expires: token.expires_at.format("%-d %B %Y").to_string(),
        }
    }
}

fn date_and_time(at: DateTime<Utc>) -> String {
    at.format("%-d %B %Y, %H:%M UTC").to_string()
}
