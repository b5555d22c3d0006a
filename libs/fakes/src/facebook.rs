//! Facebook: a person with Pages, and an app that proves every call.
//!
//! Made from the documentation of the Graph API v26.0 and the lists of the business SDK.
//! Parameters that a call does not have are refused, and calls without
//! `appsecret_proof`. What is not imitated: people who see posts, reviews of apps, and
//! how often may be called, but for what its headers say.

mod access;
mod fake_platform;
mod front;
mod nodes;
mod photos;
mod posts;
mod videos;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use chrono::TimeDelta;
use domain::clock::Clock;
use serde_json::Value;

use self::access::Page;
use self::photos::Photo;
use self::posts::Post;
use self::videos::Video;
use crate::fake::oauth::{self, Client, Pkce, Refresh, Rules};
use crate::fake::request_log::RequestLog;
use crate::fake::server;
use crate::meta::error::GraphError;

/// The name of the person, by which they choose themselves.
pub const PERSON: &str = "ada.keeper";

/// Their id, which this app alone knows them by.
pub const PERSON_ID: &str = "10158000000000042";

/// The id of the Page that they post on.
pub const PAGE: &str = "108824017345866";

/// The configuration of an app with Facebook Login for Business.
const CONFIGURATION: &str = "1234509876";

/// The permissions that there are.
const SCOPES: &[&str] = &[
    "pages_show_list",
    "pages_read_engagement",
    "pages_manage_posts",
    "pages_manage_engagement",
    "business_management",
];

/// What the documentation says of its OAuth.
const RULES: Rules = Rules {
    clients: &[Client::Body],
    pkce: Pkce::Unknown,
    scopes: SCOPES,
    separator: ',',
    page: &[("auth_type", "rerequest")],
    // The first token, which is exchanged for one of sixty days.
    access_lives: Some(TimeDelta::hours(1)),
    refresh: Refresh::None,
    ..Rules::STANDARD
};

/// Like `new`, with a login configuration that sets the permissions.
const BUSINESS: Rules = Rules {
    default_scope: Some(
        "pages_show_list,pages_read_engagement,pages_manage_posts,pages_manage_engagement,business_management",
    ),
    page: &[("config_id", CONFIGURATION), ("override_default_response_type", "true")],
    ..RULES
};

/// Facebook. With `CONFIGURED`, the app has Facebook Login for Business.
pub struct Facebook<const CONFIGURED: bool = false> {
    fake: Arc<Fake>,
    /// What arrived.
    pub request_log: RequestLog,
}

type Fake = server::FakeServer<Memory>;

struct Memory {
    pages: Vec<Page>,
    /// Tokens of Pages: of which Page, and by which grant.
    page_tokens: BTreeMap<String, (String, usize)>,
    /// Whether tokens of Pages have ended, because the person has another password.
    has_other_password: bool,
    declined: Vec<String>,
    photos: BTreeMap<String, Photo>,
    videos: BTreeMap<String, Video>,
    /// Everything that is public, oldest first.
    posts: Vec<Post>,
    /// Comments, with what each is under.
    comments: Vec<(String, String)>,
    /// What the next call of a method and path is answered.
    refusals: BTreeMap<String, (u16, Value)>,
    /// Whether Pages are not to be seen with their tokens any more.
    is_hidden: bool,
    /// After so many bytes the next upload of a reel or story breaks off.
    breaks_after: Option<usize>,
    /// Whether no video can be processed.
    spoils: bool,
    /// Percentage of the calls that were made.
    used: u64,
    /// Numbers everything that is made.
    made: u64,
}

impl Memory {
    fn new() -> Self {
        Self {
            pages: vec![Page::new(PAGE, "Harbour Lights", Some("harbourlights"), &["CREATE_CONTENT", "MANAGE"])],
            page_tokens: BTreeMap::new(),
            has_other_password: false,
            declined: Vec::new(),
            photos: BTreeMap::new(),
            videos: BTreeMap::new(),
            posts: Vec::new(),
            comments: Vec::new(),
            refusals: BTreeMap::new(),
            is_hidden: false,
            breaks_after: None,
            spoils: false,
            used: 3,
            made: 900_000_000_000_000,
        }
    }

    /// A number that nothing else has.
    fn next(&mut self) -> String {
        self.made += 7;
        self.made.to_string()
    }
}

