//! The state that every fake has: clock, memory, apps, and the faults that a test has ordered.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use axum::Router;
use chrono::{DateTime, Utc};
use domain::clock::Clock;

use super::echo::{self, Echo};
use super::front::{self, FaultInjection};
use super::injected_faults::InjectedFaults;
use super::oauth::{App, HasOAuth, OAuth, Rules};
use super::request_log::{self, RequestLog};
use super::wire;
use crate::conformance::adapter_harness::ORIGIN;

/// A fake with the memory `M`, as its handlers access it. `K` does not change after the start.
pub(crate) struct FakeServer<M, K = ()> {
    /// As in the registry.
    name: &'static str,
    pub(crate) kind: K,
    pub(crate) clock: Clock,
    pub(crate) address: SocketAddr,
    /// Where a platform with two origins listens, too.
    second_address: OnceLock<SocketAddr>,
    /// Our service's app. Unused where the platform has no OAuth.
    pub(crate) app: App,
    pub(crate) request_log: RequestLog,
    oauth: Mutex<OAuth>,
    memory: Mutex<M>,
    troubles: Mutex<InjectedFaults>,
    echo: Echo,
}

impl<M: Send + 'static> FakeServer<M>
where
    Self: FaultInjection,
{
    /// Starts a fake on a free port. `name` is the platform's name in the registry, which is part
    /// of the redirect URI.
    pub(crate) async fn serve(
        name: &'static str,
        clock: Clock,
        rules: Rules,
        memory: M,
        routes: Router<Arc<Self>>,
    ) -> Arc<Self> {
        Self::serve_with((), name, clock, rules, memory, routes, |server| server).await
    }
}

impl<M: Send + 'static, K: Send + Sync + 'static> FakeServer<M, K>
where
    Self: FaultInjection,
{
    /// Like `serve`, for a platform with variants, or with its own layer, which also processes
    /// calls with injected faults.
    pub(crate) async fn serve_with(
        kind: K,
        name: &'static str,
        clock: Clock,
        rules: Rules,
        memory: M,
        routes: Router<Arc<Self>>,
        layer: impl FnOnce(Router) -> Router,
    ) -> Arc<Self> {
        let (listener, address) = wire::listen().await;
        let mut oauth = OAuth::new(rules);
        let app = oauth.register(&format!("{ORIGIN}/connect/callback/{name}"));
        let fake = Arc::new(Self {
            name,
            kind,
            clock,
            address,
            second_address: OnceLock::new(),
            app,
            request_log: RequestLog::default(),
            oauth: Mutex::new(oauth),
            memory: Mutex::new(memory),
            troubles: Mutex::default(),
            echo: Echo::default(),
        });
        wire::serve_on(listener, fake.wrap(routes, layer));
        fake
    }

    pub(crate) async fn serve_second(self: &Arc<Self>, routes: Router<Arc<Self>>) {
        let address = wire::serve(self.wrap(routes, |server| server)).await;
        assert!(self.second_address.set(address).is_ok(), "there are two origins");
    }

    fn wrap(self: &Arc<Self>, routes: Router<Arc<Self>>, layer: impl FnOnce(Router) -> Router) -> Router {
        let server = front::wrap(routes, Arc::clone(self)).with_state(Arc::clone(self));
        request_log::wrap(echo::wrap(layer(server), &self.echo), &self.request_log)
    }

    /// From now on error responses repeat the request. Returns whether they have messages.
    pub(crate) fn enable_echo(&self) -> bool {
        self.echo.store(true, Ordering::Relaxed);
        Self::HAS_MESSAGES
    }

    /// From now on the messages of error responses are in another language. Returns whether any
    /// message can be translated.
    pub(crate) fn translate_refusals(&self) -> bool {
        self.injected_faults().translate();
        !Self::TRANSLATED.is_empty()
    }
}

// After a panic the test has failed anyway.
impl<M, K> FakeServer<M, K> {
    pub(crate) fn oauth(&self) -> MutexGuard<'_, OAuth> {
        self.oauth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, M> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn injected_faults(&self) -> MutexGuard<'_, InjectedFaults> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Without a trailing slash.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn second_url(&self) -> String {
        format!("http://{}", self.second_address.get().expect("the fake has started"))
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        [self.address].into_iter().chain(self.second_address.get().copied()).collect()
    }
}

impl<M, K> AsRef<Mutex<InjectedFaults>> for FakeServer<M, K> {
    fn as_ref(&self) -> &Mutex<InjectedFaults> {
        &self.troubles
    }
}

impl<M: Send + 'static, K: Send + Sync + 'static> HasOAuth for FakeServer<M, K> {
    fn oauth(&self) -> MutexGuard<'_, OAuth> {
        self.oauth()
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    fn platform(&self) -> &str {
        self.name
    }
}
