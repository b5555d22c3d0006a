//! Requests through the routes, with an embedded store and scripted platforms.

mod fake_platforms;

use std::sync::{Arc, Mutex};

use api::page::Brand;
use api::{Api, ClientIp, SignedIn};
use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use chrono::TimeDelta;
use cloud::events::{EventBus, EventError};
use cloud::seal::{DataKey, Envelope, LocalKeys};
use domain::access_token::AccessToken;
use domain::clock::Clock;
use domain::event::Event;
use domain::id::{ConnectionId, PostId, ProfileId};
use domain::media::{Attachment, Facts, MimeType};
use domain::options::{OptionKind, OptionSpec, OptionValue, PlatformOptions};
use domain::post::Post;
use domain::scope::{Scope, Scopes};
use domain::testing::{a_post, a_user, an_attachment, noon};
use domain::user::User;
use http_body_util::BodyExt;
use platforms::Registry;
use secrecy::ExposeSecret;
use serde_json::Value;
use storage::{Identity, LimitSubject, PostWrite, TokenGrant};
use tower::ServiceExt;

pub(crate) use self::fake_platforms::{FakePlatforms, PlatformBehavior, TestPlatform};
use crate::{App, ConnectLinkSettings, Guests, ReturnOrigins};

/// The service with two users and three platforms: `plain`, `asking` (has form fields), and
/// `elsewhere` (users approve in an app, as they do at the server `app.example` of `asking`).
pub(crate) struct Harness {
    pub(crate) clock: Clock,
    pub(crate) platform: Arc<FakePlatforms>,
    pub(crate) events: Arc<RecordedEvents>,
    api: Api,
    router: Router,
    user: User,
    token: String,
    another: String,
    signed_in: Browser,
    another_signed_in: Browser,
}

fn connect_links() -> ConnectLinkSettings {
    let return_origins = ReturnOrigins::parse("https://product.example").unwrap();
    ConnectLinkSettings { brand: Brand::default(), return_origins }
}

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("title", OptionKind::Text { max: 10 }, "Its title."),
    OptionSpec::new("board", OptionKind::Choice { max: 10 }, "Where it stands."),
];

#[derive(Clone, Default)]
pub(crate) struct Browser {
    pub(crate) cookie: String,
    pub(crate) csrf: String,
}

impl Browser {
    /// A visitor without a session who has received this page.
    pub(crate) fn of(page: &TestResponse) -> Self {
        let cookie = page.set_cookie.as_deref().unwrap_or_default().split(';').next().unwrap().to_owned();
        let csrf = page.html.split("name=\"csrf\" value=\"").nth(1).map(|it| it.split('"').next().unwrap().to_owned());
        Self { cookie, csrf: csrf.unwrap_or_default() }
    }
}

pub(crate) struct StartedTestFlow {
    pub(crate) platform: &'static str,
    pub(crate) token: String,
}

pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    /// The target of the header `Refresh`.
    pub(crate) refresh_url: Option<String>,
    pub(crate) set_cookie: Option<String>,
    pub(crate) retry_after: Option<String>,
    pub(crate) cache_control: Option<String>,
    /// Null when the body is not JSON.
    pub(crate) body: Value,
    pub(crate) html: String,
}

impl Harness {
    pub(crate) async fn new() -> Self {
        Self::with_plan(serde_json::json!({})).await
    }

    pub(crate) async fn with_plan(plans: Value) -> Self {
        Self::open(plans, Guests::Denied).await
    }

    pub(crate) async fn with_guests() -> Self {
        Self::open(serde_json::json!({}), Guests::Permitted).await
    }

    async fn open(plans: Value, guests: Guests) -> Self {
        let api = api::testing::api().await;
        let clock = api.clock.clone();
        let platform = Arc::<FakePlatforms>::default();
        let events = Arc::<RecordedEvents>::default();
        let app = App {
            api: api.clone(),
            platforms: Registry::from_adapters(vec![
                Box::new(TestPlatform { name: "asking", fake: platform.clone() }),
                Box::new(TestPlatform { name: "elsewhere", fake: platform.clone() }),
                Box::new(TestPlatform { name: "plain", fake: platform.clone() }),
            ]),
            vocabulary: PlatformOptions::new([("plain", OPTIONS)]),
            sealer: Envelope::new(LocalKeys::new(DataKey::new([7; 32])), clock.clone()),
            events: events.clone(),
            plans: serde_json::from_value(plans).unwrap(),
            guests,
            connect_links: connect_links(),
        };
        let user = a_user();
        let token = sign_up(&api, &user, "1").await;
        let other = User { email: "another@example.com".to_owned(), ..a_user() };
        let another = sign_up(&api, &other, "2").await;
        let signed_in = signed_in(&api, &user).await;
        let another_signed_in = crate::testing::signed_in(&api, &other).await;
        let router = api::finish(crate::router(app), api.clone());
        Self { clock, platform, events, api, router, user, token, another, signed_in, another_signed_in }
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.call("GET", path, Some(&self.token), "").await
    }

