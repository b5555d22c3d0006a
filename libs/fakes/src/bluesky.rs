//! Bluesky: a personal data server with one account, its authorization server,
//! a PLC directory, a handle resolver, an `AppView` and the video service.
//!
//! The fake refuses what `@atproto/pds` 0.5 refuses, and also records that a real
//! server accepts but no reader can display: see [`Bluesky`].

mod account;
mod api_error;
mod blobs;
mod browser;
mod caller;
mod cid;
mod client;
mod dpop;
mod embed;
mod facet;
mod identity;
mod input;
mod jose;
mod limits;
mod oauth;
mod parts;
mod pds_state;
mod record;
mod repo;
mod schema;
mod scope;
mod service;
mod session;
mod tid;
mod trouble;
mod video;

/// A text as Bluesky's own clients post it.
pub use self::client::shortened as shortened_links;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use axum::Router;
use chrono::SecondsFormat;
use domain::clock::Clock;
use domain::media::MimeType;
use platforms::FieldValues;
use platforms::conformance::fake_platform::{
    Call, Decision, Detour, FakePlatform, InjectedFault, PublicMedium, PublicPost,
};
use serde_json::{Value, json};
use url::Url;

use self::account::Status;
use self::dpop::Realm;
use self::pds_state::repo::{Entry, Prepared};
use self::pds_state::{PdsState, Shared};
use crate::fake::echo::{self, Echo};
use crate::fake::wire;

/// The Bluesky servers that one account uses.
///
/// They have two origins: one for the authorization server, one for all others.
///
/// Stricter than the real servers: facets start and end at characters of the text
/// and do not overlap, embeds have a known type, records are validated even with
/// `validate: false`, a pushed request needs a `DPoP` proof, a client assertion
/// needs an `exp`, `htu` has no query, redirect URIs of a web client are on its
/// own origin, a blob that no record refers to is deleted after an hour, and a reply
/// follows posts of the account, by their current content ids.
#[derive(Clone)]
pub struct Bluesky {
    world: Shared,
    addresses: [SocketAddr; 2],
    browser: reqwest::Client,
    echo: Echo,
}

impl Bluesky {
    pub const HANDLE: &str = account::HANDLE;
    /// Another user's handle, for mentions.
    pub const OTHER_HANDLE: &str = account::OTHER_HANDLE;

