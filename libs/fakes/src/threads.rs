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

use std::sync::Arc;

use axum::routing::{get, post};
use chrono::TimeDelta;
use domain::clock::Clock;
use serde_json::{Value, json};

use self::making::Content;
use self::posts::Post;
use crate::fake::oauth::{self, Client, Pkce, Refresh, Rules};
use crate::fake::request_log::RequestLog;
use crate::fake::server;
use crate::meta::containers::Containers;
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
    /// The URLs of fetched files, in order.
    fetched: Vec<String>,
    /// Errors of the next calls, by suffix of the path.
    refusals: Vec<(&'static str, GraphError)>,
}

impl Threads {
    pub async fn start(clock: Clock) -> Self {
        let memory = Memory {
            containers: Containers::default(),
            posts: Vec::new(),
            ids: Ids::default(),
            fetched: Vec::new(),
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

    /// The next call to a path with this suffix fails with this error.
    pub fn refuses(&self, path: &'static str, error: GraphError) {
        self.fake.memory().refusals.push((path, error));
    }

    pub fn containers(&self) -> usize {
        self.fake.memory().containers.count()
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
}