    pub(crate) async fn get_as_another(&self, path: &str) -> TestResponse {
        self.call("GET", path, Some(&self.another), "").await
    }

    pub(crate) async fn post(&self, path: &str) -> TestResponse {
        self.call("POST", path, Some(&self.token), "").await
    }

    pub(crate) async fn delete(&self, path: &str) -> TestResponse {
        self.call("DELETE", path, Some(&self.token), "").await
    }

    pub(crate) async fn delete_as_another(&self, path: &str) -> TestResponse {
        self.call("DELETE", path, Some(&self.another), "").await
    }

    pub(crate) fn store(&self) -> storage::Store {
        self.api.store.clone()
    }

    pub(crate) fn sealer(&self) -> Arc<dyn cloud::seal::Sealer> {
        Envelope::new(LocalKeys::new(DataKey::new([7; 32])), self.clock.clone())
    }

    pub(crate) async fn visit(&self, path: &str) -> TestResponse {
        self.visit_in(&self.signed_in, path).await
    }

    pub(crate) async fn visit_in(&self, browser: &Browser, path: &str) -> TestResponse {
        self.send_request("GET", path, None, browser, "").await
    }

    /// Requests JSON, as the script of a page does.
    pub(crate) async fn fetch_in(&self, browser: &Browser, path: &str) -> TestResponse {
        let request = Request::get(path).header(header::COOKIE, &browser.cookie);
        self.respond(request.header(header::ACCEPT, "application/json").body(Body::empty()).unwrap()).await
    }

    pub(crate) fn browser(&self) -> &Browser {
        &self.signed_in
    }

    pub(crate) fn browser_of_another(&self) -> &Browser {
        &self.another_signed_in
    }

    pub(crate) fn recipient(&self) -> String {
        crate::recipient::Recipient::new(&self.user).to_string()
    }

    pub(crate) async fn begin(&self, platform: &'static str) -> StartedTestFlow {
        let answer = self.post(&format!("/api/v1/connections/connect/{platform}")).await;
        assert_eq!(answer.status, 201, "{}", answer.html);
        StartedTestFlow { platform, token: answer.body["state_token"].as_str().unwrap().to_owned() }
    }

    pub(crate) async fn poll(&self, begun: &StartedTestFlow) -> TestResponse {
        self.get(&format!("/api/v1/connections/connect/{}/status/{}", begun.platform, begun.token)).await
    }

    pub(crate) async fn callback(&self, begun: &StartedTestFlow, accounts: &str) -> TestResponse {
        let path = format!("/connect/callback/{}?state={}&code={accounts}", begun.platform, begun.token);
        self.visit(&path).await
    }

    pub(crate) async fn page(&self, begun: &StartedTestFlow) -> TestResponse {
        self.visit(&format!("/connect/{}", begun.token)).await
    }

    pub(crate) async fn send(&self, begun: &StartedTestFlow, form: &str) -> TestResponse {
        self.send_in(&self.signed_in, begun, form).await
    }

    pub(crate) async fn send_in(&self, browser: &Browser, begun: &StartedTestFlow, form: &str) -> TestResponse {
        let form = format!("csrf={}&{form}", browser.csrf);
        self.send_request("POST", &format!("/connect/{}", begun.token), None, browser, &form).await
    }

    pub(crate) async fn submit_in(&self, browser: &Browser, path: &str, form: &str) -> TestResponse {
        self.send_request("POST", path, None, browser, form).await
    }

    /// Connects an account through the whole flow.
    pub(crate) async fn connect(&self, account: &str) -> u64 {
        self.connect_with(&self.token, account).await
    }

    pub(crate) async fn send_json(&self, method: &str, path: &str, body: &Value) -> TestResponse {
        self.send_json_with(&self.token, method, path, body).await
    }

