//! Devices and their tokens.

use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderMap;

use super::api_error::ApiError;
use super::{Membership, Memory};
use crate::fake::oauth::secret;
use crate::fake::params::bearer;

/// Lifetime of an access token with a refresh token.
const LIVES: TimeDelta = TimeDelta::minutes(5);

/// A device of the user, with all its token pairs.
pub(super) struct Device {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pairs: Vec<Pair>,
    /// `None` for a device from the older sign-in.
    pub(super) session: Option<Session>,
    is_out: bool,
}

/// The OAuth 2.0 client of a device, and the code that created the device.
pub(super) struct Session {
    pub(super) client_id: String,
    pub(super) code: String,
    pub(super) made_at: DateTime<Utc>,
}

/// An access token and its refresh token.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    pub(super) ends_at: Option<DateTime<Utc>>,
    /// Whether a later pair was used.
    is_spent: bool,
}

impl Pair {
    fn new(renewable: bool, now: DateTime<Utc>) -> Self {
        let refresh = renewable.then(|| format!("refresh-{}", secret()));
        let ends_at = renewable.then(|| now + LIVES);
        Self { access: format!("access-{}", secret()), refresh, ends_at, is_spent: false }
    }
}

impl Device {
    /// "The old refresh token remains valid until the new access token or refresh token
    /// is used."
    fn mark_used(&mut self, at: usize) {
        for earlier in self.pairs.iter_mut().take(at) {
            earlier.is_spent = true;
        }
    }
}

impl Memory {
    /// Adds a device.
    pub(super) fn log_in(&mut self, renewable: bool, now: DateTime<Utc>) -> Pair {
        let id = format!("DEVICE{}", self.next());
        self.add_device(id, None, renewable, now)
    }

    /// Adds a device with this id.
    pub(super) fn add_device(
        &mut self,
        id: String,
        session: Option<Session>,
        renewable: bool,
        now: DateTime<Utc>,
    ) -> Pair {
        let pair = Pair::new(renewable, now);
        self.devices.push(Device { id, name: None, pairs: vec![pair.clone()], session, is_out: false });
        pair
    }

    /// The device of a request's access token.
    pub(super) fn device(&mut self, headers: &HeaderMap, now: DateTime<Utc>) -> Result<&mut Device, ApiError> {
        let missing = || ApiError::new(401, "M_MISSING_TOKEN", "Missing access token");
        let token = bearer(headers).ok_or_else(missing)?;
        for device in self.devices.iter_mut().filter(|it| !it.is_out) {
            let Some(at) = device.pairs.iter().position(|it| it.access == token) else { continue };
            let pair = &device.pairs[at];
            if pair.is_spent || pair.ends_at.is_some_and(|it| it <= now) {
                return Err(ApiError::unknown_token(true));
            }
            if self.membership == Membership::Locked {
                return Err(ApiError::locked());
            }
            device.mark_used(at);
            return Ok(device);
        }
        Err(ApiError::unknown_token(false))
    }

    /// A new pair for a refresh token. `client` is the OAuth 2.0 client that owns the device, or
    /// `None` for the older sign-in.
    pub(super) fn renew(&mut self, refresh: &str, client: Option<&str>, now: DateTime<Utc>) -> Result<Pair, ApiError> {
        let is_its = |it: &&mut Device| it.session.as_ref().map(|it| it.client_id.as_str()) == client;
        for device in self.devices.iter_mut().filter(|it| !it.is_out).filter(is_its) {
            let is_it = |it: &Pair| it.refresh.as_deref() == Some(refresh);
            let Some(at) = device.pairs.iter().position(is_it) else { continue };
            if device.pairs[at].is_spent {
                return Err(ApiError::unknown_token(false));
            }
            if self.membership == Membership::Locked {
                return Err(ApiError::locked());
            }
            device.mark_used(at);
            if client.is_some() {
                // Matrix Authentication Service ends the earlier tokens for the same refresh token,
                // and the access token next to it.
                device.pairs[at].ends_at = Some(now);
                for unused in device.pairs.iter_mut().skip(at + 1) {
                    unused.is_spent = true;
                }
            }
            let pair = Pair::new(true, now);
            device.pairs.push(pair.clone());
            return Ok(pair);
        }
        Err(ApiError::unknown_token(false))
    }

    /// Ends the device of a request's access token.
    pub(super) fn log_out(&mut self, headers: &HeaderMap, now: DateTime<Utc>) -> Result<(), ApiError> {
        self.device(headers, now)?.is_out = true;
        Ok(())
    }

    /// Ends the device of a token. Returns false if another client owns the device.
    pub(super) fn end_session(&mut self, token: &str, client: &str) -> bool {
        let has = |it: &Device| {
            !it.is_out
                && it
                    .pairs
                    .iter()
                    .any(|it| !it.is_spent && (it.access == token || it.refresh.as_deref() == Some(token)))
        };
        let Some(device) = self.devices.iter_mut().find(|it| has(it)) else { return true };
        let is_its = device.session.as_ref().is_some_and(|it| it.client_id == client);
        device.is_out |= is_its;
        is_its
    }

    /// A client uses a code again. Matrix Authentication Service ends the code's session, except in
    /// the first 20 seconds.
    pub(super) fn revoke_by_reused_code(&mut self, code: &str, now: DateTime<Utc>) {
        let is_of = |it: &Device| {
            it.session.as_ref().is_some_and(|it| it.code == code && it.made_at + TimeDelta::seconds(20) < now)
        };
        for device in self.devices.iter_mut().filter(|it| is_of(it)) {
            device.is_out = true;
        }
    }

    /// All issued tokens.
    pub(super) fn tokens(&self) -> Vec<String> {
        let pairs = self.devices.iter().flat_map(|it| &it.pairs);
        pairs.flat_map(|it| [Some(it.access.clone()), it.refresh.clone()]).flatten().collect()
    }

    /// The user logs out all devices.
    pub(super) fn log_all_out(&mut self) {
        for device in &mut self.devices {
            device.is_out = true;
        }
    }

    /// All access tokens expire now.
    pub(super) fn end_access_tokens(&mut self, now: DateTime<Utc>) {
        for pair in self.devices.iter_mut().flat_map(|it| &mut it.pairs) {
            pair.ends_at = Some(now);
        }
    }

    pub(super) fn count_logged_in(&self) -> usize {
        self.devices.iter().filter(|it| !it.is_out).count()
    }
}
