//! `/account`: who is signed in and where, and which devices have access.

use api::page::{Asked, Filled, Page, PageResult, Part, date, date_and_time};
use api::{Api, ClientIp, SignedIn};
use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use cloud::audit::{self, Event};
use domain::scope::Scope;
use serde::Deserialize;
use storage::{Race, SessionGrant, TokenGrant};

use crate::App;
use crate::sign_in::signed_out;

#[derive(Deserialize)]
pub(crate) struct AccountQuery {
    #[serde(default)]
    revoked: bool,
}

#[derive(Deserialize)]
pub(crate) struct RevokeForm {
    csrf: String,
    #[serde(flatten)]
    what: Revoked,
}

/// What a form on the page ends.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Revoked {
    /// The access of this device.
    Grant(String),
    /// The session of this browser.
    Session(String),
    /// All sessions.
    #[expect(dead_code, reason = "the button has to have a value, which says nothing")]
    Everywhere(String),
    /// All sessions, and the access of all devices and programs.
    #[expect(dead_code, reason = "the button has to have a value, which says nothing")]
    Everything(String),
}

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'a> {
    csrf: &'a str,
    name: &'a str,
    email: &'a str,
    browsers: Vec<Browser>,
    devices: Vec<Device>,
    revoked: bool,
}

/// A browser that is signed in, as the page shows it.
struct Browser {
    session: String,
    number: usize,
    is_this: bool,
    since: String,
    address: String,
}

/// A device that has access, as the page shows it.
struct Device {
    grant: String,
    number: usize,
    client_name: Option<String>,
    /// The server that describes it, of a program.
    described_by: Option<String>,
    has_all: bool,
    scopes: Vec<&'static str>,
    approved: String,
    used: String,
    expires: String,
    ends: String,
}

/// Shows the account.
pub(crate) async fn account(
    State(api): State<Api>,
    session: SignedIn,
    Asked(query): Asked<AccountQuery>,
) -> PageResult<Page> {
    let (user, grants) = (session.person(), api.store.grants_of(session.user).await?);
    let now = api.clock.now();
    let devices = grants.tokens.into_iter().filter(|it| now < it.1.expires_at);
    let browsers = grants.sessions.into_iter();
    let browsers = browsers.filter(|it| now < it.1.expires_at && user.accepts_session_of(it.1.created_at));
    let page = AccountPage {
        csrf: session.csrf(),
        name: &user.name,
        email: &user.email,
        browsers: browsers.enumerate().map(|(index, it)| Browser::of(index + 1, it.0, &it.1, &session)).collect(),
        devices: devices.enumerate().map(|(index, it)| Device::of(index + 1, it.0, &it.1, &api)).collect(),
        revoked: query.revoked,
    };
    Ok(Page::of("Your account", &page)?.signed_in(&session).of_account(Part::Access))
}

/// Ends a device's access, a session, or all sessions.
pub(crate) async fn revoke(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    Filled(form): Filled<RevokeForm>,
) -> PageResult<Response> {
    session.check(&form.csrf)?;
    let (store, user) = (&app.api.store, session.user);
    let write = |entry: audit::Entry<'_>| entry.user(user).address(address.0).write();
    match form.what {
        // What is gone already need not be ended.
        Revoked::Grant(hash) => {
            if store.revoke_token(user, &hash).await? == Race::Won {
                write(audit::Entry::new(Event::TokenRevoked).token(&hash));
            }
        }
        Revoked::Session(hash) => {
            if store.end_session(user, &hash).await? == Race::Won {
                write(audit::Entry::new(Event::SignedOut));
            }
        }
        Revoked::Everywhere(_) => {
            store.sign_out_everywhere(user, app.api.clock.now()).await?;
            write(audit::Entry::new(Event::SignedOutEverywhere));
            return signed_out(&app, api::session::signed_out()).await;
        }
        Revoked::Everything(_) => {
            // First: it also ends approvals whose token was not fetched yet.
            store.sign_out_everywhere(user, app.api.clock.now()).await?;
            write(audit::Entry::new(Event::SignedOutEverywhere));
            for hash in store.revoke_all_tokens(user).await? {
                write(audit::Entry::new(Event::TokenRevoked).token(&hash));
            }
            return signed_out(&app, api::session::signed_out()).await;
        }
    }
    Ok(Redirect::to("/account?revoked=true").into_response())
}

