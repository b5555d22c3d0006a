//! `/account`: the user's sessions, and the devices and apps with access.

use std::collections::{HashMap, HashSet};

use api::page::{AccountPage, Page, PageForm, PageQuery, PageResult, date, date_and_time};
use api::{Api, ClientIp, SignedIn};
use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use cloud::audit::{self, Event};
use domain::id::{ProfileId, UserId};
use domain::scope::Scope;
use domain::time_zone::TimeZone;
use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use storage::{CreatedBy, EndpointRecord, SessionGrant, StorageError, Store, TokenGrant, WriteOutcome};

use crate::App;
use crate::profile_choice::shown_name;
use crate::sign_in::signed_out;

/// Concurrent reads of profiles.
const PROFILE_READS: usize = 10;

#[derive(Deserialize)]
pub(crate) struct AccountQuery {
    #[serde(default)]
    revoked: bool,
    /// How many webhooks were deleted with it.
    #[serde(default)]
    webhooks: usize,
    /// Whether the time zone was changed.
    #[serde(default)]
    zone: bool,
}

#[derive(Deserialize)]
pub(crate) struct ZoneForm {
    csrf: String,
    zone: TimeZone,
}

#[derive(Deserialize)]
pub(crate) struct RevokeForm {
    csrf: String,
    /// A checkbox: whether the webhooks that were created with it are deleted too.
    delete_webhooks: Option<String>,
    #[serde(flatten)]
    what: Revocation,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Revocation {
    Grant(String),
    Session(String),
    #[expect(dead_code, reason = "the button has to have a value, which says nothing")]
    Everywhere(String),
    /// All sessions, and the access of all devices and apps.
    #[expect(dead_code, reason = "the button has to have a value, which says nothing")]
    Everything(String),
}

#[derive(Template)]
#[template(path = "account.html")]
struct AccessPage<'a> {
    csrf: &'a str,
    name: &'a str,
    email: &'a str,
    browsers: Vec<BrowserRow>,
    devices: Vec<DeviceRow>,
    webhooks: usize,
    revoked: bool,
    deleted: usize,
    zone: &'a str,
    zones: Vec<String>,
    is_zone_set: bool,
}

struct BrowserRow {
    session: String,
    number: usize,
    is_this: bool,
    since: String,
    address: String,
}

struct DeviceRow {
    grant: String,
    number: usize,
    client_name: Option<String>,
    /// The host of an app's metadata document.
    described_by: Option<String>,
    /// The name of the profile to which the access is limited.
    profile: Option<String>,
    has_all: bool,
    scopes: Vec<&'static str>,
    /// URLs of the webhooks that it created.
    webhooks: Vec<String>,
    approved: String,
    used: String,
    expires: String,
    ends: String,
}

pub(crate) async fn account(
    State(api): State<Api>,
    session: SignedIn,
    PageQuery(query): PageQuery<AccountQuery>,
) -> PageResult<Page> {
    let user = session.person();
    let (grants, webhooks) = futures::try_join!(api.store.grants_of(session.user), api.store.webhooks(session.user))?;
    let (now, zone) = (api.clock.now(), session.zone());
    let tokens: Vec<_> = grants.tokens.into_iter().filter(|it| now < it.1.expires_at).collect();
    let profiles = names_of_profiles(&api.store, session.user, &tokens).await?;
    // A token ends with its profile.
    let devices = tokens.into_iter().filter(|it| it.1.profile_id.is_none_or(|id| profiles.contains_key(&id)));
    let browsers = grants.sessions.into_iter();
    let browsers = browsers.filter(|it| now < it.1.expires_at && user.accepts_session(it.1.created_at));
    let page = AccessPage {
        csrf: session.csrf(),
        name: &user.name,
        email: &user.email,
        browsers: browsers.enumerate().map(|(index, it)| BrowserRow::new(index + 1, it.0, &it.1, &session)).collect(),
        devices: devices
            .enumerate()
            .map(|(index, it)| DeviceRow::new(index + 1, it, &profiles, &webhooks, &api, &zone))
            .collect(),
        webhooks: webhooks.len(),
        revoked: query.revoked,
        deleted: query.webhooks,
        zone: zone.name(),
        zones: TimeZone::names(),
        is_zone_set: query.zone,
    };
    Ok(Page::render("Your account", &page)?.signed_in(&session).with_account_navigation(AccountPage::Access))
}

