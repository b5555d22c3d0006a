//! App passwords and password sessions.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};

use crate::bluesky::jose;

const REFRESH_LIVES: TimeDelta = TimeDelta::days(90);
/// How long a used refresh token stays valid.
const USED_REFRESH_LIVES: TimeDelta = TimeDelta::hours(2);

/// The current app password and all password sessions.
pub(in crate::bluesky) struct Passwords {
    current: String,
    pub(in crate::bluesky) refresh: HashMap<String, Refresh>,
    /// Ids of issued access tokens.
    pub(in crate::bluesky) access: HashSet<String>,
    /// Ids of access tokens that a test ended.
    ended: HashSet<String>,
}

pub(in crate::bluesky) struct Refresh {
    pub(in crate::bluesky) ends: DateTime<Utc>,
    /// Id of the refresh token that replaced this one.
    next: Option<String>,
    /// Whether the session began with an app password, not with the main password.
    pub(in crate::bluesky) is_app_password: bool,
}

impl Default for Passwords {
    fn default() -> Self {
        Self { current: app_password(), refresh: HashMap::new(), access: HashSet::new(), ended: HashSet::new() }
    }
}

impl Passwords {
    pub(in crate::bluesky) fn current(&self) -> &str {
        &self.current
    }

    /// Replaces the app password and ends its sessions.
    pub(in crate::bluesky) fn revoke(&mut self) {
        self.current = app_password();
        self.refresh.retain(|_, it| !it.is_app_password);
    }

    /// Deletes all refresh tokens, so each session ends when its access token expires.
    pub(in crate::bluesky) fn forget_refresh_tokens(&mut self) {
        self.refresh.clear();
    }

    /// Ends all access tokens now.
    pub(in crate::bluesky) fn end_access(&mut self) {
        self.ended.extend(self.access.drain());
    }

    /// Whether a test ended this access token.
    pub(in crate::bluesky) fn has_ended(&self, access: &str) -> bool {
        self.ended.contains(access)
    }

    /// How many sessions can still be refreshed.
    pub(in crate::bluesky) fn usable(&self, now: DateTime<Utc>) -> usize {
        self.refresh.values().filter(|it| it.next.is_none() && now < it.ends).count()
    }

    /// Begins a session; returns the id of its refresh token.
    pub(in crate::bluesky) fn add(&mut self, of_app: bool, now: DateTime<Utc>) -> String {
        let id = jose::random("");
        self.refresh.insert(id.clone(), Refresh { ends: now + REFRESH_LIVES, next: None, is_app_password: of_app });
        id
    }

    /// Exchanges a refresh token for the next one. A repeated exchange returns the same
    /// token. `None` when there is no such session.
    pub(in crate::bluesky) fn rotate(&mut self, id: &str, now: DateTime<Utc>) -> Option<String> {
        let refresh = self.refresh.get(id).filter(|it| now < it.ends)?;
        if let Some(next) = &refresh.next {
            let next = next.clone();
            return self.refresh.contains_key(&next).then_some(next);
        }
        let next = self.add(refresh.is_app_password, now);
        let used = self.refresh.get_mut(id)?;
        used.ends = used.ends.min(now + USED_REFRESH_LIVES);
        used.next = Some(next.clone());
        Some(next)
    }
}

/// A new app password: four times four letters.
fn app_password() -> String {
    let letters: String = jose::random("").to_lowercase().chars().filter(char::is_ascii_lowercase).collect();
    let letter_group = |index: usize| letters.get(4 * index..4 * index + 4).unwrap_or("abcd");
    format!("{}-{}-{}-{}", letter_group(0), letter_group(1), letter_group(2), letter_group(3))
}
