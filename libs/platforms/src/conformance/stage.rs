//! A fake, its adapter, and the protocol around them: a small engine that keeps the guarantees of
//! `publishing` with as little code as possible.

mod delivery;
mod public_files;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use domain::clock::Clock;
use domain::delivery::AttemptError;
use domain::testing::noon;
use domain::token::{Pkce, random_token};
use egress::AddressPolicy;
use secrecy::ExposeSecret;
use serde_json::Value;
use url::{Position, Url};

pub use self::delivery::{Passage, Post, Shelf, Tunnel};
use super::network::{Decision, Network};
use crate::account::{Account, Credentials};
use crate::app::{AppSource, AppUnavailable};
use crate::connect_flow::{
    AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, ConnectError, FieldValues, RefreshError,
};
use crate::platform::{Connect, Publish};
use crate::refresh_policy::RefreshPolicy;
use crate::registry::Registry;
use crate::setup::{PlatformSettings, Setup};
use crate::vault::{MemoryVault, Vault};

/// The origin of the service, as platforms know it.
pub const ORIGIN: &str = "http://127.0.0.1:3000";

/// A fake, and its adapter in two programs: one connects accounts, the other publishes.
pub struct Stage<N> {
    pub network: N,
    /// The time of the service and of the fake. It stands still until a test advances it.
    pub clock: Clock,
    connecting: Registry<dyn Connect>,
    publishing: Registry<dyn Publish>,
    /// Whether errors repeat the request.
    pub repeats: bool,
    /// Every token and long text so far. No message may contain one.
    unsaid: Mutex<Vec<String>>,
    posts: AtomicU64,
    /// The account's latest credentials, as storage has them.
    credentials: Mutex<Option<Credentials>>,
    /// Refreshed credentials, by the access token that they replaced.
    renewed: Mutex<BTreeMap<String, Credentials>>,
    /// The reference of the post that made each public post, by the platform's id.
    claims: Mutex<BTreeMap<String, String>>,
}

impl<N: Network> Stage<N> {
    /// A new fake at noon.
    pub async fn new() -> Self {
        Self::with_vault(Arc::new(MemoryVault::default())).await
    }

    /// A new fake with the given vault.
    pub async fn with_vault(vault: Arc<dyn Vault>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Clock::manual(noon());
        let network = N::start(clock.clone()).await;
        Self::of(network, &[], vault, clock)
    }

