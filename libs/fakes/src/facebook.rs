//! Facebook: a user with Pages, and an app that signs every call.
//!
//! Based on the documentation of the Graph API v26.0 and the lists of the business SDK.
//! The fake refuses unknown parameters and calls without `appsecret_proof`. It does not
//! simulate readers, app review, or rate limits except their headers.

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
use self::posts::{Comment, Post};
use self::videos::Video;
use crate::fake::oauth::{self, Client, Pkce, Refresh, Rules};
use crate::fake::request_log::RequestLog;
use crate::fake::server;
use crate::meta::error::GraphError;

/// The user's name on the consent page.
pub const PERSON: &str = "ada.keeper";

/// The user's app-scoped id.
pub const PERSON_ID: &str = "10158000000000042";

/// The id of the Page that the user posts on.
pub const PAGE: &str = "108824017345866";

/// The configuration of an app with Facebook Login for Business.
const CONFIGURATION: &str = "1234509876";

const SCOPES: &[&str] = &[
    "pages_show_list",
    "pages_read_engagement",
    "pages_manage_posts",
    "pages_manage_engagement",
    "business_management",
];

/// OAuth rules from the documentation.
const RULES: Rules = Rules {
    clients: &[Client::Body],
    pkce: Pkce::Unknown,
    scopes: SCOPES,
    separator: ',',
    page: &[("auth_type", "rerequest")],
    // The short-lived token; clients exchange it for one of sixty days.
    access_lives: Some(TimeDelta::hours(1)),
    refresh: Refresh::None,
    ..Rules::STANDARD
};

/// Like `RULES`, with a login configuration that sets the permissions.
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
    pub request_log: RequestLog,
}

type Fake = server::FakeServer<Memory>;

struct Memory {
    pages: Vec<Page>,
    /// Page tokens, with the Page's id and the index of the grant.
    page_tokens: BTreeMap<String, (String, usize)>,
    /// Whether Page tokens have ended because the user changed the password.
    has_other_password: bool,
    declined: Vec<String>,
    photos: BTreeMap<String, Photo>,
    videos: BTreeMap<String, Video>,
    /// Public posts and stories, oldest first.
    posts: Vec<Post>,
    /// Oldest first.
    comments: Vec<Comment>,
    /// Error responses for the next call, by method and path.
    refusals: BTreeMap<String, (u16, Value)>,
    /// Whether Page tokens no longer give access to their Pages.
    is_hidden: bool,
    /// The next upload of a reel or story aborts after this many bytes.
    breaks_after: Option<usize>,
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
            made: 900_000_000_000_000,
        }
    }

    fn next(&mut self) -> String {
        self.made += 7;
        self.made.to_string()
    }
}

impl<const CONFIGURED: bool> Facebook<CONFIGURED> {
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

    /// Adds a Page on which the user has these tasks.
    pub fn has_page(&self, id: &str, name: &str, tasks: &[&str]) {
        self.fake.memory().pages.push(Page::new(id, name, None, tasks));
    }

    /// Adds a Page of a portfolio; `may` means that the user may create content on it.
    pub fn add_portfolio_page(&self, id: &str, name: &str, may: bool) {
        let page = Page::new(id, name, None, if may { &["CREATE_CONTENT"] } else { &[] });
        self.fake.memory().pages.push(page.in_portfolio());
    }

    pub fn remove_pages(&self) {
        self.fake.memory().pages.clear();
    }

    pub fn declines(&self, permissions: &[&str]) {
        self.fake.memory().declined = permissions.iter().map(|it| (*it).to_owned()).collect();
    }

    /// Makes Pages inaccessible with their tokens, although the tokens are valid.
    pub fn hide_pages(&self) {
        self.fake.memory().is_hidden = true;
    }

    /// Sets the response to the next call of this method and path, such as `POST /feed`. A
    /// string body is sent as an HTML page.
    pub fn refuses(&self, call: &str, status: u16, body: Value) {
        self.fake.memory().refusals.insert(call.to_owned(), (status, body));
    }

    /// Aborts the next upload of a reel or story after this many bytes.
    pub fn breaks_uploads_after(&self, bytes: usize) {
        self.fake.memory().breaks_after = Some(bytes);
    }

    /// Deletes unpublished uploads.
    pub fn forgets_uploads(&self) {
        let mut memory = self.fake.memory();
        memory.photos.retain(|_, it| it.is_shown);
        memory.videos.retain(|_, it| it.is_finished());
    }

    /// Comments, with the id of the parent post.
    pub fn comments(&self) -> Vec<(String, String)> {
        self.fake.memory().comments.iter().map(|it| (it.post.clone(), it.text.clone())).collect()
    }

    pub fn add_comment_of_visitor(&self, post: &str, text: &str) {
        let now = self.fake.clock.now();
        self.fake.memory().add_comment("10158000000000099", post, text, now);
    }

    pub fn latest_link(&self) -> Option<String> {
        self.fake.memory().posts.last()?.link.clone()
    }

    /// The titles of public videos, oldest first.
    pub fn titles(&self) -> Vec<Option<String>> {
        self.fake.memory().videos.values().filter(|it| it.is_finished()).map(|it| it.title.clone()).collect()
    }

    /// The ids of public stories, each with the ids of its photos or video.
    pub fn stories(&self) -> Vec<(String, String)> {
        let memory = self.fake.memory();
        let stories = memory.posts.iter().filter(|it| it.is_story);
        stories.map(|it| (it.id.clone(), it.photos.iter().chain(&it.video).cloned().collect())).collect()
    }

    /// Number of uploaded photos.
    pub fn photos(&self) -> usize {
        self.fake.memory().photos.len()
    }
}

/// An error with a message for users.
fn unwanted(code: i64, subcode: i64, message: &str) -> GraphError {
    GraphError::new(code, "Invalid parameter").subcode(subcode).for_people("Cannot publish", message)
}