impl Browser {
    fn of(number: usize, session: String, grant: &SessionGrant, this: &SignedIn) -> Self {
        Self {
            is_this: this.is(&session),
            session,
            number,
            since: date_and_time(grant.created_at),
            address: grant.address.to_string(),
        }
    }
}

impl Device {
    fn of(number: usize, grant: String, token: &TokenGrant, api: &Api) -> Self {
        Self {
            grant,
            number,
            client_name: token.client_name.as_ref().map(|it| it.as_str().to_owned()),
            described_by: token.client_id.as_ref().map(|it| it.host().to_owned()),
            has_all: Scope::ALL.into_iter().all(|it| token.scopes.permit(it)),
            scopes: token.scopes.meanings(),
            approved: date_and_time(token.created_at),
            // Without a time: the store notes the last use once a day only.
            used: date(token.last_used_at),
            expires: date(token.expires_at),
            ends: date(token.created_at + api.token_lifetime.at_most),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::a_user;
    use domain::user::User;
    use serde_json::json;
    use storage::DeviceStage;

    use crate::testing::service;

    #[tokio::test]
    async fn a_person_sees_where_they_are_signed_in_and_ends_it_here_or_everywhere() {
        let service = service().await;
        let here = service.sign_in("one@example.com", "/account").await.session();
        let there = service.sign_in("one@example.com", "/account").await.session();
        let other = service.sign_in("two@example.com", "/account").await.session();
        let open = async |session: &str| service.page("/account", session).await.status == 200;

        let account = service.page("/account", &here).await.text;
        let sessions: Vec<_> = account.split("name=\"session\" value=\"").skip(1).collect();
        assert_eq!((sessions.len(), account.matches("192.0.2.1").count()), (1, 2), "{account}");
        let csrf = service.csrf(&here).await;
        let form = [("csrf", csrf.as_str()), ("session", sessions[0].split('"').next().unwrap())];
        assert_eq!(service.submit("/account/revoke", &here, &form).await.status, 303);
        assert!(open(&here).await && !open(&there).await);

        service.clock.advance(TimeDelta::seconds(1));
        let there = service.sign_in("one@example.com", "/account").await.session();
        let form = [("csrf", csrf.as_str()), ("everywhere", "true")];
        let out = service.submit("/account/revoke", &here, &form).await;
        assert_eq!((out.status, out.header("set-cookie").contains("Max-Age=0")), (200, true));
        assert!(!open(&here).await && !open(&there).await && open(&other).await);
    }

    #[tokio::test]
    async fn a_person_whose_account_was_misused_ends_every_session_and_every_token() {
        let service = service().await;
        let here = service.sign_in("one@example.com", "/account").await.session();
        let user = User { user_id: service.session_user(&here).await, ..a_user() };
        let mut tokens = Vec::new();
        for _ in 0..2 {
            let device = service.device().await;
            service.decide(&device, &user, DeviceStage::Approved).await;
            let answer = service.post("/api/v1/auth/device/token", None, json!({"device_code": device.code})).await;
            tokens.push(answer.body["access_token"].as_str().unwrap().to_owned());
        }
        let reads = async |token: &str| service.send("GET", "/api/v1/user", Some(token), "").await.status;
        assert_eq!((reads(&tokens[0]).await, reads(&tokens[1]).await), (200, 200));
        service.clock.advance(TimeDelta::seconds(1));

        let csrf = service.csrf(&here).await;
        let out = service.submit("/account/revoke", &here, &[("csrf", &csrf), ("everything", "true")]).await;

        assert_eq!((out.status, out.header("set-cookie").contains("Max-Age=0")), (200, true));
        assert_ne!(service.page("/account", &here).await.status, 200);
        assert_eq!((reads(&tokens[0]).await, reads(&tokens[1]).await), (401, 401));
        service.clock.advance(TimeDelta::seconds(1));
        let again = service.sign_in("one@example.com", "/account").await.session();
        assert!(service.page("/account", &again).await.text.contains("No device has access"));
    }
}
