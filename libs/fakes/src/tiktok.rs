//! TikTok: one account, and an app with Login Kit for web and the Content Posting API.
//!
//! Source: TikTok's documentation of the API v2 in 2026, independently of the adapter. Unknown fields
//! are refused. Not simulated: videos from URLs, cancellation, webhooks, `WebM`, limits.

mod access;
mod fake_platform;
mod fields;
mod front;
mod init;
mod posts;
mod upload;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{DefaultBodyLimit, Query};
use axum::routing::{get, post, put};
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use http::StatusCode;
use serde_json::{Value, json};

use self::posts::Post;
use crate::fake::oauth::{self, Client, Pkce, Rules};
use crate::fake::server;

pub const USERNAME: &str = "keeper.ada";

pub const OPEN_ID: &str = "723f24d7-e717-40f8-a2b6-cb8464cd23b4";

/// TikTok's support asks for it.
const LOG_ID: &str = "202611051248442CB9319E1FB30C1073F3";

const RULES: Rules = Rules {
    client_id: "client_key",
    clients: &[Client::Body],
    // "Required for mobile and desktop app only."
    pkce: Pkce::Unknown,
    scopes: &["user.info.basic", "user.info.profile", "video.list", "video.publish", "video.upload"],
    separator: ',',
    access_lives: Some(TimeDelta::hours(2)),
    refresh_lives: Some(TimeDelta::days(180)),
    ..Rules::STANDARD
};

/// TikTok. The app posts directly, or sends files to the user's inbox.
pub struct TikTok<const DIRECT: bool = false, const VIDEOS: bool = false> {
    fake: Arc<Fake>,
}

type Fake = server::FakeServer<Memory>;
type ApiError = (StatusCode, Json<Value>);
type ApiResult = Result<Json<Value>, ApiError>;
type Params = Query<BTreeMap<String, String>>;

#[derive(Default)]
struct Memory {
    /// Oldest first, also unfinished and failed ones.
    posts: Vec<Post>,
    /// The access token and the time of the latest query of the creator's info.
    creator_info_query: Option<(String, DateTime<Utc>)>,
    /// Whether such a query preceded the latest direct post.
    had_creator_info: bool,
    /// The scopes that the user unticks on the page.
    declined: Vec<String>,
    /// Why the next post fails that has arrived in full.
    fail_reason: Option<String>,
    /// `None` if the app may name URLs of every host.
    verified_domains: Option<Vec<String>>,
    fetched_urls: Vec<String>,
    is_private: bool,
    is_unaudited: bool,
}

impl<const DIRECT: bool, const VIDEOS: bool> TikTok<DIRECT, VIDEOS> {
    pub async fn start(clock: Clock) -> Self {
        let routes = oauth::routes::<Fake>("/v2/auth/authorize/", "/v2/oauth/token/", Some("/v2/oauth/revoke/"))
            .route("/v2/user/info/", get(access::user_info))
            .route("/v2/video/list/", post(posts::list))
            .route("/v2/post/publish/creator_info/query/", post(access::creator_info))
            .route(init::DIRECT_VIDEO, post(init::direct_video))
            .route(init::INBOX_VIDEO, post(init::inbox_video))
            .route(init::PHOTOS, post(init::photos))
            .route(posts::STATUS, post(posts::status))
            .route(upload::PATH, put(upload::receive))
            .layer(DefaultBodyLimit::disable());
        Self { fake: Fake::serve("tiktok", clock, RULES, Memory::default(), routes).await }
    }

    /// The next call to a path with this prefix gets this response.
    pub fn refuses(&self, path: &str, status: u16, body: Value) {
        self.fake.injected_faults().refuse(path, status, body);
    }

    /// The user unticks these scopes on the page.
    pub fn declines(&self, scopes: &[&str]) {
        self.fake.memory().declined = scopes.iter().map(|it| (*it).to_owned()).collect();
    }

    /// The next post that arrives in full fails for this reason.
    pub fn fails_next_post(&self, reason: &str) {
        self.fake.memory().fail_reason = Some(reason.to_owned());
    }

    /// The app may name URLs of these domains and their subdomains only.
    pub fn verifies_domains(&self, domains: &[&str]) {
        self.fake.memory().verified_domains = Some(domains.iter().map(|it| (*it).to_owned()).collect());
    }

    /// The app has not passed the audit, and the account is private or not.
    pub fn loses_audit(&self, is_private: bool) {
        let mut memory = self.fake.memory();
        (memory.is_unaudited, memory.is_private) = (true, is_private);
    }

    /// The user opens all notifications in the inbox, and posts their files publicly.
    pub fn finish_in_app(&self) {
        let now = self.fake.clock.now();
        self.fake.memory().posts.iter_mut().for_each(|it| it.finish_in_app(now));
    }

    pub fn latest_request(&self) -> Value {
        self.fake.memory().posts.last().map(|it| it.request.clone()).unwrap_or_default()
    }

    /// Whether the same token queried the creator's info in the minutes before the latest direct post.
    /// TikTok demands it, but documents no error without it.
    pub fn creator_info_queried_before_latest_post(&self) -> bool {
        self.fake.memory().had_creator_info
    }
}

fn success(data: &Value) -> Json<Value> {
    Json(json!({ "data": data, "error": { "code": "ok", "message": "", "log_id": LOG_ID } }))
}

fn refusal(status: u16, code: &str, message: &str) -> ApiError {
    let error = json!({ "code": code, "message": message, "log_id": LOG_ID });
    (StatusCode::from_u16(status).unwrap(), Json(json!({ "data": {}, "error": error })))
}

/// The error lists of the endpoints name `invalid_param`. The general list and recorded responses name
/// `invalid_params`.
fn invalid(message: &str) -> ApiError {
    refusal(400, "invalid_params", message)
}
