//! A homeserver of Matrix: one user, the rooms that they have joined, and files.
//!
//! `Matrix` has its own sign-in, by password, and on its page where a test chooses that. `Matrix<true>` has OAuth 2.0, as
//! Matrix Authentication Service 1.20 gives it to Synapse: there, neither takes passwords, and the old page stays.
//!
//! Made from the specification (client-server API 1.18), and where it leaves something
//! open, stricter than Synapse: a transaction id is forgotten after half an hour, access
//! tokens end after five minutes for who can renew them, and parameters and fields that a
//! call does not have are refused.

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

/// A room that they have joined, and may post to.
pub const ROOM: &str = "!harbour:lighthouse.example";

/// One whose members encrypt.
pub const ENCRYPTED: &str = "!cellar:lighthouse.example";

/// One in which they may only read.
pub const SILENT: &str = "!tower:lighthouse.example";

/// One that they have not joined.
pub const ELSEWHERE: &str = "!open-sea:lighthouse.example";

/// The largest file, in bytes.
pub const MAX_FILE_BYTES: usize = 52_428_800;

/// A homeserver, with or without OAuth 2.0.
pub struct Matrix<const OAUTH: bool = false> {
    fake: Arc<Fake>,
}

type Fake = server::FakeServer<Memory>;

#[derive(Default)]
struct Memory {
    devices: Vec<Device>,
    /// Everything that was said in all rooms, oldest first.
    events: Vec<Event>,
    /// Which event a transaction made, and when: by device, room and id.
    transactions: BTreeMap<(String, String, String), (String, DateTime<Utc>)>,
    files: BTreeMap<String, File>,
    /// How many messages are taken before one fails, and how.
    failing: Option<(usize, InjectedFault)>,
    limits: Limits,
    /// What `/.well-known/matrix/client` says, where it says something.
    well_known: Option<Value>,
    /// Where it moves its readers.
    moved_to: Option<String>,
    authorization: AuthorizationServer,
    /// How it leads users to which other homeserver, where it is hostile.
    leads_to: Option<(Detour, String)>,
    takes_no_passwords: bool,
    /// Whether its sign-in is OAuth 2.0 alone, so that it lacks the calls below `/login`.
    has_no_older_sign_in: bool,
    /// Whether people may sign in on its page.
    has_page: bool,
    /// What the page has given, and when.
    login_tokens: BTreeMap<String, DateTime<Utc>>,
    membership: Membership,
    /// What it names where it does not name those of today.
    old_versions: Option<[&'static str; 2]>,
    /// How many further rooms the user has joined.
    crowd: usize,
    asked_of_rooms: usize,
    page: Option<usize>,
    /// Numbers everything that is made.
    made: u64,
}

/// What others have done to the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Membership {
    #[default]
    Good,
    /// From all rooms.
    Banned,
    /// By an administrator.
    Locked,
}

/// What was said.
#[derive(Clone, Debug)]
struct Event {
    id: String,
    room: String,
    sender: String,
    at: DateTime<Utc>,
    content: Value,
    /// Of the device that sent it.
    transaction: Option<(String, String)>,
}