    pub(crate) async fn disable_user(&self) {
        assert!(self.api.store.set_disabled(self.user.user_id, true).await.unwrap().is_applied());
    }

    pub(crate) async fn limited_token(&self, profile: u64) -> String {
        self.granted(Scopes::from_requested(&[]), ProfileId::new(profile)).await
    }

    pub(crate) async fn token_with(&self, scopes: &[Scope]) -> String {
        self.granted(Scopes::from_requested(scopes), None).await
    }

    async fn granted(&self, scopes: Scopes, profile_id: Option<ProfileId>) -> String {
        let token = AccessToken::mint(self.user.user_id);
        let now = self.clock.now();
        let grant =
            TokenGrant { profile_id, ..TokenGrant::made(self.user.user_id, scopes, now, now + TimeDelta::days(1)) };
        assert!(self.api.store.put_token(&token.hash(), &grant).await.unwrap().is_applied());
        token.secret().expose_secret().to_owned()
    }

    pub(crate) async fn send_json_with(&self, token: &str, method: &str, path: &str, body: &Value) -> TestResponse {
        let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        self.respond(request.body(Body::from(body.to_string())).unwrap()).await
    }

    pub(crate) async fn begin_for(&self, profile: u64) -> StartedTestFlow {
        let begun = self.post(&format!("/api/v1/connections/connect/plain?profile_id={profile}")).await;
        StartedTestFlow { platform: "plain", token: begun.body["state_token"].as_str().unwrap().to_owned() }
    }

    pub(crate) async fn connect_for(&self, profile: u64, account: &str) -> u64 {
        let begun = self.begin_for(profile).await;
        self.callback(&begun, account).await;
        self.poll(&begun).await.body["connection"]["id"].as_u64().unwrap()
    }

    pub(crate) async fn connect_as_another(&self, account: &str) -> u64 {
        self.connect_with(&self.another, account).await
    }

    async fn connect_with(&self, token: &str, account: &str) -> u64 {
        let begun = self.call("POST", "/api/v1/connections/connect/plain", Some(token), "").await;
        let state = begun.body["state_token"].as_str().unwrap().to_owned();
        let browser = if token == self.token { &self.signed_in } else { &self.another_signed_in };
        self.visit_in(browser, &format!("/connect/callback/plain?state={state}&code={account}")).await;
        let path = format!("/api/v1/connections/connect/plain/status/{state}");
        let polled = self.call("GET", &path, Some(token), "").await;
        polled.body["connection"]["id"].as_u64().unwrap()
    }

    /// Stores a draft for an account, with a video of this duration.
    pub(crate) async fn draft(&self, account: u64, duration_ms: u64, options: &[(&str, OptionValue)]) -> u64 {
        self.draft_for(&[account], duration_ms, options).await
    }

    /// Like `draft`, for several accounts; the options are those of the first.
    pub(crate) async fn draft_for(&self, accounts: &[u64], duration_ms: u64, options: &[(&str, OptionValue)]) -> u64 {
        let mut connections = Vec::new();
        for account in accounts {
            let account = ConnectionId::new(*account).unwrap();
            let record = self.api.store.connection(self.user.user_id, account).await.unwrap().unwrap();
            connections.push(record.connection);
        }
        let mut post = a_post(&self.user, None, &connections);
        let facts = Some(Facts { duration_ms: Some(duration_ms), ..Facts::default() });
        post.media = vec![Attachment { mime_type: MimeType::Mp4, facts, ..an_attachment(1) }];
        post.targets[0].options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let write = PostWrite { after: Some(&post), ..PostWrite::default() };
        self.api.store.write_post(&write, noon()).await.unwrap();
        post.post_id.get()
    }

    /// Changes a post, as the posts function does.
    pub(crate) async fn change_post(&self, id: u64, change: impl FnOnce(&mut Post)) {
        let before = self.api.store.post(self.user.user_id, PostId::new(id).unwrap()).await.unwrap().unwrap();
        let mut after = Post { revision: before.revision + 1, ..before.clone() };
        change(&mut after);
        let write = PostWrite { before: Some(&before), after: Some(&after), ..PostWrite::default() };
        self.api.store.write_post(&write, noon()).await.unwrap();
    }

    pub(crate) async fn delete_post(&self, id: u64) {
        let before = self.api.store.post(self.user.user_id, PostId::new(id).unwrap()).await.unwrap().unwrap();
        self.api.store.write_post(&PostWrite { before: Some(&before), ..PostWrite::default() }, noon()).await.unwrap();
    }

