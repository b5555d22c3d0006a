//! A Matrix homeserver with one user, the rooms that the user has joined, and files.
//!
//! `Matrix` has the older sign-in: by password, and on its page if a test enables that.
//! `Matrix<true>` has OAuth 2.0, as Matrix Authentication Service 1.20 provides for Synapse:
//! neither accepts passwords then, and the old page stays.
//!
//! Source: the specification (client-server API 1.18). Where the specification leaves something
//! open, the fake is stricter than Synapse: transaction ids are forgotten after half an hour,
//! access tokens with a refresh token expire after five minutes, and unknown parameters and fields
//! are refused.

mod access;
mod api_error;
mod content;
mod fake_platform;
mod front;
mod media;
mod messages;
mod oauth;
mod rooms;
pub mod specification;
mod tokens;

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get, post, put};
use chrono::{DateTime, Utc};
use domain::clock::Clock;
use platforms::conformance::fake_platform::{Detour, InjectedFault};
use serde_json::Value;

use self::media::File;
use self::oauth::AuthorizationServer;
use self::tokens::Device;
use crate::fake::injected_faults::InjectedFaults;
use crate::fake::limits::Limits;
use crate::fake::oauth::press;
use crate::fake::server;

pub const USER: &str = "@keeper:lighthouse.example";

pub const PASSWORD: &str = "eight bells, all's well";

/// A room that the user has joined and may post to.
pub const ROOM: &str = "!harbour:lighthouse.example";

/// An encrypted room.
pub const ENCRYPTED: &str = "!cellar:lighthouse.example";

/// A room in which the user may only read.
pub const SILENT: &str = "!tower:lighthouse.example";

/// A room that the user has not joined.
pub const ELSEWHERE: &str = "!open-sea:lighthouse.example";

/// The largest file, in bytes.
pub const MAX_FILE_BYTES: usize = 52_428_800;

pub struct Matrix<const OAUTH: bool = false> {
    fake: Arc<Fake>,
}

type Fake = server::FakeServer<Memory>;

#[derive(Default)]
struct Memory {
    devices: Vec<Device>,
    /// The events of all rooms, oldest first.
    events: Vec<Event>,
    /// Event id and time of a transaction, by device, room and transaction id.
    transactions: BTreeMap<(String, String, String), (String, DateTime<Utc>)>,
    files: BTreeMap<String, File>,
    /// Number of messages before one fails, and the fault.
    failing: Option<(usize, InjectedFault)>,
    limits: Limits,
    /// The response of `/.well-known/matrix/client`; `None` for 404.
    well_known: Option<Value>,
    /// Where `/.well-known/matrix/client` redirects to.
    moved_to: Option<String>,
    authorization: AuthorizationServer,
    /// The homeserver to which a hostile homeserver sends its users, and how.
    leads_to: Option<(Detour, String)>,
    takes_no_passwords: bool,
    /// Whether OAuth 2.0 is the only sign-in, without the calls below `/login`.
    has_no_older_sign_in: bool,
    /// Whether users may sign in on the homeserver's page.
    has_page: bool,
    /// The issued login tokens, with the time of issue.
    login_tokens: BTreeMap<String, DateTime<Utc>>,
    membership: Membership,
    /// The versions that it reports instead of the current ones.
    old_versions: Option<[&'static str; 2]>,
    /// Number of further rooms that the user has joined.
    crowd: usize,
    asked_of_rooms: usize,
    page: Option<usize>,
    /// Source of ids.
    made: u64,
}

/// The state of the user's account and memberships.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Membership {
    #[default]
    Good,
    /// From all rooms.
    Banned,
    /// By an administrator.
    Locked,
}

#[derive(Clone, Debug)]
struct Event {
    id: String,
    room: String,
    sender: String,
    at: DateTime<Utc>,
    content: Value,
    /// Device and transaction id of the sender.
    transaction: Option<(String, String)>,
}

impl<const OAUTH: bool> Matrix<OAUTH> {
    /// Starts a homeserver on a free port, with the time of `clock`.
    pub async fn start(clock: Clock) -> Self {
        let room = "/_matrix/client/v3/rooms/{room}";
        let routes = Router::new()
            .route("/.well-known/matrix/client", get(access::well_known))
            .route("/elsewhere", get(access::redirected_well_known))
            .route("/_matrix/client/versions", get(access::versions))
            .route("/_matrix/client/v3/login", get(access::flows).post(access::log_in))
            .route("/_matrix/client/v3/login/sso/redirect", get(access::sign_in))
            .route("/_matrix/client/v1/auth_metadata", get(oauth::metadata))
            .route("/authorize", get(oauth::page).post(press::<Fake>))
            .route("/oauth2/registration", post(oauth::register))
            .route("/oauth2/token", post(oauth::token))
            .route("/oauth2/revoke", post(oauth::revoke))
            .route("/_matrix/client/v3/refresh", post(access::refresh))
            .route("/_matrix/client/v3/logout", post(access::log_out))
            .route("/_matrix/client/v3/account/whoami", get(access::who_am_i))
            .route("/_matrix/client/v3/profile/{user}", get(access::profile))
            .route("/_matrix/client/v3/joined_rooms", get(rooms::joined))
            .route(&format!("{room}/state/{{kind}}"), get(rooms::state))
            .route(&format!("{room}/send/{{kind}}/{{transaction}}"), put(messages::send))
            .route(&format!("{room}/messages"), get(messages::list))
            .route("/_matrix/client/v1/media/config", get(media::config))
            .route("/_matrix/media/v3/upload", post(media::upload))
            .fallback(any(access::unrecognized))
            .method_not_allowed_fallback(access::unrecognized_method)
            // `media` refuses bodies that are too large.
            .layer(DefaultBodyLimit::disable());
        let authorization = AuthorizationServer { is_there: OAUTH, ..AuthorizationServer::default() };
        let memory = Memory { authorization, takes_no_passwords: OAUTH, has_page: OAUTH, ..Memory::default() };
        Self { fake: Fake::serve("matrix", clock, oauth::RULES, memory, routes).await }
    }

