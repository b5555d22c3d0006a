//! Devices and their tokens.

use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderMap;

use super::Memory;
use super::refusal::Refusal;
use crate::stand_in::oauth::secret;
use crate::stand_in::params::bearer;

/// How long an access token lives for who can renew it.
const LIVES: TimeDelta = TimeDelta::minutes(5);

/// A device of the user, with every pair of tokens that it was given.
pub(super) struct Device {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pairs: Vec<Pair>,
    is_out: bool,
}

/// An access token, and what renews it.
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
    fn use_pair(&mut self, at: usize) {
        for earlier in self.pairs.iter_mut().take(at) {
            earlier.is_spent = true;
        }
    }
}

impl Memory {
    /// Makes a device.
    pub(super) fn log_in(&mut self, renewable: bool, now: DateTime<Utc>) -> Pair {
        let (id, pair) = (format!("DEVICE{}", self.next()), Pair::new(renewable, now));
        self.devices.push(Device { id, name: None, pairs: vec![pair.clone()], is_out: false });
        pair
    }

    /// The device of a call.
    pub(super) fn device(&mut self, headers: &HeaderMap, now: DateTime<Utc>) -> Result<&mut Device, Refusal> {
        let missing = || Refusal::new(401, "M_MISSING_TOKEN", "Missing access token");
        let token = bearer(headers).ok_or_else(missing)?;
        for device in self.devices.iter_mut().filter(|it| !it.is_out) {
            let Some(at) = device.pairs.iter().position(|it| it.access == token) else { continue };
            let pair = &device.pairs[at];
            if pair.is_spent || pair.ends_at.is_some_and(|it| it <= now) {
                return Err(Refusal::unknown_token(true));
            }
            if self.is_locked {
                return Err(Refusal::locked());
            }
            device.use_pair(at);
            return Ok(device);
        }
        Err(Refusal::unknown_token(false))
    }

    /// A new pair for a refresh token.
    pub(super) fn renew(&mut self, refresh: &str, now: DateTime<Utc>) -> Result<Pair, Refusal> {
        for device in self.devices.iter_mut().filter(|it| !it.is_out) {
            let is_it = |it: &Pair| it.refresh.as_deref() == Some(refresh);
            let Some(at) = device.pairs.iter().position(is_it) else { continue };
            if device.pairs[at].is_spent {
                return Err(Refusal::unknown_token(false));
            }
            if self.is_locked {
                return Err(Refusal::locked());
            }
            device.use_pair(at);
            let pair = Pair::new(true, now);
            device.pairs.push(pair.clone());
            return Ok(pair);
        }
        Err(Refusal::unknown_token(false))
    }

    /// Ends the device of a call.
    pub(super) fn log_out(&mut self, headers: &HeaderMap, now: DateTime<Utc>) -> Result<(), Refusal> {
        self.device(headers, now)?.is_out = true;
        Ok(())
    }

    /// The user logs all devices out.
    pub(super) fn log_all_out(&mut self) {
        for device in &mut self.devices {
            device.is_out = true;
        }
    }

    /// Access tokens end at once.
    pub(super) fn end_access_tokens(&mut self, now: DateTime<Utc>) {
        for pair in self.devices.iter_mut().flat_map(|it| &mut it.pairs) {
            pair.ends_at = Some(now);
        }
    }

    /// Devices that are not logged out.
    pub(super) fn devices_in(&self) -> usize {
        self.devices.iter().filter(|it| !it.is_out).count()
    }
}