/// Deleted profiles are absent.
async fn names_of_profiles(
    store: &Store,
    user: UserId,
    tokens: &[(String, TokenGrant)],
) -> Result<HashMap<ProfileId, String>, StorageError> {
    let ids: HashSet<_> = tokens.iter().filter_map(|it| it.1.profile_id).collect();
    let reads = ids.into_iter().map(|id| store.profile(user, id));
    let found: Vec<_> = stream::iter(reads).buffer_unordered(PROFILE_READS).try_collect().await?;
    Ok(found.into_iter().flatten().map(|it| (it.profile_id, shown_name(&it))).collect())
}

pub(crate) async fn set_time_zone(
    State(api): State<Api>,
    session: SignedIn,
    PageForm(form): PageForm<ZoneForm>,
) -> PageResult<Redirect> {
    session.check(&form.csrf)?;
    api.store.set_time_zone(session.user, &form.zone).await?;
    Ok(Redirect::to("/account?zone=true"))
}

pub(crate) async fn revoke(
    State(app): State<App>,
    session: SignedIn,
    address: ClientIp,
    PageForm(form): PageForm<RevokeForm>,
) -> PageResult<Response> {
    session.check(&form.csrf)?;
    let (store, user) = (&app.api.store, session.user);
    let log_entry = |entry: audit::Entry<'_>| entry.user(user).address(address.0).write();
    let mut deleted = 0;
    let delete_webhooks = async |created_by| {
        let count = if form.delete_webhooks.is_some() { store.remove_webhooks(user, created_by).await? } else { 0 };
        for _ in 0..count {
            log_entry(audit::Entry::new(Event::WebhookRemoved));
        }
        Ok::<_, StorageError>(count)
    };
    match form.what {
        // Already revoked is no error.
        Revocation::Grant(hash) => {
            if store.revoke_token(user, &hash).await? == WriteOutcome::Applied {
                log_entry(audit::Entry::new(Event::TokenRevoked).token(&hash));
            }
            // After the token is revoked, because it can create no more.
            deleted = delete_webhooks(CreatedBy::Token(&hash)).await?;
        }
        Revocation::Session(hash) => {
            if store.end_session(user, &hash).await? == WriteOutcome::Applied {
                log_entry(audit::Entry::new(Event::SignedOut));
            }
        }
        Revocation::Everywhere(_) => {
            store.sign_out_everywhere(user, app.api.clock.now()).await?;
            log_entry(audit::Entry::new(Event::SignedOutEverywhere));
            return signed_out(&app, api::session::signed_out()).await;
        }
        Revocation::Everything(_) => {
            // First, because this also ends approvals whose token was not fetched yet.
            store.sign_out_everywhere(user, app.api.clock.now()).await?;
            log_entry(audit::Entry::new(Event::SignedOutEverywhere));
            for hash in store.revoke_all_tokens(user).await? {
                log_entry(audit::Entry::new(Event::TokenRevoked).token(&hash));
            }
            delete_webhooks(CreatedBy::Anyone).await?;
            return signed_out(&app, api::session::signed_out()).await;
        }
    }
    Ok(Redirect::to(&format!("/account?revoked=true&webhooks={deleted}")).into_response())
}

impl BrowserRow {
    fn new(number: usize, session: String, grant: &SessionGrant, session_in_use: &SignedIn) -> Self {
        Self {
            is_this: session_in_use.is(&session),
            session,
            number,
            since: date_and_time(grant.created_at, &session_in_use.zone()),
            address: grant.address.to_string(),
        }
    }
}