    /// A new fake, with settings that name its base URL.
    pub async fn with_settings(settings: impl FnOnce(&N) -> Value) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Clock::manual(noon());
        let network = N::start(clock.clone()).await;
        let settings = settings(&network);
        Self::set_up(network, settings, &[], Arc::new(MemoryVault::default()), clock)
    }

    /// A new fake, together with a second one that may be called, too.
    pub async fn beside_another() -> (Self, N) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Clock::manual(noon());
        let (network, other) = (N::start(clock.clone()).await, N::start(clock.clone()).await);
        (Self::of(network, &other.addresses(), Arc::new(MemoryVault::default()), clock), other)
    }

    /// A new fake, together with other servers that may be called, too.
    pub async fn beside(others: &[SocketAddr]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Clock::manual(noon());
        let network = N::start(clock.clone()).await;
        Self::of(network, others, Arc::new(MemoryVault::default()), clock)
    }

    fn of(network: N, beside: &[SocketAddr], vault: Arc<dyn Vault>, clock: Clock) -> Self {
        let settings = network.settings();
        Self::set_up(network, settings, beside, vault, clock)
    }

    fn set_up(network: N, settings: Value, beside: &[SocketAddr], vault: Arc<dyn Vault>, clock: Clock) -> Self {
        let repeats = network.echo();
        let settings = PlatformSettings::from([(network.name().to_owned(), settings)]);
        let app = network.app();
        let app = move |_: &str| -> Arc<dyn AppSource> {
            app.clone().map_or_else(|| Arc::new(AppUnavailable) as Arc<dyn AppSource>, |it| Arc::new(it))
        };
        let addresses = [&network.addresses(), beside].concat();
        let setup = Setup::new(settings, app, vault, AddressPolicy::Also(addresses));
        let (connecting, publishing) = (Registry::new(&setup).unwrap(), Registry::new(&setup).unwrap());
        Self {
            network,
            clock,
            connecting,
            publishing,
            repeats,
            unsaid: Mutex::default(),
            posts: AtomicU64::new(1),
            credentials: Mutex::default(),
            renewed: Mutex::default(),
            claims: Mutex::default(),
        }
    }

    /// The adapter of the program that connects accounts.
    pub fn connecting(&self) -> &dyn Connect {
        self.connecting.get(self.network.name()).unwrap()
    }

    /// The adapter of the program that publishes. It shares only the vault with the other one.
    pub fn publishing(&self) -> &dyn Publish {
        self.publishing.get(self.network.name()).unwrap()
    }

    /// The public URLs of the service.
    pub fn here(&self) -> CallbackUrls {
        CallbackUrls::of(ORIGIN, self.network.name())
    }

    /// The user submits our form.
    pub async fn depart(&self, answers: &FieldValues) -> Result<(AuthorizeStep, Callback), ConnectError> {
        let pkce = Pkce::random();
        let request =
            AuthorizationRequest { state: random_token(), urls: self.here(), challenge: pkce.challenge.clone() };
        let departure = self.connecting().authorize(answers, &request, self.clock.now()).await?;
        let memory = match &departure {
            AuthorizeStep::Redirect { memory, .. } | AuthorizeStep::WaitForApproval { memory, .. } => memory.clone(),
            AuthorizeStep::Accounts(_) => None,
        };
        let callback = Callback {
            query: BTreeMap::new(),
            arrived_at: String::new(),
            verifier: pkce.verifier,
            urls: self.here(),
            adapter_state: memory,
        };
        Ok((departure, callback))
    }

    /// The user decides on the platform's page. Returns the callback.
    pub async fn decided(&self, decision: Decision) -> Callback {
        let (departure, callback) = self.depart(&self.network.answers()).await.unwrap();
        let AuthorizeStep::Redirect { url, .. } = departure else { panic!("no page to decide on: {departure:?}") };
        returning(callback, &self.network.send_back(&url, decision).await)
    }

    /// Completes a connect flow.
    pub async fn complete(&self, callback: &Callback) -> Result<Vec<Account>, ConnectError> {
        if let Some(proof) = callback.query.get(self.network.proof()) {
            self.is_unsaid(proof);
        }
        self.is_unsaid(callback.verifier.expose_secret());
        self.record(self.connecting().complete(callback, self.clock.now()).await)
    }

    /// No later message may contain this.
    pub fn is_unsaid(&self, what: &str) {
        // Shorter texts occur by chance.
        if 16 <= what.chars().count() {
            self.unsaid.lock().unwrap().push(what.to_owned());
        }
    }

    /// Checks that a result contains no secret and no text.
    pub fn record<T, E: std::fmt::Debug>(&self, answer: Result<T, E>) -> Result<T, E> {
        if let Err(said) = &answer {
            self.has_heard(said);
        }
        answer
    }

    /// Like [`Stage::record`], for a value that is no result.
    pub fn has_heard(&self, said: &dyn std::fmt::Debug) {
        let said = format!("{said:?}");
        for what in self.unsaid.lock().unwrap().iter() {
            // Messages may be shortened within it.
            let beginning: String = what.chars().take(16).collect();
            assert!(!said.contains(&beginning), "{what:?} is passed on: {said}");
        }
    }

    pub async fn connect(&self) -> Account {
        if !self.network.has_page() {
            return self.connect_by_typing().await.unwrap();
        }
        let callback = self.decided(Decision::Allow).await;
        let account = self.complete(&callback).await.unwrap().remove(0);
        self.keep(&account.credentials);
        account
    }

    /// The account, connected without the platform's page, if the platform permits that.
    pub async fn connect_by_typing(&self) -> Option<Account> {
        let (departure, _) = self.depart(&self.network.direct_answers()?).await.unwrap();
        let AuthorizeStep::Accounts(mut accounts) = departure else { panic!("{departure:?}") };
        let account = accounts.remove(0);
        self.keep(&account.credentials);
        Some(account)
    }

    /// Stores credentials in place of the earlier ones.
    pub fn keep(&self, credentials: &Credentials) {
        let tokens = [Some(&credentials.access_token), credentials.refresh_token.as_ref()];
        for token in tokens.into_iter().flatten() {
            self.is_unsaid(token.expose_secret());
        }
        *self.credentials.lock().unwrap() = Some(credentials.clone());
    }

    /// The stored credentials, refreshed first if they are about to expire.
    pub async fn credentials(&self) -> Result<Credentials, AttemptError> {
        let stored = self.credentials.lock().unwrap().clone().unwrap();
        let ends = stored.expires_at.is_some_and(|it| it < self.clock.now() + TimeDelta::minutes(1));
        if ends && self.publishing().refresh_policy().can_refresh(&stored) {
            Ok(self.renew().await?)
        } else {
            Ok(stored)
        }
    }

    /// Whether the stored credentials can be refreshed.
    pub fn can_renew(&self) -> bool {
        let stored = self.credentials.lock().unwrap();
        stored.as_ref().is_some_and(|it| self.publishing().refresh_policy().can_refresh(it))
    }

    /// Whether they can be refreshed only until they expire.
    pub fn renews_what_lives(&self) -> bool {
        self.publishing().refresh_policy() == RefreshPolicy::Extending
    }

    /// Refreshes the stored credentials.
    pub async fn renew(&self) -> Result<Credentials, RefreshError> {
        let stored = self.credentials.lock().unwrap().clone().unwrap();
        let new = self.record(self.publishing().refresh(&stored, self.clock.now()).await)?;
        // The refresh token is kept if the response has none.
        let refresh_token = new.refresh_token.or(stored.refresh_token);
        let new = Credentials { refresh_token, ..new };
        self.keep(&new);
        self.renewed.lock().unwrap().insert(stored.access_token.expose_secret().to_owned(), new.clone());
        Ok(new)
    }

    /// The latest stored credentials of an account.
    pub fn latest(&self, account: &Account) -> Credentials {
        let renewed = self.renewed.lock().unwrap();
        let mut latest = &account.credentials;
        while let Some(newer) = renewed.get(latest.access_token.expose_secret()) {
            latest = newer;
        }
        latest.clone()
    }

    /// The user disconnects an account, like in the service: a grant that another user still needs
    /// is not revoked.
    pub async fn disconnect(&self, account: &Account, others: &[&Account]) {
        let revokes_all = self.connecting().revokes_all();
        let credentials = self.latest(account);
        if !others.iter().any(|it| revokes_all || self.latest(it).share_a_token(&credentials)) {
            self.connecting().revoke(&credentials, self.clock.now()).await.unwrap();
        }
    }
}

/// The callback with which the platform redirects the user to this URL.
pub fn returning(callback: Callback, address: &Url) -> Callback {
    let query = address.query_pairs().into_owned().collect();
    Callback { query, arrived_at: address[..Position::AfterPath].to_owned(), ..callback }
}
