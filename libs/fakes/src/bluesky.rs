//! Bluesky: a personal data server with one account, its authorization server, a PLC directory, a
//! handle resolver, an `AppView` and the video service.
//!
//! A reduced fake. The full test run uses a real data server, which proves what this one leaves out:
//! the lexicons of records, the metadata of clients, the times and the single use of proofs and
//! assertions, the lifetimes of grants. Only this fake has the video service, and faults in its OAuth.

mod api_error;
mod caller;
mod dpop;
mod front;
mod identity;
mod jwt;
mod oauth;
mod parts;
mod repo;
mod session;
mod shown_text;
mod video;

/// A text as Bluesky's own clients post it.
pub use self::shown_text::shortened;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use chrono::SecondsFormat;
use domain::clock::Clock;
use platforms::FieldValues;
use serde_json::{Value, json};
use url::Url;

use self::api_error::ApiError;
use self::parts::Upload;
use self::repo::{Blob, POST, Record};
use self::video::{Job, ServiceToken};
use crate::conformance::fake_platform::{Call, Decision, Detour, FakePlatform, InjectedFault, PublicPost};
use crate::fake::fake_platform::fake_platform;
use crate::fake::oauth::{Authorizes, decide, secret};
use crate::fake::server::FakeServer;

const NAME: &str = "Alice";

/// The DID of the data server and of the video service: their host.
const PDS_DID: &str = "did:web:127.0.0.1";

/// The Bluesky servers that one account uses.
///
/// They have two origins: one for the authorization server, one for all others.
///
/// Stricter than the real servers: facets start and end at characters of the text and do not
/// overlap, a file that no record refers to is deleted after an hour, and a reply follows posts of
/// the account, by their current content ids.
#[derive(Clone)]
pub struct Bluesky {
    fake: Arc<Fake>,
}

type Fake = FakeServer<Memory>;

#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub struct Settings {
    /// Why the account is not active: `deactivated` or `takendown`.
    pub status: Option<&'static str>,
    /// Whether the main password alone does not sign in; app passwords still do.
    pub needs_second_factor: bool,
    /// The server that the account moved to.
    pub moved_to: Option<String>,
    /// Without an `AppView`, profiles are only records.
    pub has_app_view: bool,
    /// Whether the server is from before August 2025, without narrow scopes.
    pub is_old: bool,
    /// Whether the server is from before June 2026. Real ones accept a gallery without validation;
    /// the fake refuses it, because many readers cannot display it.
    pub lacks_galleries: bool,
    /// The limit of `uploadBlob`.
    pub blob_limit: u64,
    /// How many status requests find a video job unfinished.
    pub video_polls: usize,
    /// How many videos the account may still upload today.
    pub videos_left: u64,
    /// How many of the next video jobs fail, and with which `failureCode`; `None`: without one, as before July 2026.
    pub failing_jobs: (usize, Option<&'static str>),
    /// How many of the next multipart uploads fail when the client finishes them.
    pub failing_uploads: usize,
    /// The part size of multipart uploads; `None`: no multipart uploads.
    pub part_bytes: Option<u64>,
    /// Whether `uploadVideo` returns the status in `jobStatus`, as the lexicon defines, or without
    /// this wrapper, as the service does in practice.
    pub follows_lexicon: bool,
}

struct Memory {
    settings: Settings,
    app_password: String,
    /// Client documents, by URL.
    clients: BTreeMap<String, Value>,
    /// Pushed authorization requests as forms, by `request_uri`.
    pushed: BTreeMap<String, String>,
    service_tokens: BTreeMap<String, ServiceToken>,
    /// Oldest first.
    records: Vec<Record>,
    commits: usize,
    /// By content id.
    blobs: BTreeMap<String, Blob>,
    jobs: BTreeMap<String, Job>,
    uploads: BTreeMap<String, Upload>,
    /// How often each part of an upload arrived.
    part_counts: BTreeMap<(String, u64), usize>,
}

impl Bluesky {
    pub const HANDLE: &str = "alice.test";
    pub const DID: &str = "did:plc:4nkw6tzfgtxqzcbbl2s5vtsf";
    /// The account's own password, not an app password.
    pub const MAIN_PASSWORD: &str = "correct-horse-battery-staple";
    /// Another user, for mentions and quotes.
    pub const OTHER_HANDLE: &str = "bob.test";
    pub const OTHER_DID: &str = "did:plc:zdq3gnhvtbs4ow5vkxhzxfqd";

    pub async fn start(clock: Clock) -> Self {
        let pds = Router::new()
            .merge(identity::routes())
            .merge(session::routes())
            .merge(repo::routes())
            .merge(video::routes())
            .merge(parts::routes())
            .layer(from_fn_with_state(clock.clone(), dpop::check_proof))
            .layer(DefaultBodyLimit::disable());
        let issuer = oauth::routes(clock.clone());
        let fake = Fake::serve("bluesky", clock, oauth::RULES, Memory::default(), pds).await;
        fake.serve_second(issuer).await;
        Self { fake }
    }

    /// The origin of the data server, the directory, the resolver, the `AppView` and the video
    /// service.
    pub fn pds(&self) -> String {
        self.fake.base_url()
    }

    /// The origin of the authorization server.
    pub fn issuer(&self) -> String {
        self.fake.second_url()
    }