    /// Makes other requests hold all of the user's permits until [`Harness::release_permits`].
    pub(crate) async fn hold_permits(&self) {
        for holder in ["a", "b", "c"] {
            self.api.store.record_permit(&self.requests(), holder, self.clock.now(), 1).await.unwrap();
        }
    }

    /// The subject whose calls the user's requests count against.
    pub(crate) fn requests(&self) -> LimitSubject {
        LimitSubject::requests_of_user(self.user.user_id)
    }

    pub(crate) async fn release_permits(&self) {
        for holder in ["a", "b", "c"] {
            self.api.store.release_permit(&self.requests(), holder).await.unwrap();
        }
    }

    pub(crate) async fn disconnect(&self, id: u64) {
        let (id, now) = (ConnectionId::new(id).unwrap(), self.api.clock.now());
        let outcome = self.api.store.delete_connection(self.user.user_id, id, now).await.unwrap();
        assert!(matches!(outcome, storage::Disconnected::Deleted { .. }), "{outcome:?}");
    }

    pub(crate) async fn lose_grant(&self, id: u64) {
        let id = ConnectionId::new(id).unwrap();
        let store = &self.api.store;
        let account = store.connection(self.user.user_id, id).await.unwrap().unwrap();
        let credentials = store.connection_credentials(&account).await.unwrap().unwrap();
        assert!(store.mark_needs_reconnection(id, &credentials, storage::LostGrant::Grant).await.unwrap());
    }

    /// Posts a form without a session, like a platform's callback.
    pub(crate) async fn post_signed(&self, path: &str, form: &str) -> TestResponse {
        self.call("POST", path, None, form).await
    }

    async fn call(&self, method: &str, path: &str, token: Option<&str>, form: &str) -> TestResponse {
        self.send_request(method, path, token, &Browser::default(), form).await
    }

    async fn send_request(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        browser: &Browser,
        form: &str,
    ) -> TestResponse {
        let mut request = Request::builder().method(method).uri(path).header(header::COOKIE, &browser.cookie);
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if !form.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        self.respond(request.body(Body::from(form.to_owned())).unwrap()).await
    }

    async fn respond(&self, request: Request<Body>) -> TestResponse {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let header = |name| response.headers().get(name).map(|it| it.to_str().unwrap().to_owned());
        let (location, set_cookie) = (header(header::LOCATION), header(header::SET_COOKIE));
        let (retry_after, cache_control) = (header(header::RETRY_AFTER), header(header::CACHE_CONTROL));
        let refresh_url = header(header::REFRESH).and_then(|it| Some(it.split_once("url=")?.1.to_owned()));
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let html = String::from_utf8(bytes.to_vec()).unwrap();
        TestResponse {
            status,
            location,
            refresh_url,
            set_cookie,
            retry_after,
            cache_control,
            body: serde_json::from_str(&html).unwrap_or_default(),
            html,
        }
    }
}

async fn sign_up(api: &Api, user: &User, subject: &str) -> String {
    let identity = Identity { issuer: "https://issuer.example".to_owned(), subject: subject.to_owned() };
    api.store.join(&identity, user).await.unwrap();
    let token = AccessToken::mint(user.user_id);
    // Long, because tests move the clock by days.
    let grant = TokenGrant::made(user.user_id, Scopes::from_requested(&[]), noon(), noon() + TimeDelta::days(180));
    api.store.put_token(&token.hash(), &grant).await.unwrap();
    token.secret().expose_secret().to_owned()
}

async fn signed_in(api: &Api, user: &User) -> Browser {
    let header = SignedIn::start(api, user.user_id, ClientIp([192, 0, 2, 1].into())).await.unwrap();
    let cookie = header.to_str().unwrap().split(';').next().unwrap().to_owned();
    let headers = [(header::COOKIE, cookie.parse().unwrap())].into_iter().collect();
    let session = SignedIn::find(api, &headers).await.unwrap().unwrap();
    Browser { cookie, csrf: session.csrf().to_owned() }
}

#[derive(Default)]
pub(crate) struct RecordedEvents(Mutex<Vec<Event>>);

impl RecordedEvents {
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().iter().map(|it| it.detail_type).collect()
    }
}

#[async_trait]
impl EventBus for RecordedEvents {
    async fn put(&self, events: &[Event]) -> Result<(), EventError> {
        self.0.lock().unwrap().extend_from_slice(events);
        Ok(())
    }
}