    pub fn did(&self) -> &'static str {
        account::DID
    }

    /// The DID of [`Bluesky::OTHER_HANDLE`].
    pub fn other_did(&self) -> &'static str {
        account::OTHER_DID
    }

    /// The origin of the data server, the directory, the resolver, the
    /// `AppView` and the video service.
    pub fn pds(&self) -> &str {
        self.world.pds()
    }

    /// The origin of the authorization server.
    pub fn issuer(&self) -> &str {
        self.world.issuer()
    }

    /// Sets the document that the authorization server finds at `url`: a `client_id`
    /// or its `jwks_uri`. The server makes no network calls. Like real servers, it
    /// refuses client ids below `example.com` and redirect URIs on `.example` or `.test`.
    pub fn add_client_document(&self, url: &str, document: Value) {
        self.world.state().clients.insert(url.to_owned(), document);
    }

    /// The record at an `at://` URI, as it was written.
    pub fn record(&self, uri: &str) -> Option<Value> {
        self.world.state().repo.at(uri).map(|it| it.value.clone())
    }

    /// Number of commits to the repository.
    pub fn commits(&self) -> usize {
        self.world.state().repo.commits()
    }

    /// Sets the size limit of `uploadBlob`, in bytes; the default is 50 MiB.
    pub fn set_blob_limit(&self, bytes: u64) {
        self.world.state().blobs.limit = bytes;
    }

    /// Deletes the blobs that no record refers to, as servers do after an hour or more.
    pub fn collect_blobs(&self) {
        self.world.state().blobs.collect(|_| true);
    }

    /// Moderators take the account down, which ends its grants.
    pub fn take_down(&self) {
        let mut state = self.world.state();
        state.account.status = Status::TakenDown;
        state.grants.clear();
        state.passwords.forget_refresh_tokens();
    }

    /// The user deactivates the account.
    pub fn deactivate(&self) {
        self.world.state().account.status = Status::Deactivated;
    }

    /// Makes the account active again.
    pub fn reactivate(&self) {
        self.world.state().account.status = Status::Active;
    }

    /// The user enables the second factor: the main password alone no longer signs
    /// in, app passwords still do.
    pub fn ask_for_second_factor(&self) {
        self.world.state().account.second_factor = true;
    }

    /// The account's own password, not an app password.
    pub fn main_password(&self) -> &'static str {
        account::MAIN_PASSWORD
    }

    /// Whether there is an `AppView`. Without one, the fake responds like a data
    /// server that has no `AppView` configured.
    pub fn set_app_view(&self, has: bool) {
        self.world.state().account.app_view = has;
    }

    /// Sets how many status requests find a video job unfinished; the default is two.
    pub fn set_video_polls(&self, polls: usize) {
        self.world.state().videos.polls = polls;
    }

    /// Makes the server one from before August 2025, without granular scopes.
    pub fn is_old(&self) {
        self.world.state().knows_no_narrow_scopes = true;
        self.knows_no_galleries();
    }

    /// Makes the server one from before June 2026. Real ones accept a gallery without validation; the fake
    /// refuses it, because many readers cannot display it.
    pub fn knows_no_galleries(&self) {
        self.world.state().knows_no_galleries = true;
    }

    /// The account moves to another server; this one keeps running without it.
    pub fn move_to(&self, server: &str) {
        let mut state = self.world.state();
        state.account.moved_to = Some(server.to_owned());
        state.account.status = Status::Deactivated;
    }

    /// Adds a post of [`Bluesky::OTHER_HANDLE`] with this key, which may be quoted or
    /// not. Returns the reference that records use.
    pub fn add_other_post(&self, rkey: &str, may_be_quoted: bool) -> Value {
        self.world.state().others.post(rkey, may_be_quoted)
    }

    /// Makes the account's e-mail address unconfirmed.
    pub fn unconfirm_email(&self) {
        self.world.state().account.confirmed = false;
    }

    /// Sets the part size of multipart uploads to the video service, in bytes; the
    /// default is 5 MiB. `None`: no multipart uploads.
    pub fn set_part_bytes(&self, part_bytes: Option<u64>) {
        self.world.state().videos.parts.part_bytes = part_bytes;
    }

    /// Deletes the unfinished uploads of the video service.
    pub fn forget_uploads(&self) {
        self.world.state().videos.parts.uploads.clear();
    }

    /// How often each recorded part arrived at the video service, for all uploads.
    pub fn part_upload_counts(&self) -> Vec<usize> {
        self.world.state().videos.parts.taken.values().copied().collect()
    }

    /// Sets how many videos the account may still upload today; the default is 25.
    pub fn set_videos_left(&self, videos: u64) {
        self.world.state().videos.left = videos;
    }

    /// The next `count` jobs of the video service fail with this `failureCode`; `None`: without one, as before July 2026.
    pub fn fail_video_jobs(&self, count: usize, code: Option<&'static str>) {
        self.world.state().videos.failing = (count, code);
    }

    /// The next `count` multipart uploads fail when the client finishes them.
    pub fn fail_uploads(&self, count: usize) {
        self.world.state().videos.parts.failing = count;
    }

    /// Whether `uploadVideo` returns the status in `jobStatus`, as the lexicon defines, or
    /// without this wrapper, as the service does in practice.
    pub fn set_follows_lexicon(&self, by_lexicon: bool) {
        self.world.state().videos.by_lexicon = by_lexicon;
    }
}

#[async_trait]
impl FakePlatform for Bluesky {
    async fn start(clock: Clock) -> Self {
        let fake: Shared = Arc::new(PdsState::new(clock));
        let pds = Router::new()
            .merge(identity::routes())
            .merge(session::routes())
            .merge(service::routes())
            .merge(repo::routes())
            .merge(blobs::routes())
            .merge(video::routes())
            .merge(parts::routes());
        let echo = Echo::default();
        let pds = trouble::wrap(&fake, Realm::Pds, pds);
        let pds = wire::serve(echo::wrap(pds, &echo)).await;
        let issuer = trouble::wrap(&fake, Realm::AuthorizationServer, oauth::routes());
        let issuer = wire::serve(echo::wrap(issuer, &echo)).await;
        fake.settle(&format!("http://{pds}"), &format!("http://{issuer}"));
        Self { world: fake, addresses: [pds, issuer], browser: wire::browser(), echo }
    }