impl<const CONFIGURED: bool> Facebook<CONFIGURED> {
    /// Starts one on a free port. It tells the time by `clock`.
    pub async fn start(clock: Clock) -> Self {
        let routes = oauth::page_at::<Fake>("/v26.0/dialog/oauth")
            .route("/v26.0/oauth/access_token", get(access::give))
            .route("/v26.0/me", get(access::me))
            .route("/v26.0/me/permissions", get(access::permissions).delete(access::end))
            .route("/v26.0/me/accounts", get(access::accounts))
            .route("/v26.0/me/businesses", get(access::businesses))
            .route("/v26.0/{id}", get(nodes::node))
            .route("/v26.0/{id}/{edge}", get(nodes::list).post(nodes::create))
            .route("/video-upload/v26.0/{id}", post(videos::receive))
            .layer(DefaultBodyLimit::disable());
        let rules = if CONFIGURED { BUSINESS } else { RULES };
        let fake = Fake::serve("facebook", clock, rules, Memory::new(), routes).await;
        Self { request_log: fake.request_log.clone(), fake }
    }

    pub fn app_secret(&self) -> &str {
        &self.fake.app.client_secret
    }

    /// The person may do this on another Page as well.
    pub fn has_page(&self, id: &str, name: &str, tasks: &[&str]) {
        self.fake.memory().pages.push(Page::new(id, name, None, tasks));
    }

    /// A portfolio has another Page, on which the person may do something or nothing.
    pub fn add_portfolio_page(&self, id: &str, name: &str, may: bool) {
        let page = Page::new(id, name, None, if may { &["CREATE_CONTENT"] } else { &[] });
        self.fake.memory().pages.push(page.in_portfolio());
    }

    /// From now on there are no Pages.
    pub fn remove_pages(&self) {
        self.fake.memory().pages.clear();
    }

    /// The person leaves these permissions out from now on.
    pub fn declines(&self, permissions: &[&str]) {
        self.fake.memory().declined = permissions.iter().map(|it| (*it).to_owned()).collect();
    }

    /// Pages are not to be seen with their tokens any more, although these live.
    pub fn hide_pages(&self) {
        self.fake.memory().is_hidden = true;
    }

    /// The next call of this method and path, such as `POST /feed`, is answered with this: with
    /// a page of HTML, where the body is a text.
    pub fn refuses(&self, call: &str, status: u16, body: Value) {
        self.fake.memory().refusals.insert(call.to_owned(), (status, body));
    }

    /// After so many bytes the next upload of a reel or story breaks off.
    pub fn breaks_uploads_after(&self, bytes: usize) {
        self.fake.memory().breaks_after = Some(bytes);
    }

    /// No video can be processed from now on.
    pub fn spoils_videos(&self) {
        self.fake.memory().spoils = true;
    }

    /// What is uploaded and not shown is forgotten.
    pub fn forgets_uploads(&self) {
        let mut memory = self.fake.memory();
        memory.photos.retain(|_, it| it.is_shown);
        memory.videos.retain(|_, it| it.is_finished());
    }

    /// Of the calls that may be made, so many hundredths are.
    pub fn is_used(&self, percent: u64) {
        self.fake.memory().used = percent;
    }

    /// Comments, with the id of what each is under.
    pub fn comments(&self) -> Vec<(String, String)> {
        self.fake.memory().comments.clone()
    }

    /// The link of the latest post, if it has one.
    pub fn latest_link(&self) -> Option<String> {
        self.fake.memory().posts.last()?.link.clone()
    }

    /// The titles of public videos, oldest first.
    pub fn titles(&self) -> Vec<Option<String>> {
        self.fake.memory().videos.values().filter(|it| it.is_finished()).map(|it| it.title.clone()).collect()
    }

    /// The ids of public stories, and of what they show.
    pub fn stories(&self) -> Vec<(String, String)> {
        let memory = self.fake.memory();
        let stories = memory.posts.iter().filter(|it| it.is_story);
        stories.map(|it| (it.id.clone(), it.photos.iter().chain(&it.video).cloned().collect())).collect()
    }

    /// How many pictures were uploaded so far.
    pub fn photos(&self) -> usize {
        self.fake.memory().photos.len()
    }
}

/// An error with words that may be shown to people.
fn unwanted(code: i64, subcode: i64, message: &str) -> GraphError {
    GraphError::new(code, "Invalid parameter").subcode(subcode).for_people("Cannot publish", message)
}