    pub fn change(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.fake.memory().settings);
    }

    /// Sets the document that the authorization server finds at `url`, a `client_id`. The server
    /// makes no network calls.
    pub fn add_client_document(&self, url: &str, document: Value) {
        self.fake.memory().clients.insert(url.to_owned(), document);
    }

    /// The record at an `at://` URI, as it was written.
    pub fn record(&self, uri: &str) -> Option<Value> {
        self.fake.memory().find(uri).map(|it| it.value.clone())
    }

    /// Deletes the blobs that no record refers to, as servers do after an hour or more.
    pub fn collect_blobs(&self) {
        self.fake.memory().collect_blobs(|_| true);
    }

    /// Adds a post of [`Bluesky::OTHER_HANDLE`] with this key, which may be quoted or
    /// not. Returns the reference that records use.
    pub fn add_other_post(&self, rkey: &str, may_be_quoted: bool) -> Value {
        let uri = |collection| repo::uri(Self::OTHER_DID, collection, rkey);
        let mut memory = self.fake.memory();
        if !may_be_quoted {
            let rules = json!([{ "$type": "app.bsky.feed.postgate#disableRule" }]);
            memory.add_record(uri("app.bsky.feed.postgate"), json!({ "embeddingRules": rules }));
        }
        memory.add_record(uri(POST), json!({ "$type": POST, "text": "quote me" }))
    }

    pub fn forget_uploads(&self) {
        self.fake.memory().uploads.clear();
    }

    /// How often each recorded part arrived at the video service, for all uploads.
    pub fn part_upload_counts(&self) -> Vec<usize> {
        self.fake.memory().part_counts.values().copied().collect()
    }
}

impl Settings {
    fn knows_galleries(&self) -> bool {
        !self.is_old && !self.lacks_galleries
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            status: None,
            needs_second_factor: false,
            moved_to: None,
            has_app_view: true,
            is_old: false,
            lacks_galleries: false,
            blob_limit: 50 << 20,
            video_polls: 2,
            videos_left: 25,
            failing_jobs: (0, None),
            failing_uploads: 0,
            part_bytes: Some(5 << 20),
            follows_lexicon: false,
        }
    }
}

impl Memory {
    /// Refuses while the account is taken down or deactivated.
    fn check_status(&self) -> Result<(), ApiError> {
        match self.settings.status {
            None => Ok(()),
            Some("takendown") => Err(ApiError::unauthorized("AccountTakedown", "Account has been taken down")),
            Some(_) => Err(ApiError::unauthorized("AccountDeactivated", "Account is deactivated")),
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        let mut memory = Self {
            settings: Settings::default(),
            app_password: secret(),
            clients: BTreeMap::new(),
            pushed: BTreeMap::new(),
            service_tokens: BTreeMap::new(),
            records: Vec::new(),
            commits: 0,
            blobs: BTreeMap::new(),
            jobs: BTreeMap::new(),
            uploads: BTreeMap::new(),
            part_counts: BTreeMap::new(),
        };
        let profile = repo::uri(Bluesky::DID, "app.bsky.actor.profile", "self");
        memory.add_record(profile, json!({ "$type": "app.bsky.actor.profile", "displayName": NAME }));
        memory
    }
}

#[async_trait]
impl FakePlatform for Bluesky {
    fake_platform!("bluesky");

    fn settings(&self) -> Value {
        let url = self.pds();
        json!({ "plc": url, "resolver": url, "appview": url, "video": url })
    }

    fn form_values(&self) -> FieldValues {
        FieldValues::from([("handle".to_owned(), Self::HANDLE.into())])
    }

    fn direct_form_values(&self) -> Option<FieldValues> {
        let password = self.fake.memory().app_password.as_str().into();
        Some(self.form_values().into_iter().chain([("app_password".to_owned(), password)]).collect())
    }

    /// With a server URL as the handle, the adapter asks that server for its identity.
    fn form_values_naming_server(&self) -> Option<FieldValues> {
        Some(FieldValues::from([("handle".to_owned(), self.pds().into())]))
    }

    /// The authorization page opens only for a request that a client pushed with its own key.
    fn redirect_users_to(&self, _: &str, _: Detour) -> bool {
        false
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        decide(url, Self::HANDLE, decision).await
    }

    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        fault != InjectedFault::Refused || matches!(call, Call::Upload | Call::Process | Call::Publish)
    }

    /// The user removes the app from the connected apps and deletes the app password; a new one
    /// replaces it.
    fn revoke(&self) {
        self.fake.oauth().revoke_all();
        self.fake.memory().app_password = secret();
    }

    fn end_access_tokens(&self) {
        Authorizes::end_access_tokens(&*self.fake);
    }

    fn publish_manual_post(&self, text: &str) {
        let created_at = self.fake.clock.now().to_rfc3339_opts(SecondsFormat::Millis, true);
        let mut memory = self.fake.memory();
        let uri = repo::uri(Self::DID, POST, &format!("manual{}", memory.records.len()));
        memory.add_record(uri, json!({ "$type": POST, "text": text, "createdAt": created_at }));
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let memory = self.fake.memory();
        memory.posts().map(|it| memory.public_post(it)).collect()
    }

    fn displayed_text(&self, text: &str) -> String {
        shortened(text)
    }

    fn links(&self) -> Option<Vec<String>> {
        let memory = self.fake.memory();
        Some(memory.posts().last().map_or_else(Vec::new, |it| repo::links(&it.value)))
    }

    fn grant_count(&self) -> usize {
        self.fake.oauth().usable()
    }
}