    /// The authorization server announces its issuer, and sends it in authorization responses (RFC 9207).
    pub fn names_itself(&self) {
        self.fake.memory().authorization.names_itself = true;
    }

    /// The authorization server forgets all clients, and ends their sessions.
    pub fn forget_clients(&self) {
        self.fake.oauth().forget();
        let mut memory = self.fake.memory();
        memory.authorization.clients.clear();
        memory.log_all_out();
    }

    /// The authorization server refuses to register clients.
    pub fn registers_nobody(&self) {
        self.fake.memory().authorization.registers_nobody = true;
    }

    /// Metadata of the registered clients.
    pub fn clients(&self) -> Vec<Value> {
        let memory = self.fake.memory();
        memory.authorization.clients.keys().map(|it| serde_json::from_str(it).expect("only JSON is kept")).collect()
    }

    /// The injected faults of the intermediary.
    pub fn intermediary(&self) -> MutexGuard<'_, InjectedFaults> {
        self.fake.injected_faults()
    }

    /// The user joins this many further rooms; every other one is encrypted.
    pub fn join_rooms(&self, rooms: usize) {
        self.fake.memory().crowd = rooms;
    }

    /// Number of requests for the state of a room.
    pub fn asked_of_rooms(&self) -> usize {
        self.fake.memory().asked_of_rooms
    }

    /// An administrator locks or unlocks the user.
    pub fn locks(&self, is_locked: bool) {
        self.fake.memory().membership = if is_locked { Membership::Locked } else { Membership::Good };
    }

    /// Reports only versions from before `/v3/` paths, like old forks that do have these paths.
    pub fn state_old_versions(&self) {
        self.fake.memory().old_versions = Some(["r0.5.0", "r0.6.1"]);
    }

    /// Sets the response of `/.well-known/matrix/client`.
    pub fn set_well_known(&self, well_known: Value) {
        self.fake.memory().well_known = Some(well_known);
    }

    /// Redirects requests for `/.well-known/matrix/client` to this address.
    pub fn redirect_well_known(&self, address: &str) {
        self.fake.memory().moved_to = Some(address.to_owned());
    }

    /// Enables sign-in on the homeserver's page.
    pub fn enable_page(&self) {
        self.fake.memory().has_page = true;
    }

    /// Refuses sign-in by password.
    pub fn takes_no_passwords(&self) {
        self.fake.memory().takes_no_passwords = true;
    }

    /// Makes OAuth 2.0 the only sign-in.
    pub fn has_no_older_sign_in(&self) {
        self.fake.memory().has_no_older_sign_in = true;
    }

    /// The user makes another device. Returns its access token, which does not expire.
    pub fn own_token(&self) -> String {
        let now = self.fake.clock.now();
        self.fake.memory().log_in(false, now).access.clone()
    }

    /// Bans the user from all rooms. The user may still read older messages.
    pub fn ban_user(&self) {
        self.fake.memory().membership = Membership::Banned;
    }

    /// Limits pages to this many events.
    pub fn has_pages_of(&self, events: usize) {
        self.fake.memory().page = Some(events);
    }

    /// After this many messages, the next one fails with this fault.
    pub fn fail_after(&self, messages: usize, fault: InjectedFault) {
        self.fake.memory().failing = Some((messages, fault));
    }

    /// The user sends a message from another device.
    pub fn says(&self, text: &str) {
        let now = self.fake.clock.now();
        let content = serde_json::json!({ "msgtype": "m.text", "body": text });
        self.fake.memory().say(ROOM, content, None, now);
    }

    /// The contents of all messages in the room, oldest first.
    pub fn contents(&self) -> Vec<Value> {
        self.fake.memory().events.iter().map(|it| it.content.clone()).collect()
    }

    /// The display names of the user's devices.
    pub fn device_names(&self) -> Vec<String> {
        self.fake.memory().devices.iter().filter_map(|it| it.name.clone()).collect()
    }
}

impl Memory {
    /// A unique number.
    fn next(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// Adds an event. Returns its id.
    fn say(&mut self, room: &str, content: Value, transaction: Option<(String, String)>, at: DateTime<Utc>) -> String {
        let id = format!("$event-{}", self.next());
        let (room, sender) = (room.to_owned(), USER.to_owned());
        self.events.push(Event { id: id.clone(), room, sender, at, content, transaction });
        id
    }
}
