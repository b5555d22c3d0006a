//! Threads: one profile, and an app.
//!
//! Made from the documentation of the Threads API, and from what clients report where it
//! is silent: which codes refusals have. Parameters and fields that a call does not have
//! are refused, and so are those that the documents have and that nothing here imitates:
//! replies, quotes, GIFs, text attachments, spoilers, places, ghost posts. What is not
//! imitated: links that are found without a scheme or `www`.

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
use serde_json::Value;

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

/// The profile's name, by which the person chooses it.
pub const USERNAME: &str = "keeper.ada";

/// Its id: beyond what a floating-point number holds.
pub const ID: &str = "24561234567890123";

/// What the documentation says of its OAuth.
const RULES: Rules = Rules {
    clients: &[Client::Body],
    pkce: Pkce::Unknown,
    scopes: &["threads_basic", "threads_content_publish"],
    separator: ',',
    code_lives: TimeDelta::hours(1),
    access_lives: Some(long_lived::SHORT),
    refresh: Refresh::None,
    ..Rules::STANDARD
};

pub struct Threads {
    fake: Arc<Fake>,
    /// How much was called, as answers say it.
    pub usage: Usage,
    /// What arrived.
    pub request_log: RequestLog,
}

type Fake = server::FakeServer<Memory>;

struct Memory {
    containers: Containers<Content>,
    /// Everything that was published, oldest first.
    posts: Vec<Post>,
    ids: Ids,
    /// How long the work takes on text, a picture and a video.
    work: [TimeDelta; 3],
    /// Hosts from which nothing is fetched.
    refused_hosts: Vec<String>,
    /// The addresses from which files were fetched, in order.
    fetched: Vec<String>,
    /// Whether the profile is not to be seen with its token any more.
    is_hidden: bool,
    /// Why containers come to nothing from now on.
    fault: Option<&'static str>,
    /// How long after its publication a post is listed.
    listed_after: TimeDelta,
    /// How many posts may be published within a day.
    quota: usize,
    /// What the next calls answer to paths that end like this.
    refusals: Vec<(&'static str, GraphError)>,
}

impl Threads {
    /// Starts one on a free port. It tells the time by `clock`.
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
            .route("/v1.0/{id}/threads_publish", post(posts::publish))
            .route("/v1.0/{id}/threads_publishing_limit", get(posts::limit));
        let usage = Usage::default();
        let tell = |server| usage::wrap(server, &usage);
        let fake = Fake::serve_with((), "threads", clock, RULES, memory, routes, tell).await;
        Self { request_log: fake.request_log.clone(), fake, usage }
    }

    /// What stands in front of it.
    pub fn intermediary(&self) -> MutexGuard<'_, InjectedFaults> {
        self.fake.injected_faults()
    }

    /// The next call to a path that ends like this is answered with this.
    pub fn refuses(&self, path: &'static str, error: GraphError) {
        self.fake.memory().refusals.push((path, error));
    }

    /// The work on each container takes so long from now on.
    pub fn works_for(&self, time: TimeDelta) {
        self.fake.memory().work = [time; 3];
    }

    /// Containers that are made from now on come to nothing in the end, in these words;
    /// with `None`, they come to something again.
    pub fn fail_containers(&self, message: Option<&'static str>) {
        self.fake.memory().fault = message;
    }

    /// Nothing is fetched from these hosts from now on, and they are not called.
    pub fn refuses_hosts(&self, hosts: &[&str]) {
        self.fake.memory().refused_hosts = hosts.iter().map(|it| (*it).to_owned()).collect();
    }

    /// The profile is not to be seen with its token any more, although that lives.
    pub fn hide_profile(&self) {
        self.fake.memory().is_hidden = true;
    }

    /// Forgets every container that is not public.
    pub fn forgets_containers(&self) {
        self.fake.memory().containers.forget();
    }

    /// How many containers there are.
    pub fn containers(&self) -> usize {
        self.fake.memory().containers.count()
    }

    /// Posts are listed so long after their publication from now on.
    pub fn lists_after(&self, time: TimeDelta) {
        self.fake.memory().listed_after = time;
    }

    /// So many posts may be published within a day.
    pub fn permits(&self, quota: usize) {
        self.fake.memory().quota = quota;
    }

    /// The options of the latest post.
    pub fn latest_fields(&self) -> Value {
        self.fake.memory().posts.last().map(|it| it.content.said.clone()).unwrap_or_default()
    }

    /// When the latest access token ends, in seconds since 1970.
    pub fn ends_at(&self) -> Option<i64> {
        Some(self.fake.oauth().grants.last()?.expires_at?.timestamp())
    }
}