impl DeviceRow {
    fn new(
        number: usize,
        (grant, token): (String, TokenGrant),
        profiles: &HashMap<ProfileId, String>,
        webhooks: &[EndpointRecord],
        api: &Api,
        zone: &TimeZone,
    ) -> Self {
        let own_webhooks = webhooks.iter().map(|it| &it.endpoint);
        let own_webhooks = own_webhooks.filter(|it| it.created_by.as_ref().is_some_and(|by| by.token == grant));
        Self {
            webhooks: own_webhooks.map(|it| it.url.to_string()).collect(),
            grant,
            number,
            client_name: token.client_name.as_ref().map(|it| it.as_str().to_owned()),
            described_by: token.client_id.as_ref().map(|it| it.host().to_owned()),
            profile: token.profile_id.and_then(|id| profiles.get(&id).cloned()),
            has_all: Scope::ALL.into_iter().all(|it| token.scopes.permit(it)),
            scopes: token.scopes.meanings(),
            approved: date_and_time(token.created_at, zone),
            // A day without a time, because the store records the last use once a day.
            used: date(token.last_used_at, zone),
            expires: date(token.expires_at, zone),
            ends: date(token.created_at + api.token_lifetime.at_most, zone),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::device_grant::DeviceGrantState;
    use domain::id::UserId;
    use domain::testing::a_user;
    use domain::token;
    use domain::user::User;
    use domain::webhook::{Creator, EndpointUrl, WebhookEndpoint, WebhookSecrets};
    use serde_json::json;
    use storage::{EndpointAdded, EndpointRecord};

    use crate::testing::{Service, service};

    #[tokio::test]
    async fn user_sees_sessions_and_signs_out_here_or_everywhere() {
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

    /// Stores a webhook endpoint, created with this token or, without one, in a session.
    async fn webhook(service: &Service, user: UserId, token: Option<&str>, url: &str) {
        let creator = token.map(|it| Creator { token: token::hash(it), client_name: None, client_id: None });
        let url = EndpointUrl::parse(url).unwrap();
        let endpoint =
            WebhookEndpoint::new(user, service.api.ids.fresh(), url, Vec::new(), creator, service.clock.now());
        let record = EndpointRecord { endpoint, secrets: WebhookSecrets::new(vec![1]) };
        assert_eq!(service.store.add_webhook(&record).await.unwrap(), EndpointAdded::Added);
    }

    async fn approved_token(service: &Service, user: &User) -> String {
        let device = service.device().await;
        service.decide(&device, user, DeviceGrantState::Approved).await;
        let answer = service.post("/api/v1/auth/device/token", None, json!({"device_code": device.code})).await;
        answer.body["access_token"].as_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn revoking_a_token_can_delete_the_webhooks_that_it_created() {
        let service = service().await;
        let here = service.sign_in("one@example.com", "/account").await.session();
        let user = User { user_id: service.session_user(&here).await, ..a_user() };
        let (kept, gone) = (approved_token(&service, &user).await, approved_token(&service, &user).await);
        webhook(&service, user.user_id, Some(&kept), "https://kept.example/").await;
        webhook(&service, user.user_id, Some(&gone), "https://gone.example/").await;
        webhook(&service, user.user_id, None, "https://session.example/").await;
        let left = async || {
            let all = service.store.webhooks(user.user_id).await.unwrap();
            all.iter().map(|it| it.endpoint.url.url().host_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let page = service.page("/account", &here).await.text;
        assert!(page.contains("https://gone.example/") && page.contains("Also delete"), "{page}");
        assert!(!page.contains("session.example"), "{page}");

        let csrf = service.csrf(&here).await;
        let form = |hash: &str| vec![("csrf", csrf.clone()), ("grant", token::hash(hash))];
        let revoke = async |form: Vec<(&str, String)>| {
            let form: Vec<_> = form.iter().map(|it| (it.0, it.1.as_str())).collect();
            service.submit("/account/revoke", &here, &form).await
        };
        let mut with_webhooks = form(&gone);
        with_webhooks.push(("delete_webhooks", "true".to_owned()));
        let answer = revoke(with_webhooks).await;
        assert_eq!((answer.status, answer.header("location")), (303, "/account?revoked=true&webhooks=1"));
        assert_eq!(left().await, ["kept.example", "session.example"]);
        revoke(form(&kept)).await;
        assert_eq!(left().await, ["kept.example", "session.example"], "only where the box is checked");

        let everything = vec![("csrf", csrf.clone()), ("everything", "true".to_owned())];
        service.clock.advance(TimeDelta::seconds(1));
        let page = service.page("/account", &here).await.text;
        assert!(page.contains("Also delete your 2 webhooks"), "{page}");
        revoke(everything.into_iter().chain([("delete_webhooks", "true".to_owned())]).collect()).await;
        assert!(left().await.is_empty());
    }

    #[tokio::test]
    async fn revoking_everything_ends_every_session_and_token() {
        let service = service().await;
        let here = service.sign_in("one@example.com", "/account").await.session();
        let user = User { user_id: service.session_user(&here).await, ..a_user() };
        let mut tokens = Vec::new();
        for _ in 0..2 {
            tokens.push(approved_token(&service, &user).await);
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
        assert!(service.page("/account", &again).await.text.contains("No device or app has access"));
    }
}