impl<const OAUTH: bool> Matrix<OAUTH> {
    /// Starts one on a free port. It tells the time by `clock`.
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
            // What is too large is refused in `media`.
            .layer(DefaultBodyLimit::disable());
        let authorization = AuthorizationServer { is_there: OAUTH, ..AuthorizationServer::default() };
        let memory = Memory { authorization, takes_no_passwords: OAUTH, has_page: OAUTH, ..Memory::default() };
        Self { fake: Fake::serve("matrix", clock, oauth::RULES, memory, routes).await }
    }

    /// From now on its authorization server names itself when it sends people back, and promises to (RFC 9207).
    pub fn names_itself(&self) {
        self.fake.memory().authorization.names_itself = true;
    }

    /// Its authorization server forgets all clients, and ends their sessions.
    pub fn forget_clients(&self) {
        self.fake.oauth().forget();
        let mut memory = self.fake.memory();
        memory.authorization.clients.clear();
        memory.log_all_out();
    }

    /// From now on its authorization server registers no client.
    pub fn registers_nobody(&self) {
        self.fake.memory().authorization.registers_nobody = true;
    }

    /// The clients registered at its authorization server.
    pub fn clients(&self) -> Vec<Value> {
        let memory = self.fake.memory();
        memory.authorization.clients.keys().map(|it| serde_json::from_str(it).expect("only JSON is kept")).collect()
    }

    /// What stands in front of it.
    pub fn intermediary(&self) -> MutexGuard<'_, InjectedFaults> {
        self.fake.injected_faults()
    }

    /// The user joins so many further rooms, of which every other one is encrypted.
    pub fn join_rooms(&self, rooms: usize) {
        self.fake.memory().crowd = rooms;
    }

    /// How often it was asked for the state of a room.
    pub fn asked_of_rooms(&self) -> usize {
        self.fake.memory().asked_of_rooms
    }

    /// Its administrator locks the user, or unlocks them.
    pub fn locks(&self, is_locked: bool) {
        self.fake.memory().membership = if is_locked { Membership::Locked } else { Membership::Good };
    }

    /// It names only versions from before `/v3/` was the path of its calls, as old forks do that have it.
    pub fn state_old_versions(&self) {
        self.fake.memory().old_versions = Some(["r0.5.0", "r0.6.1"]);
    }

    /// Its domain says this of where its homeserver is.
    pub fn set_well_known(&self, well_known: Value) {
        self.fake.memory().well_known = Some(well_known);
    }

    /// Who asks where its homeserver is, is moved to this address.
    pub fn redirect_well_known(&self, address: &str) {
        self.fake.memory().moved_to = Some(address.to_owned());
    }

    /// From now on people may sign in on its page.
    pub fn enable_page(&self) {
        self.fake.memory().has_page = true;
    }

    /// From now on it takes no passwords.
    pub fn takes_no_passwords(&self) {
        self.fake.memory().takes_no_passwords = true;
    }

    /// From now on its sign-in is OAuth 2.0 alone.
    pub fn has_no_older_sign_in(&self) {
        self.fake.memory().has_no_older_sign_in = true;
    }

    /// The user makes a device of their own; its access token, which does not end.
    pub fn own_token(&self) -> String {
        let now = self.fake.clock.now();
        self.fake.memory().log_in(false, now).access.clone()
    }

    /// Somebody throws the user out of all rooms, who may still read what was said before.
    pub fn ban_user(&self) {
        self.fake.memory().membership = Membership::Banned;
    }

    /// From now on a page has so many events at most.
    pub fn has_pages_of(&self, events: usize) {
        self.fake.memory().page = Some(events);
    }

    /// The message after so many fails in this way.
    pub fn fail_after(&self, messages: usize, fault: InjectedFault) {
        self.fake.memory().failing = Some((messages, fault));
    }

    /// The user says something by another device.
    pub fn says(&self, text: &str) {
        let now = self.fake.clock.now();
        let content = serde_json::json!({ "msgtype": "m.text", "body": text });
        self.fake.memory().say(ROOM, content, None, now);
    }

    /// The contents of everything that was said in the room, oldest first.
    pub fn contents(&self) -> Vec<Value> {
        self.fake.memory().events.iter().map(|it| it.content.clone()).collect()
    }

    /// What clients of the user show of their devices.
    pub fn device_names(&self) -> Vec<String> {
        self.fake.memory().devices.iter().filter_map(|it| it.name.clone()).collect()
    }
}

impl Memory {
    /// A number that nothing else has.
    fn next(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// A new event; its id.
    fn say(&mut self, room: &str, content: Value, transaction: Option<(String, String)>, at: DateTime<Utc>) -> String {
        let id = format!("$event-{}", self.next());
        let (room, sender) = (room.to_owned(), USER.to_owned());
        self.events.push(Event { id: id.clone(), room, sender, at, content, transaction });
        id
    }
}
