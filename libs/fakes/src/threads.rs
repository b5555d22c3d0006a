//! Threads: one profile, and an app.
//!
//! Source: the documentation of the Threads API, and client reports where it is silent, as about
//! error codes. Unknown parameters and fields are refused, and so are documented ones that the fake
//! does not simulate: quotes, GIFs, text attachments, spoilers, locations, ghost posts.
//! Links without a scheme or `www` are not detected.

mod access;
mod fake_platform;
mod front;
mod making;
mod poll;
mod posts;
mod text;

use std::sync::{Arc, MutexGuard};

use axum::routing::{get, post};
use chrono::TimeDelta;
use domain::clock::Clock;
use serde_json::{Value, json};

use self::making::Content;
use self::posts::Post;
use crate::fake::injected_faults::InjectedFaults;
use crate::fake::oauth::{self, Client, Pkce, Refresh, Rules};
use crate::fake::request_log::RequestLog;
use crate::fake::server;
use crate::meta::containers::{Containers, WORK};
use crate::meta::error::GraphError;
use crate::meta::usage::{self, Usage};
use crate::meta::{Ids, long_lived};

/// The username by which the user chooses the profile.
pub const USERNAME: &str = "keeper.ada";

/// The profile's id: too large for a floating-point number.
pub const ID: &str = "24561234567890123";

/// The OAuth rules according to the documentation.
const RULES: Rules = Rules {
    clients: &[Client::Body],
    pkce: Pkce::Unknown,
    scopes: &["threads_basic", "threads_content_publish", "threads_manage_replies", "threads_read_replies"],
    separator: ',',
    code_lives: TimeDelta::hours(1),
    access_lives: Some(long_lived::SHORT),
    refresh: Refresh::None,
    ..Rules::STANDARD
};

pub struct Threads {
    fake: Arc<Fake>,
    /// The API usage that responses report.
    pub usage: Usage,
    pub request_log: RequestLog,
}

type Fake = server::FakeServer<Memory>;

struct Memory {
    containers: Containers<Content>,
    /// Oldest first.
    posts: Vec<Post>,
    ids: Ids,
    /// Processing times of text, an image and a video.
    work: [TimeDelta; 3],
    /// Hosts from which the fake fetches no files.
    refused_hosts: Vec<String>,
    /// The URLs of fetched files, in order.
    fetched: Vec<String>,
    /// Whether the token cannot read the profile.
    is_hidden: bool,
    /// Error of all new containers.
    fault: Option<&'static str>,
    /// Delay after publication before a post is listed.
    listed_after: TimeDelta,
    /// Maximum posts per day.
    quota: usize,
    /// Errors of the next calls, by suffix of the path.
    refusals: Vec<(&'static str, GraphError)>,
}

impl Threads {
    /// Starts the fake on a free port, with the time of `clock`.
    pub async fn start(clock: Clock) -> Self {
        let memory = Memory {
            containers: Containers::default(),
            posts: Vec::new(),
            ids: Ids::default(),
            work: WORK,
            refused_hosts: Vec::new(),
            fetched: Vec::new(),
            is_hidden: false,
            fault: None,
            listed_after: TimeDelta::zero(),
            quota: 250,
            refusals: Vec::new(),
        };
        let routes = oauth::page_at::<Fake>("/oauth/authorize")
            .route("/oauth/access_token", post(access::short))
            .route("/access_token", get(access::long))
            .route("/refresh_access_token", get(access::longer))
            .route("/v1.0/{id}", get(posts::show))
            .route("/v1.0/{id}/threads", get(posts::list).post(making::make))
            .route("/v1.0/{id}/replies", get(posts::replies))
            .route("/v1.0/{id}/threads_publish", post(posts::publish))
            .route("/v1.0/{id}/threads_publishing_limit", get(posts::limit));
        let usage = Usage::default();
        let tell = |server| usage::wrap(server, &usage);
        let fake = Fake::serve_with((), "threads", clock, RULES, memory, routes, tell).await;
        Self { request_log: fake.request_log.clone(), fake, usage }
    }

    /// The injected faults of the intermediary.
    pub fn intermediary(&self) -> MutexGuard<'_, InjectedFaults> {
        self.fake.injected_faults()
    }

    /// The next call to a path with this suffix fails with this error.
    pub fn refuses(&self, path: &'static str, error: GraphError) {
        self.fake.memory().refusals.push((path, error));
    }

    /// Sets the processing time of every container.
    pub fn works_for(&self, time: TimeDelta) {
        self.fake.memory().work = [time; 3];
    }

    /// New containers fail with this message after processing; `None` ends this.
    pub fn fail_containers(&self, message: Option<&'static str>) {
        self.fake.memory().fault = message;
    }

    /// Fetches no files from these hosts.
    pub fn refuses_hosts(&self, hosts: &[&str]) {
        self.fake.memory().refused_hosts = hosts.iter().map(|it| (*it).to_owned()).collect();
    }

    /// Denies the token access to the profile, although the token is valid.
    pub fn hide_profile(&self) {
        self.fake.memory().is_hidden = true;
    }

    /// Deletes every container that is not public.
    pub fn forgets_containers(&self) {
        self.fake.memory().containers.forget();
    }

    pub fn containers(&self) -> usize {
        self.fake.memory().containers.count()
    }

    /// Sets the delay after publication before a post is listed.
    pub fn lists_after(&self, time: TimeDelta) {
        self.fake.memory().listed_after = time;
    }

    /// Sets the maximum posts per day.
    pub fn permits(&self, quota: usize) {
        self.fake.memory().quota = quota;
    }

    /// Adds a reply of another profile to a post.
    pub fn add_reply_of_visitor(&self, post: &str, text: &str) {
        let (now, text) = (self.fake.clock.now(), text.to_owned());
        let reply_to = Some(post.to_owned());
        let content = Content { text, said: json!({}), reply_to, is_by_visitor: true, ..Content::default() };
        self.fake.memory().add(content, now);
    }

    /// The options of the latest post.
    pub fn latest_fields(&self) -> Value {
        self.fake.memory().posts.last().map(|it| it.content.said.clone()).unwrap_or_default()
    }

    /// Expiry of the latest access token, in seconds since 1970.
    pub fn ends_at(&self) -> Option<i64> {
        Some(self.fake.oauth().grants.last()?.expires_at?.timestamp())
    }
}
