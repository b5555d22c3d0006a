//! A Matrix homeserver with one user, the rooms that the user has joined, and files.
//!
//! `Matrix` has the older sign-in: by password, and on its page if a test enables that.
//! `Matrix<true>` has OAuth 2.0, as Matrix Authentication Service 1.20 provides for Synapse, and
//! accepts no passwords. A device is a grant of the kit's authorization server in both.
//!
//! A small fake. The full test run uses a real Synapse, which proves what this one leaves out: the
//! validation of events, power levels, limits, the lifetimes of tokens. OAuth 2.0, the old page and
//! faults exist only here.

mod access;
mod api_error;
mod content;
mod fake_platform;
mod front;
mod oauth;
mod rooms;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};

use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get, post, put};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use domain::clock::Clock;
use serde_json::Value;

use crate::conformance::fake_platform::Detour;
use crate::fake::injected_faults::InjectedFaults;
use crate::fake::oauth::routes;
use crate::fake::request_log::RequestLog;
use crate::fake::server;

pub const USER: &str = "@keeper:lighthouse.example";

pub const PASSWORD: &str = "eight bells, all's well";

/// The scopes that a device needs; the id of the device follows the second.
const API: &str = "urn:matrix:client:api:*";
const DEVICE: &str = "urn:matrix:client:device:";

/// A room that the user has joined and may post to.
pub const ROOM: &str = "!harbour:lighthouse.example";

/// An encrypted room.
pub const ENCRYPTED: &str = "!cellar:lighthouse.example";

/// Prefix of the ids of further joined rooms, which a number follows. Odd rooms are encrypted.
pub const FURTHER_ROOMS: &str = "!crowd-";

/// The largest file, in bytes, as the homeserver states it.
pub const MAX_FILE_BYTES: usize = 52_428_800;

pub struct Matrix<const OAUTH: bool = false> {
    fake: Arc<Fake>,
}

struct SignIn {
    has_oauth: bool,
}

type Fake = server::FakeServer<Memory, SignIn>;

#[derive(Default)]
struct Memory {
    /// The events of all rooms, oldest first.
    events: Vec<Event>,
    files: BTreeMap<String, File>,
    /// Metadata and ids of the registered OAuth 2.0 clients.
    clients: Vec<(Value, String)>,
    /// Whether the authorization server sends its issuer in authorization responses. Matrix
    /// Authentication Service does not.
    names_itself: bool,
    /// The homeserver to which a hostile homeserver sends its users, and how.
    leads_to: Option<(Detour, String)>,
    /// Whether users may sign in on the homeserver's old page.
    has_page: bool,
    /// The login tokens that the page issued.
    login_tokens: BTreeSet<String>,
}

struct File {
    mime_type: String,
    bytes: Bytes,
}

struct Event {
    id: String,
    room: String,
    at: DateTime<Utc>,
    content: Value,
    /// Device and transaction id of the sender.
    transaction: Option<(String, String)>,
}

impl<const OAUTH: bool> Matrix<OAUTH> {
    pub async fn start(clock: Clock) -> Self {
        let room = "/_matrix/client/v3/rooms/{room}";
        let routes = routes::<Fake>("/authorize", "/oauth2/token", Some("/oauth2/revoke"))
            .route("/detour", get(oauth::detour))
            .route("/oauth2/registration", post(oauth::register))
            .route("/_matrix/client/v1/auth_metadata", get(oauth::metadata))
            .route("/_matrix/client/versions", get(access::versions))
            .route("/_matrix/client/v3/login", get(access::flows).post(access::log_in))
            .route("/_matrix/client/v3/login/sso/redirect", get(access::sign_in))
            .route("/_matrix/client/v3/refresh", post(access::refresh))
            .route("/_matrix/client/v3/logout", post(access::log_out))
            .route("/_matrix/client/v3/account/whoami", get(access::who_am_i))
            .route("/_matrix/client/v3/profile/{user}", get(access::profile))
            .route("/_matrix/client/v1/media/config", get(access::media_config))
            .route("/_matrix/client/v3/joined_rooms", get(rooms::joined))
            .route(&format!("{room}/state/{{kind}}"), get(rooms::state))
            .route(&format!("{room}/send/m.room.message/{{transaction}}"), put(rooms::send))
            .route(&format!("{room}/messages"), get(rooms::messages))
            .route("/_matrix/media/v3/upload", post(rooms::upload))
            .fallback(any(access::unrecognized))
            .layer(DefaultBodyLimit::disable());
        let (kind, memory) = (SignIn { has_oauth: OAUTH }, Memory::default());
        Self { fake: Fake::serve_with(kind, "matrix", clock, oauth::RULES, memory, routes, |server| server).await }
    }

    /// The authorization server announces its issuer, and sends it in authorization responses (RFC 9207).
    pub fn names_itself(&self) {
        self.fake.memory().names_itself = true;
    }

    /// Metadata of the registered clients.
    pub fn clients(&self) -> Vec<Value> {
        self.fake.memory().clients.iter().map(|(metadata, _)| metadata.clone()).collect()
    }

    /// Faults and responses that a test orders.
    pub fn faults(&self) -> MutexGuard<'_, InjectedFaults> {
        self.fake.injected_faults()
    }

    pub fn request_log(&self) -> &RequestLog {
        &self.fake.request_log
    }

    /// Enables sign-in on the homeserver's page.
    pub fn enable_page(&self) {
        self.fake.memory().has_page = true;
    }

    /// The user makes another device. Returns its access token, which does not expire.
    pub fn own_token(&self) -> String {
        let mut oauth = self.fake.oauth();
        let grant = access::add_device(&mut oauth, &self.fake);
        (grant.expires_at, grant.refresh_token) = (None, None);
        grant.access_token.clone()
    }

    /// The contents of all messages, oldest first.
    pub fn contents(&self) -> Vec<Value> {
        self.fake.memory().events.iter().map(|it| it.content.clone()).collect()
    }
}

impl Memory {
    /// Adds an event. Returns its id.
    fn say(&mut self, room: &str, content: Value, transaction: Option<(String, String)>, at: DateTime<Utc>) -> String {
        let id = format!("$event-{}", self.events.len());
        self.events.push(Event { id: id.clone(), room: room.to_owned(), at, content, transaction });
        id
    }
}