    fn name(&self) -> &'static str {
        "bluesky"
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.addresses.to_vec()
    }

    fn settings(&self) -> Value {
        let url = self.pds();
        json!({ "plc": url, "resolver": url, "appview": url, "video": url })
    }

    fn form_values(&self) -> FieldValues {
        FieldValues::from([("handle".to_owned(), account::HANDLE.into())])
    }

    fn direct_form_values(&self) -> Option<FieldValues> {
        let password = self.world.state().passwords.current().to_owned();
        let mut answers = self.form_values();
        answers.insert("app_password".to_owned(), password.into());
        Some(answers)
    }

    /// With a server URL as the handle, the adapter asks that server for its identity.
    fn form_values_naming_server(&self) -> Option<FieldValues> {
        Some(FieldValues::from([("handle".to_owned(), self.pds().into())]))
    }

    /// The authorization page opens only for a request that a client pushed with its own key.
    fn redirect_users_to(&self, _: &Self, _: Detour) -> bool {
        false
    }

    async fn redirect_url(&self, url: &str, decision: Decision) -> Url {
        browser::decide(&self.browser, url, decision).await
    }

    fn echo_requests(&self) -> bool {
        self.echo.store(true, Ordering::Relaxed);
        true
    }

    fn inject_fault(&self, call: Call, fault: InjectedFault, count: usize) {
        self.world.injected_faults().order(call, fault, count);
    }

    fn can_fail(&self, call: Call, fault: InjectedFault) -> bool {
        fault != InjectedFault::Refused || matches!(call, Call::Upload | Call::Process | Call::Publish)
    }

    /// The user removes the app from the connected apps and deletes the app
    /// password; a new one replaces it. As on real servers, access tokens of app
    /// password sessions stay valid until they expire.
    fn revoke(&self) {
        let mut state = self.world.state();
        state.grants.clear();
        state.passwords.revoke();
    }

    fn end_access_tokens(&self) {
        let now = self.world.clock.now();
        let mut state = self.world.state();
        state.grants.end_access(now);
        state.passwords.end_access();
    }

    fn translate_refusals(&self) -> bool {
        self.world.injected_faults().translate();
        true
    }

    fn publish_manual_posts(&self, count: usize) {
        let now = self.world.clock.now();
        let mut state = self.world.state();
        for number in 1..=count {
            let created_at = now.to_rfc3339_opts(SecondsFormat::Millis, true);
            let value = json!({ "text": format!("by hand, number {number}"), "createdAt": created_at });
            let prepared = Prepared::read(record::POST, Some(&tid::at(now, number)), value, String::new);
            state.repo.entries.push(prepared.expect("it is a post").entry);
        }
    }

    fn public_posts(&self) -> Vec<PublicPost> {
        let state = self.world.state();
        let medium = |(blob, alt_text): &(embed::BlobRef, Option<String>)| {
            let stored = state.blobs.get(&blob.cid).expect("a record's files are kept");
            PublicMedium {
                mime_type: MimeType::parse(&stored.mime_type).expect("a type that the service knows"),
                bytes: stored.bytes.to_vec(),
                alt_text: alt_text.clone(),
            }
        };
        let post = |entry: &Entry| PublicPost {
            id: entry.uri(),
            text: entry.value["text"].as_str().unwrap_or_default().to_owned(),
            media: embed::media(&entry.value["embed"]).iter().map(medium).collect(),
            reply_to: record::parent(&entry.value).map(str::to_owned),
        };
        state.repo.entries(record::POST).map(post).collect()
    }

    fn displayed_text(&self, text: &str) -> String {
        client::shortened(text)
    }

    fn links(&self) -> Option<Vec<String>> {
        let state = self.world.state();
        let latest = state.repo.entries(record::POST).last().map(|it| &it.value);
        Some(latest.map_or_else(Vec::new, |it| facet::links(&it["facets"], it["text"].as_str().unwrap_or_default())))
    }

    fn grant_count(&self) -> usize {
        let now = self.world.clock.now();
        let state = self.world.state();
        state.grants.usable(now) + state.passwords.usable(now)
    }

    fn call_count(&self, call: Call) -> usize {
        self.world.injected_faults().calls(call)
    }
}
