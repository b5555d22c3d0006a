//! Slack: one workspace with some channels, and an app with a bot.
//!
//! Source: the documentation of the Web API. Unknown arguments are refused, which Slack does only
//! for some. The type parameter is whether the app has token rotation.

mod access;
mod api_error;
mod arguments;
mod call;
mod chat;
mod fake_platform;
mod files;
mod front;
mod method;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::{any, post};
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use serde_json::Value;

use self::files::File;
use crate::fake::limits::Limits;
use crate::fake::oauth::{self, Client, Pkce, Refresh, Rules};
use crate::fake::server;

/// The public channel to which the user invites the app during installation.
pub const CHANNEL: &str = "C0LIGHTHOUSE";

/// A private channel to which the user also invites the app.
pub const PRIVATE: &str = "G0KEEPERSONLY";

/// A public channel without the app.
pub const ELSEWHERE: &str = "C0ELSEWHERE";

pub const ARCHIVED: &str = "C0OLDLANTERN";

/// The name by which the user chooses the workspace.
const TEAM: &str = "Lighthouse";

const TEAM_ID: &str = "T0LIGHTHOUSE";

const TEAM_URL: &str = "https://lighthouse.slack.com/";

const SCOPES: &[&str] =
    &["chat:write", "files:read", "files:write", "channels:read", "channels:history", "groups:read", "groups:history"];

const RULES: Rules = Rules {
    clients: &[Client::Basic, Client::Body],
    // PKCE is for apps that opt in: "pkce_not_allowed".
    pkce: Pkce::Unknown,
    scopes: SCOPES,
    separator: ',',
    code_lives: TimeDelta::minutes(10),
    access_lives: None,
    refresh: Refresh::None,
    ..Rules::STANDARD
};

/// Whether an app has token rotation.
pub trait Rotation: Send + Sync + 'static {
    const ON: bool;
}

/// Tokens that do not expire; a user who installs the app again receives the same one.
#[derive(Clone, Copy, Debug)]
pub enum Reusable {}

/// Tokens that expire after 12 hours, each with a refresh token.
#[derive(Clone, Copy, Debug)]
pub enum TokenRotation {}

impl Rotation for Reusable {
    const ON: bool = false;
}

impl Rotation for TokenRotation {
    const ON: bool = true;
}

pub struct Slack<R = Reusable> {
    fake: Arc<Fake>,
    rotation: PhantomData<R>,
}

type Fake = server::FakeServer<Memory>;

struct Memory {
    base_url: String,
    /// Whether the app is in the channels to which users invite it.
    is_invited: bool,
    /// Messages of all channels, oldest first.
    messages: Vec<Message>,
    files: BTreeMap<String, File>,
    limits: Limits,
    /// Error code of the next call, by method.
    refusals: BTreeMap<String, String>,
    said_of_tokens: BTreeMap<String, Value>,
    page: usize,
    /// Number of further public channels with the app.
    further_channels: usize,
    /// How many of the next shares are accepted and never appear.
    dropped_shares: usize,
    calls_people: usize,
    made: u64,
}

/// A message as users see it.
#[derive(Clone, Debug)]
struct Message {
    channel: String,
    ts: String,
    at: DateTime<Utc>,
    /// The unchanged text of the request.
    text: String,
    metadata: Option<Value>,
    files: Vec<String>,
    unfurls: (Option<bool>, Option<bool>),
    /// The `ts` of the first message of its thread, for a reply.
    thread: Option<String>,
}

impl<R: Rotation> Slack<R> {
    pub async fn start(clock: Clock) -> Self {
        let (access_lives, refresh) =
            if R::ON { (Some(TimeDelta::hours(12)), Refresh::Rotating) } else { (None, Refresh::None) };
        let memory = Memory {
            base_url: String::new(),
            is_invited: false,
            messages: Vec::new(),
            files: BTreeMap::new(),
            limits: Limits::default(),
            refusals: BTreeMap::new(),
            said_of_tokens: BTreeMap::new(),
            page: 999,
            further_channels: 0,
            dropped_shares: 0,
            calls_people: 0,
            made: 0,
        };
        let routes = oauth::page_at::<Fake>("/oauth/v2/authorize")
            .route("/api/oauth.v2.access", post(access::give))
            .route("/api/{method}", any(method::respond))
            .route("/upload/v1/{ticket}", post(files::arrive))
            // `files` refuses bodies that are too large.
            .layer(DefaultBodyLimit::disable());
        let rules = Rules { access_lives, refresh, ..RULES };
        let fake = Fake::serve("slack", clock, rules, memory, routes).await;
        fake.memory().base_url = fake.base_url();
        Self { fake, rotation: PhantomData }
    }
}

impl<R> Slack<R> {
    pub fn refuses(&self, method: &str, code: &str) {
        self.fake.memory().refusals.insert(method.to_owned(), code.to_owned());
    }

    pub fn add_to_token_response(&self, name: &str, value: Value) {
        self.fake.memory().said_of_tokens.insert(name.to_owned(), value);
    }

    pub fn remove_from_channels(&self) {
        self.fake.memory().is_invited = false;
    }

    pub fn has_pages_of(&self, items: usize) {
        self.fake.memory().page = items;
    }

    pub fn add_channels(&self, count: usize) {
        self.fake.memory().further_channels = count;
    }

    /// The next shares are accepted and never appear in the channel.
    pub fn drop_shares(&self, count: usize) {
        self.fake.memory().dropped_shares = count;
    }

    pub fn delete_files(&self) {
        self.fake.memory().files.values_mut().for_each(files::File::delete);
    }

    /// Number of files that are not deleted, shared or not.
    pub fn files(&self) -> usize {
        self.fake.memory().files.values().filter(|it| !it.is_deleted()).count()
    }

    pub fn forgets_uploads(&self) {
        self.fake.memory().files.retain(|_, it| it.is_shared());
    }

    pub fn calls_people(&self) -> usize {
        self.fake.memory().calls_people
    }

    /// The latest message's preview options: links, media.
    pub fn latest_unfurls(&self) -> (Option<bool>, Option<bool>) {
        self.fake.memory().messages.last().map(|it| it.unfurls).unwrap_or_default()
    }

    /// Other members write this many messages in the channel.
    pub fn chats(&self, count: usize) {
        let now = self.fake.clock.now();
        let mut memory = self.fake.memory();
        for _ in 0..count {
            memory.say(CHANNEL, "hello", None, Vec::new(), now);
        }
    }
}

impl Memory {
    fn next(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// Adds a message. Returns its `ts`, which is unique.
    fn say(
        &mut self,
        channel: &str,
        text: &str,
        metadata: Option<Value>,
        files: Vec<String>,
        at: DateTime<Utc>,
    ) -> String {
        let ts = format!("{}.{:06}", at.timestamp(), self.next());
        let (channel, text) = (channel.to_owned(), text.to_owned());
        let (unfurls, thread) = ((None, None), None);
        self.messages.push(Message { channel, ts: ts.clone(), at, text, metadata, files, unfurls, thread });
        ts
    }
}
