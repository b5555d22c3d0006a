//! A fake, its adapter, and the protocol around them: a small engine that keeps the guarantees of
//! `publishing` with as little code as possible.

mod delivery;
pub mod files;
mod public_files;
mod test_files;

use platforms::{
    Account, AppSource, AppUnavailable, AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, ChoicesRequest,
    Connect, ConnectError, Credentials, FieldValues, MemoryVault, PlatformSettings, Publish, RefreshError,
    RefreshPolicy, Registry, Setup, Vault,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use domain::clock::Clock;
use domain::connection::Connection;
use domain::delivery::AttemptError;
use domain::testing::{a_connection, a_user, noon};
use domain::token::{Pkce, random_token};
use egress::AddressPolicy;
use secrecy::ExposeSecret;
use serde_json::Value;
use url::{Position, Url};

pub use self::delivery::{DeliveryResult, Post};
pub use self::test_files::{TestFiles, Tunnel};
use super::fake_platform::{Decision, FakePlatform, StartFake};

/// The origin of the service, as platforms know it.
pub const ORIGIN: &str = "http://127.0.0.1:3000";

/// A fake, and its adapter in two programs: one connects accounts, the other publishes.
pub struct AdapterHarness<N: ?Sized = dyn FakePlatform> {
    pub fake: Arc<N>,
    /// The time of the service and of the fake, which changes only when a test advances it.
    pub clock: Clock,
    connector: Registry<dyn Connect>,
    publisher: Registry<dyn Publish>,
    /// Whether errors repeat the request.
    pub echoes_requests: bool,
    /// Every token and long text so far. No message may contain one.
    secrets: Mutex<Vec<String>>,
    next_post_number: AtomicU64,
    /// The account's latest credentials, as storage has them.
    credentials: Mutex<Option<Credentials>>,
    /// Refreshed credentials, by the access token that they replaced.
    refreshed: Mutex<BTreeMap<String, Credentials>>,
    /// The reference of the post that made each public post, by the platform's id.
    claims: Mutex<BTreeMap<String, String>>,
}

impl<N: FakePlatform> AdapterHarness<N> {
    /// A new fake at noon.
    pub async fn new() -> Self {
        Self::with_vault(Arc::new(MemoryVault::default())).await
    }

    pub async fn with_vault(vault: Arc<dyn Vault>) -> Self {
        let clock = manual_clock();
        let fake = Arc::new(N::start(clock.clone()).await);
        Self::from_fake(fake, &[], vault, clock)
    }

    pub async fn with_settings(settings: impl FnOnce(&N) -> Value) -> Self {
        let clock = manual_clock();
        let fake = Arc::new(N::start(clock.clone()).await);
        let settings = settings(&fake);
        Self::set_up(fake, settings, &[], Arc::new(MemoryVault::default()), clock)
    }

    /// A new fake, together with a second one that may be called, too.
    pub async fn with_second_fake() -> (Self, N) {
        let clock = manual_clock();
        let (fake, other) = (N::start(clock.clone()).await, N::start(clock.clone()).await);
        (Self::from_fake(Arc::new(fake), &other.addresses(), Arc::new(MemoryVault::default()), clock), other)
    }

    /// A new fake, together with other servers that may be called, too.
    pub async fn with_other_servers(others: &[SocketAddr]) -> Self {
        let clock = manual_clock();
        let fake = Arc::new(N::start(clock.clone()).await);
        Self::from_fake(fake, others, Arc::new(MemoryVault::default()), clock)
    }
}

impl AdapterHarness {
    /// Like [`AdapterHarness::new`], without the fake's type, so that the suite is compiled once for all fakes.
    pub async fn start(start: StartFake) -> Self {
        let clock = manual_clock();
        Self::from_fake(start(clock.clone()).await, &[], Arc::new(MemoryVault::default()), clock)
    }

    /// Like [`AdapterHarness::with_second_fake`].
    pub async fn start_with_second(start: StartFake) -> (Self, Arc<dyn FakePlatform>) {
        let clock = manual_clock();
        let (fake, other) = (start(clock.clone()).await, start(clock.clone()).await);
        (Self::from_fake(fake, &other.addresses(), Arc::new(MemoryVault::default()), clock), other)
    }
}

impl<N: FakePlatform + ?Sized> AdapterHarness<N> {
    fn from_fake(fake: Arc<N>, other_addresses: &[SocketAddr], vault: Arc<dyn Vault>, clock: Clock) -> Self {
        let settings = fake.settings();
        Self::set_up(fake, settings, other_addresses, vault, clock)
    }

    fn set_up(
        fake: Arc<N>,
        settings: Value,
        other_addresses: &[SocketAddr],
        vault: Arc<dyn Vault>,
        clock: Clock,
    ) -> Self {
        let echoes_requests = fake.echo_requests();
        let settings = PlatformSettings::from([(fake.name().to_owned(), settings)]);
        let app = fake.app_credentials();
        let app = move |_: &str| -> Arc<dyn AppSource> {
            app.clone().map_or_else(|| Arc::new(AppUnavailable) as Arc<dyn AppSource>, |it| Arc::new(it))
        };
        let addresses = [&fake.addresses(), other_addresses].concat();
        let setup = Setup::new(settings, app, vault, AddressPolicy::Also(addresses));
        let (connecting, publishing) = (Registry::new(&setup).unwrap(), Registry::new(&setup).unwrap());
        Self {
            fake,
            clock,
            connector: connecting,
            publisher: publishing,
            echoes_requests,
            secrets: Mutex::default(),
            next_post_number: AtomicU64::new(1),
            credentials: Mutex::default(),
            refreshed: Mutex::default(),
            claims: Mutex::default(),
        }
    }

    pub fn connector(&self) -> &dyn Connect {
        self.connector.get(self.fake.name()).unwrap()
    }

    /// It shares only the vault with the connector.
    pub fn publisher(&self) -> &dyn Publish {
        self.publisher.get(self.fake.name()).unwrap()
    }

    pub fn callback_urls(&self) -> CallbackUrls {
        CallbackUrls::new(ORIGIN, self.fake.name())
    }

    /// The user submits our form.
    pub async fn authorize(&self, values: &FieldValues) -> Result<(AuthorizeStep, Callback), ConnectError> {
        let pkce = Pkce::random();
        let request = AuthorizationRequest {
            state: random_token(),
            urls: self.callback_urls(),
            challenge: pkce.challenge.clone(),
        };
        let step = self.connector().authorize(values, &request, self.clock.now()).await?;
        let adapter_state = match &step {
            AuthorizeStep::Redirect { memory: adapter_state, .. }
            | AuthorizeStep::WaitForApproval { memory: adapter_state, .. } => adapter_state.clone(),
            AuthorizeStep::Accounts(_) => None,
        };
        let callback = Callback {
            query: BTreeMap::new(),
            arrived_at: String::new(),
            verifier: pkce.verifier,
            urls: self.callback_urls(),
            adapter_state,
        };
        Ok((step, callback))
    }

    /// The user decides on the platform's page.
    pub async fn callback_after(&self, decision: Decision) -> Callback {
        let (step, callback) = self.authorize(&self.fake.form_values()).await.unwrap();
        let AuthorizeStep::Redirect { url, .. } = step else { panic!("no page to decide on: {step:?}") };
        callback_at(callback, &self.fake.redirect_url(&url, decision).await)
    }

    pub async fn complete(&self, callback: &Callback) -> Result<Vec<Account>, ConnectError> {
        if let Some(proof) = callback.query.get(self.fake.proof_parameter()) {
            self.add_secret(proof);
        }
        self.add_secret(callback.verifier.expose_secret());
        self.check_redacted(self.connector().complete(callback, self.clock.now()).await)
    }

    /// No later message may contain this.
    pub fn add_secret(&self, secret: &str) {
        // Shorter texts occur by chance.
        if 16 <= secret.chars().count() {
            self.secrets.lock().unwrap().push(secret.to_owned());
        }
    }

    /// Checks that a result contains no secret and no text.
    pub fn check_redacted<T, E: std::fmt::Debug>(&self, result: Result<T, E>) -> Result<T, E> {
        if let Err(error) = &result {
            self.assert_redacted(error);
        }
        result
    }

    /// Like [`AdapterHarness::check_redacted`], for a value that is no result.
    pub fn assert_redacted(&self, message: &dyn std::fmt::Debug) {
        let message = format!("{message:?}");
        for secret in self.secrets.lock().unwrap().iter() {
            // Messages may be shortened within it.
            let beginning: String = secret.chars().take(16).collect();
            assert!(!message.contains(&beginning), "{secret:?} is passed on: {message}");
        }
    }

    pub async fn connect(&self) -> Account {
        if !self.fake.has_authorization_page() {
            return self.connect_directly().await.unwrap();
        }
        let callback = self.callback_after(Decision::Allow).await;
        let account = self.complete(&callback).await.unwrap().remove(0);
        self.store_credentials(&account.credentials);
        account
    }

    /// The account, connected without the platform's page, if the platform permits that.
    pub async fn connect_directly(&self) -> Option<Account> {
        let (step, _) = self.authorize(&self.fake.direct_form_values()?).await.unwrap();
        let AuthorizeStep::Accounts(mut accounts) = step else { panic!("{step:?}") };
        let account = accounts.remove(0);
        self.store_credentials(&account.credentials);
        Some(account)
    }

    /// The choices of an option: values and labels.
    pub async fn choices(&self, account: &Account, option: &str) -> Result<Vec<(String, String)>, AttemptError> {
        let connection = Connection { profile: account.profile.clone(), ..a_connection(&a_user()) };
        let request =
            ChoicesRequest { option, query: None, connection: &connection, credentials: &account.credentials };
        let choices = self.check_redacted(self.connector().choices(&request, self.clock.now()).await)?;
        Ok(choices.into_iter().map(|it| (it.value, it.label)).collect())
    }

    pub fn store_credentials(&self, credentials: &Credentials) {
        let tokens = [Some(&credentials.access_token), credentials.refresh_token.as_ref()];
        for token in tokens.into_iter().flatten() {
            self.add_secret(token.expose_secret());
        }
        *self.credentials.lock().unwrap() = Some(credentials.clone());
    }

    /// The stored credentials, refreshed first if they are about to expire.
    pub async fn credentials(&self) -> Result<Credentials, AttemptError> {
        let stored = self.credentials.lock().unwrap().clone().unwrap();
        let ends = stored.expires_at.is_some_and(|it| it < self.clock.now() + TimeDelta::minutes(1));
        if ends && self.publisher().refresh_policy().can_refresh(&stored) {
            Ok(self.refresh().await?)
        } else {
            Ok(stored)
        }
    }

    pub fn can_refresh(&self) -> bool {
        let stored = self.credentials.lock().unwrap();
        stored.as_ref().is_some_and(|it| self.publisher().refresh_policy().can_refresh(it))
    }

    /// Whether credentials can be refreshed only until they expire.
    pub fn is_extending(&self) -> bool {
        self.publisher().refresh_policy() == RefreshPolicy::Extending
    }

    pub async fn refresh(&self) -> Result<Credentials, RefreshError> {
        let stored = self.credentials.lock().unwrap().clone().unwrap();
        let new = self.check_redacted(self.publisher().refresh(&stored, self.clock.now()).await)?;
        // The refresh token is kept if the response has none.
        let refresh_token = new.refresh_token.or(stored.refresh_token);
        let new = Credentials { refresh_token, ..new };
        self.store_credentials(&new);
        self.refreshed.lock().unwrap().insert(stored.access_token.expose_secret().to_owned(), new.clone());
        Ok(new)
    }

    pub fn latest_credentials(&self, account: &Account) -> Credentials {
        let refreshed = self.refreshed.lock().unwrap();
        let mut latest = &account.credentials;
        while let Some(newer) = refreshed.get(latest.access_token.expose_secret()) {
            latest = newer;
        }
        latest.clone()
    }

    /// The user disconnects an account, like in the service: a grant that another user still needs
    /// is not revoked.
    pub async fn disconnect(&self, account: &Account, others: &[&Account]) {
        let revokes_all = self.connector().revokes_all();
        let credentials = self.latest_credentials(account);
        if !others.iter().any(|it| revokes_all || self.latest_credentials(it).shares_token_with(&credentials)) {
            self.connector().revoke(&credentials, self.clock.now()).await.unwrap();
        }
    }
}

/// At noon. Also installs the TLS provider of the adapters' clients.
fn manual_clock() -> Clock {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Clock::manual(noon())
}

/// The callback with which the platform redirects the user to this URL.
pub fn callback_at(callback: Callback, redirected_to: &Url) -> Callback {
    let query = redirected_to.query_pairs().into_owned().collect();
    Callback { query, arrived_at: redirected_to[..Position::AfterPath].to_owned(), ..callback }
}
