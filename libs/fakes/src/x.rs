//! X: one account, and an app that pays for its calls.
//!
//! Made from the documentation of the API v2 and its OpenAPI file. Fields and parameters that
//! a call does not have are refused. What is not imitated: that the same words are taken
//! again after a while, and prices.

mod access;
mod api_error;
mod fake_platform;
mod fields;
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
use platforms::conformance::adapter_harness::ORIGIN;
use serde_json::Value;

use self::media::File;
use self::tweets::Tweet;
use crate::fake::limits::Limits;
use crate::fake::oauth::{self, Client, Pkce, Refresh, Rules};
use crate::fake::request_log::RequestLog;
use crate::fake::server;

/// The account's handle, by which the person chooses it.
pub const HANDLE: &str = "keeper_ada";

pub const ID: &str = "2244994945";

/// What the documentation says of its OAuth.
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
    /// What arrived.
    pub request_log: RequestLog,
}

/// How fields of posts are called: X renames "tweet" to "post".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    Tweet,
    Post,
}

impl Spelling {
    /// The parameter that lists fields.
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
    /// Everything that was posted, oldest first.
    tweets: Vec<Tweet>,
    files: BTreeMap<String, File>,
    /// Whether no file can be processed.
    spoils: bool,
    /// Whether posts name their files otherwise than uploads do.
    renames: bool,
    /// How fields of posts are called.
    spelling: Spelling,
    /// Whether `subscription_type` is none of the fields of an account.
    hides_subscription: bool,
    /// How long after its creation a post is in lists.
    listed_after: TimeDelta,
    limits: Limits,
    /// Posts that were read, which are paid.
    read: usize,
    /// Numbers everything that is made.
    made: u64,
}

impl X {
    /// Starts one on a free port. It tells the time by `clock`.
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

    /// The next call to a path that begins like this is answered with this.
    pub fn refuses(&self, path: &str, status: u16, body: Value) {
        self.fake.injected_faults().refuse(path, status, body);
    }

    /// The id and the secret of another app, such as the account's owner may have.
    pub fn register_other_app(&self) -> (String, String) {
        let app = self.fake.oauth().register(&format!("{ORIGIN}/connect/callback/x"));
        (app.client_id, app.client_secret)
    }

    /// Its owner gives every app but the operator's another secret.
    pub fn change_secrets(&self) {
        for app in self.fake.oauth().apps.iter_mut().filter(|it| it.client_id != self.fake.app.client_id) {
            app.client_secret = oauth::secret();
        }
    }

    /// The apps to which something is granted.
    pub fn granted_client_ids(&self) -> Vec<String> {
        let oauth = self.fake.oauth();
        oauth.grants.iter().filter(|it| !it.revoked).map(|it| it.client_id.clone()).collect()
    }

    /// The account pays X from now on: `Premium`, and so on.
    pub fn set_subscription(&self, to: &'static str) {
        self.fake.memory().subscription = to;
    }

    /// What is uploaded and not shown is forgotten.
    pub fn forgets_uploads(&self) {
        self.fake.memory().files.retain(|_, it| it.is_shown);
    }

    /// No file can be processed from now on.
    pub fn fail_files(&self) {
        self.fake.memory().spoils = true;
    }

    /// Posts name their files otherwise than uploads do, from now on: nothing in the
    /// documents says that they do not.
    pub fn rename_files(&self) {
        self.fake.memory().renames = true;
    }

    /// Fields of posts are called as in the API description since July 2026, not as in the
    /// guides.
    pub fn rename_fields(&self) {
        self.fake.memory().spelling = Spelling::Post;
    }

    /// `subscription_type` is refused, as some plans are reported to do.
    pub fn hides_subscription(&self) {
        self.fake.memory().hides_subscription = true;
    }

    /// Posts are in lists so long after their creation.
    pub fn lists_after(&self, delay: TimeDelta) {
        self.fake.memory().listed_after = delay;
    }

    /// How many posts were read so far, each of which is paid.
    pub fn posts_read(&self) -> usize {
        self.fake.memory().read
    }

    /// The options of the latest post.
    pub fn latest_fields(&self) -> Value {
        self.fake.memory().tweets.last().map(|it| it.fields.clone()).unwrap_or_default()
    }
}

impl Memory {
    /// A number that nothing else has.
    fn next(&mut self) -> u64 {
        self.made += 1;
        self.made
    }
}
