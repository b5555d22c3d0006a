//! Slack: one workspace with some channels, and the app that it grants a bot.
//!
//! Made from the documentation of the Web API. Arguments that a method does not have
//! are refused, which the real one does only for some. Whether the app has token
//! rotation switched on is the type's parameter.

mod access;
mod api_error;
mod call;
mod chat;
mod fake_platform;
mod fields;
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

/// The public channel to which the app is invited when it is installed.
pub const CHANNEL: &str = "C0LIGHTHOUSE";

/// A private one, to which it is invited, too.
pub const PRIVATE: &str = "G0KEEPERSONLY";

/// A public one to which it is not.
pub const ELSEWHERE: &str = "C0ELSEWHERE";

pub const ARCHIVED: &str = "C0OLDLANTERN";

/// The name of the workspace, as the person chooses it.
const TEAM: &str = "Lighthouse";

const TEAM_ID: &str = "T0LIGHTHOUSE";

/// Its address.
const TEAM_URL: &str = "https://lighthouse.slack.com/";

/// Every scope that the app may ask for.
const SCOPES: &[&str] =
    &["chat:write", "files:read", "files:write", "channels:read", "channels:history", "groups:read", "groups:history"];

/// What the documentation says of its OAuth.
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

/// Whether an app has token rotation switched on.
pub trait Rotation: Send + Sync + 'static {
    /// Whether it has.
    const ON: bool;
}

/// Tokens that do not expire; a user who installs the app again receives an equal one.
#[derive(Clone, Copy, Debug)]
pub enum Reusable {}

/// Tokens of 12 hours, each with one that is exchanged for the next.
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
    /// Where uploads go.
    base_url: String,
    /// Whether the app is in the channels that people invite it to.
    is_invited: bool,
    /// Everything in all channels, oldest first.
    messages: Vec<Message>,
    files: BTreeMap<String, File>,
    limits: Limits,
    /// What the next call of a method is answered.
    refusals: BTreeMap<String, String>,
    said_of_tokens: BTreeMap<String, Value>,
    /// The most items of a page.
    page: usize,
    /// How many more public channels there are, to which the app is invited.
    further_channels: usize,
    /// How many of the next shares are accepted and never appear.
    dropped_shares: usize,
    /// How often somebody was called by a message.
    calls_people: usize,
    /// Numbers everything that is made.
    made: u64,
}

/// What people see in a channel.
#[derive(Clone, Debug)]
struct Message {
    channel: String,
    ts: String,
    at: DateTime<Utc>,
    /// As it was sent.
    text: String,
    metadata: Option<Value>,
    /// The ids of what it shows.
    files: Vec<String>,
    unfurls: (Option<bool>, Option<bool>),
}

impl<R: Rotation> Slack<R> {
    /// Starts one on a free port. It tells the time by `clock`.
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
            // What is too large is refused in `files`.
            .layer(DefaultBodyLimit::disable());
        let rules = Rules { access_lives, refresh, ..RULES };
        let fake = Fake::serve("slack", clock, rules, memory, routes).await;
        fake.memory().base_url = fake.base_url();
        Self { fake, rotation: PhantomData }
    }
}

impl<R> Slack<R> {
    /// The next call of this method is not carried out, with this code.
    pub fn refuses(&self, method: &str, code: &str) {
        self.fake.memory().refusals.insert(method.to_owned(), code.to_owned());
    }

    /// From now on answers with tokens say this as well.
    pub fn add_to_token_response(&self, name: &str, value: Value) {
        self.fake.memory().said_of_tokens.insert(name.to_owned(), value);
    }

    /// What was granted so far is this scope alone.
    pub fn set_scope(&self, scope: &str) {
        for grant in &mut self.fake.oauth().grants {
            grant.scopes = vec![scope.to_owned()];
        }
    }

    /// Somebody removes the app from the channels.
    pub fn remove_from_channels(&self) {
        self.fake.memory().is_invited = false;
    }

    /// From now on a page has so many items at most.
    pub fn has_pages_of(&self, items: usize) {
        self.fake.memory().page = items;
    }

    /// The app is invited to so many further channels.
    pub fn add_channels(&self, count: usize) {
        self.fake.memory().further_channels = count;
    }

    /// The next shares are accepted, and never appear in the channel.
    pub fn drop_shares(&self, count: usize) {
        self.fake.memory().dropped_shares = count;
    }

    /// Somebody deletes every file in Slack.
    pub fn delete_files(&self) {
        self.fake.memory().files.values_mut().for_each(files::File::delete);
    }

    /// How many files there are, shared or not.
    pub fn files(&self) -> usize {
        self.fake.memory().files.values().filter(|it| !it.is_deleted()).count()
    }

    /// Forgets files that were uploaded and not shared.
    pub fn forgets_uploads(&self) {
        self.fake.memory().files.retain(|_, it| it.is_shared());
    }

    /// How often somebody was called by a message.
    pub fn calls_people(&self) -> usize {
        self.fake.memory().calls_people
    }

    /// What the latest message said of previews: of pages, and of pictures.
    pub fn latest_unfurls(&self) -> (Option<bool>, Option<bool>) {
        self.fake.memory().messages.last().map(|it| it.unfurls).unwrap_or_default()
    }

    /// Other members write so many messages in the channel now.
    pub fn chats(&self, count: usize) {
        let now = self.fake.clock.now();
        let mut memory = self.fake.memory();
        for _ in 0..count {
            memory.say(CHANNEL, "hello", None, Vec::new(), now);
        }
    }
}

impl Memory {
    /// A number that nothing else has.
    fn next(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// A new message; its time, which no other has.
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
        self.messages.push(Message { channel, ts: ts.clone(), at, text, metadata, files, unfurls: (None, None) });
        ts
    }
}
