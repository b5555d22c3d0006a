//! Calls that must not overlap: each records its beginning and its end, even when its process dies.

use platforms::Credentials;
use secrecy::ExposeSecret;

use crate::simulated_platforms::SimulatedPlatforms;
use crate::simulated_platforms::reference::Reference;

/// For a target, until this is dropped.
pub(super) struct InFlight<'a> {
    platforms: &'a SimulatedPlatforms,
    reference: Reference,
}

impl<'a> InFlight<'a> {
    pub(super) fn enter(platforms: &'a SimulatedPlatforms, reference: Reference) -> Self {
        platforms.lock().timeline.enter(reference);
        Self { platforms, reference }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.platforms.lock().timeline.leave(self.reference);
    }
}

/// Until this is dropped. Two concurrent refreshes with the same refresh token would end the grant.
pub(super) struct RefreshGuard<'a> {
    platforms: &'a SimulatedPlatforms,
    token: String,
}

impl<'a> RefreshGuard<'a> {
    pub(super) fn enter(platforms: &'a SimulatedPlatforms, old: &Credentials) -> Self {
        let token = old.refresh_token.as_ref().unwrap_or(&old.access_token).expose_secret().to_owned();
        let mut inner = platforms.lock();
        if !inner.refreshing.insert(token.clone()) {
            inner.mistakes.push("two refreshes at the same time with the same token".to_owned());
        }
        Self { platforms, token }
    }
}

impl Drop for RefreshGuard<'_> {
    fn drop(&mut self) {
        self.platforms.lock().refreshing.remove(&self.token);
    }
}
