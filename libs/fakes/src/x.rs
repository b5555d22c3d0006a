//! X: one account, and an app that pays for its calls.
//!
//! Source: the documentation of the API v2 and its OpenAPI file. Unknown fields and parameters are
//! refused. Not simulated: prices, and that X accepts a duplicate text after a while.

mod access;
mod api_error;
mod fake_platform;
mod front;
mod media;
mod text;
mod tweets;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use chrono::TimeDelta;
use domain::clock::Clock;
use serde_json::Value;

use self::media::File;
use self::tweets::Tweet;
use crate::conformance::adapter_harness::ORIGIN;
use crate::fake::limits::Limits;
use crate::fake::oauth::{self, Client, Pkce, Refresh, Rules};
use crate::fake::request_log::RequestLog;
use crate::fake::server;

/// The handle by which the user chooses the account.
pub const HANDLE: &str = "keeper_ada";

pub const ID: &str = "2244994945";

const RULES: Rules = Rules {
    clients: &[Client::Basic],
    pkce: Pkce::Required,
    scopes: &["tweet.read", "tweet.write", "users.read", "media.write", "offline.access"],
    // "valid for 30 seconds"
    code_lives: TimeDelta::seconds(30),
    access_lives: Some(TimeDelta::hours(2)),
    refresh: Refresh::Rotating,
    ..Rules::STANDARD
};

pub struct X {
    fake: Arc<Fake>,
    pub request_log: RequestLog,
}

/// Spelling of field names: X renames "tweet" to "post".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    Tweet,
    Post,
}

impl Spelling {
    /// The query parameter that selects fields.
    fn parameter(self) -> &'static str {
        match self {
            Self::Tweet => "tweet.fields",
            Self::Post => "post.fields",
        }
    }

    /// The field of a long text.
    fn note(self) -> &'static str {
        match self {
            Self::Tweet => "note_tweet",
            Self::Post => "note_post",
        }
    }
}

type Fake = server::FakeServer<Memory>;

struct Memory {
    subscription: &'static str,
    /// Oldest first.
    tweets: Vec<Tweet>,
    files: BTreeMap<String, File>,
    spoils: bool,
    /// Whether media keys in posts differ from those of uploads.
    renames: bool,
    spelling: Spelling,
    hides_subscription: bool,
    listed_after: TimeDelta,
    visible_after: TimeDelta,
    limits: Limits,
    read: usize,
    made: u64,
}

impl X {
    pub async fn start(clock: Clock) -> Self {
        let memory = Memory {
            subscription: "None",
            tweets: Vec::new(),
            files: BTreeMap::new(),
            spoils: false,
            renames: false,
            spelling: Spelling::Tweet,
            hides_subscription: false,
            listed_after: TimeDelta::zero(),
            visible_after: TimeDelta::zero(),
            limits: Limits::default(),
            read: 0,
            made: 1_880_028_106_020_515_840,
        };
        let routes = oauth::routes::<Fake>("/i/oauth2/authorize", "/2/oauth2/token", Some("/2/oauth2/revoke"))
            .route("/2/users/me", get(access::me))
            .route("/2/users/{id}/tweets", get(tweets::list))
            .route("/2/tweets", post(tweets::create))
            .route("/2/media/upload", get(media::status).post(media::whole))
            .route("/2/media/upload/initialize", post(media::initialize))
            .route("/2/media/upload/{id}/append", post(media::append))
            .route("/2/media/upload/{id}/finalize", post(media::finalize))
            .route("/2/media/metadata", post(media::describe))
            .layer(DefaultBodyLimit::disable());
        let fake = Fake::serve("x", clock, RULES, memory, routes).await;
        Self { request_log: fake.request_log.clone(), fake }
    }

    /// The next call to a path with this prefix gets this response.
    pub fn refuses(&self, path: &str, status: u16, body: Value) {
        self.fake.injected_faults().refuse(path, status, body);
    }

    /// Client id and secret of another app, such as one of the account's owner.
    pub fn register_other_app(&self) -> (String, String) {
        let app = self.fake.oauth().register(&format!("{ORIGIN}/connect/callback/x"));
        (app.client_id, app.client_secret)
    }

    /// Changes the secrets of all apps except the operator's.
    pub fn change_secrets(&self) {
        for app in self.fake.oauth().apps.iter_mut().filter(|it| it.client_id != self.fake.app.client_id) {
            app.client_secret = oauth::secret();
        }
    }

    pub fn granted_client_ids(&self) -> Vec<String> {
        let oauth = self.fake.oauth();
        oauth.grants.iter().filter(|it| !it.revoked).map(|it| it.client_id.clone()).collect()
    }

    /// Sets the account's subscription: `Premium`, and so on.
    pub fn set_subscription(&self, to: &'static str) {
        self.fake.memory().subscription = to;
    }

    pub fn fail_files(&self) {
        self.fake.memory().spoils = true;
    }

    /// Media keys in posts differ from those of uploads: the documentation does not say that they
    /// are equal.
    pub fn rename_files(&self) {
        self.fake.memory().renames = true;
    }

    /// Field names are those of the API description since July 2026, not those of the guides.
    pub fn rename_fields(&self) {
        self.fake.memory().spelling = Spelling::Post;
    }

    /// Refuses `subscription_type`, as some plans are reported to do.
    pub fn hides_subscription(&self) {
        self.fake.memory().hides_subscription = true;
    }

    pub fn lists_after(&self, delay: TimeDelta) {
        self.fake.memory().listed_after = delay;
    }

    pub fn shows_after(&self, delay: TimeDelta) {
        self.fake.memory().visible_after = delay;
    }

    pub fn delete(&self, id: &str) {
        self.fake.memory().tweets.retain(|it| it.id != id);
    }

    /// Number of posts read, each of which is billed.
    pub fn posts_read(&self) -> usize {
        self.fake.memory().read
    }

    pub fn latest_fields(&self) -> Value {
        let mut fields = self.fake.memory().tweets.last().map(|it| it.fields.clone()).unwrap_or_default();
        if let Some(fields) = fields.as_object_mut() {
            fields.retain(|name, _| !["text", "media", "reply"].contains(&name.as_str()));
        }
        fields
    }
}

impl Memory {
    fn next(&mut self) -> u64 {
        self.made += 1;
        self.made
    }
}
