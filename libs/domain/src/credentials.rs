//! The state of a grant's credentials: valid, to be refreshed by one worker at a time, or ended at the
//! platform.
//!
//! Each transition takes the state as it was read, and returns the state to write. `storage` writes it
//! on condition that the stored generation is still the one that was read.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// Credentials that expire sooner than this are refreshed before a call.
const TOO_SHORT: TimeDelta = TimeDelta::seconds(60);

/// Credentials that could not be refreshed are still used for a call if they are valid for this
/// long: platforms check them when a call begins.
const ENOUGH_FOR_A_CALL: TimeDelta = TimeDelta::seconds(10);

/// If the platform rejects credentials this soon after a refresh, another refresh does not help,
/// because the platform does not accept new credentials either.
pub const PROBATION: TimeDelta = TimeDelta::minutes(10);

/// How long one worker may take to refresh credentials. Longer than any adapter's call, so that
/// two workers never use the same rotating refresh token.
pub const REFRESH_LEASE: TimeDelta = TimeDelta::seconds(60);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialState {
    /// Increases with every change of the credentials, so that a refusal of old credentials does not
    /// affect new ones. Starts at the current time in milliseconds, so that a grant that was revoked
    /// and authorized again is distinguished too.
    pub generation: u64,
    pub is_gone: bool,
    /// `None` if they do not expire.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option")]
    pub token_expires_at: Option<DateTime<Utc>>,
    #[serde(default, with = "chrono::serde::ts_milliseconds_option")]
    pub refreshed_at: Option<DateTime<Utc>>,
    /// `None` if never.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option")]
    pub refresh_at: Option<DateTime<Utc>>,
}

/// Whether credentials can be refreshed without their user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshability {
    Refreshable,
    /// The platform has no refresh, or these credentials have no refresh token.
    Fixed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStep {
    Use,
    Refresh,
    /// They have expired, and only their user can restore the grant.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionStep {
    Refresh,
    /// New credentials would be rejected too: the grant is lost.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshReason {
    /// The periodic check of upkeep. It sets its next time.
    AccountCheck,
    /// A call needs them now. The next check of upkeep does not move, because it does more than
    /// refresh tokens.
    Need,
}

impl CredentialState {
    /// The state of credentials that their user authorized. `before` is that of earlier credentials
    /// of the grant.
    pub fn authorized(
        before: Option<&Self>,
        token_expires_at: Option<DateTime<Utc>>,
        refresh_at: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Self {
        let next = before.map_or(0, |it| it.generation + 1);
        let generation = next.max(now.timestamp_millis().try_into().unwrap_or_default());
        Self { generation, is_gone: false, token_expires_at, refreshed_at: None, refresh_at }
    }

    pub fn before_call(&self, refreshability: Refreshability, at: DateTime<Utc>) -> CallStep {
        match self.token_expires_at {
            Some(it) if it < at + TOO_SHORT && refreshability == Refreshability::Refreshable => CallStep::Refresh,
            Some(it) if it <= at => CallStep::End,
            Some(_) | None => CallStep::Use,
        }
    }

    pub fn is_valid_for_a_call(&self, now: DateTime<Utc>) -> bool {
        self.token_expires_at.is_none_or(|it| now + ENOUGH_FOR_A_CALL <= it)
    }

    pub fn has_expired(&self, now: DateTime<Utc>) -> bool {
        self.token_expires_at.is_some_and(|it| it <= now)
    }

    pub fn is_on_probation(&self, now: DateTime<Utc>) -> bool {
        self.refreshed_at.is_some_and(|it| now < it + PROBATION)
    }

    pub fn after_rejection(&self, refreshability: Refreshability, now: DateTime<Utc>) -> RejectionStep {
        if self.is_on_probation(now) || refreshability == Refreshability::Fixed {
            return RejectionStep::End;
        }
        RejectionStep::Refresh
    }

    /// New credentials, which are due for the next refresh or check at `due_at`.
    ///
    /// A grant that counted as ended exists again: if the lease of this refresh expired, the next
    /// worker may have been refused with the refresh token that this worker had used.
    #[must_use]
    pub fn refreshed(
        &self,
        reason: RefreshReason,
        token_expires_at: Option<DateTime<Utc>>,
        due_at: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Self {
        let refresh_at = match (reason, self.refresh_at) {
            (RefreshReason::Need, Some(scheduled_at)) => scheduled_at.min(due_at),
            (RefreshReason::Need, None) | (RefreshReason::AccountCheck, _) => due_at,
        };
        Self {
            generation: self.generation + 1,
            is_gone: false,
            token_expires_at,
            refreshed_at: Some(now),
            refresh_at: Some(refresh_at),
        }
    }

    pub fn next_try(&self, reason: RefreshReason, wait: TimeDelta, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        match reason {
            RefreshReason::AccountCheck => Some(now + wait),
            RefreshReason::Need => self.refresh_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Refreshability::{Fixed, Refreshable};
    use super::*;
    use crate::testing::noon;

    fn expiring(seconds: i64) -> CredentialState {
        CredentialState { token_expires_at: Some(noon() + TimeDelta::seconds(seconds)), ..CredentialState::default() }
    }

    #[test]
    fn credentials_are_refreshed_a_minute_before_they_expire() {
        for (state, refreshability, step) in [
            (CredentialState::default(), Refreshable, CallStep::Use),
            (CredentialState::default(), Fixed, CallStep::Use),
            (expiring(60), Refreshable, CallStep::Use),
            (expiring(59), Refreshable, CallStep::Refresh),
            (expiring(-1), Refreshable, CallStep::Refresh),
            (expiring(1), Fixed, CallStep::Use),
            (expiring(0), Fixed, CallStep::End),
        ] {
            assert_eq!(state.before_call(refreshability, noon()), step, "{state:?} {refreshability:?}");
        }
    }

    #[test]
    fn credentials_that_could_not_be_refreshed_need_ten_seconds() {
        assert!(expiring(10).is_valid_for_a_call(noon()));
        assert!(!expiring(9).is_valid_for_a_call(noon()));
        assert!(CredentialState::default().is_valid_for_a_call(noon()));
        assert!(expiring(0).has_expired(noon()) && !expiring(1).has_expired(noon()));
        assert!(!CredentialState::default().has_expired(noon()));
    }

    #[test]
    fn rejected_credentials_are_refreshed_unless_they_are_new() {
        let refreshed = CredentialState { refreshed_at: Some(noon()), ..CredentialState::default() };
        assert_eq!(refreshed.after_rejection(Refreshable, noon() + PROBATION), RejectionStep::Refresh);
        let just_before = noon() + PROBATION - TimeDelta::milliseconds(1);
        assert_eq!(refreshed.after_rejection(Refreshable, just_before), RejectionStep::End);
        assert_eq!(CredentialState::default().after_rejection(Refreshable, noon()), RejectionStep::Refresh);
        assert_eq!(CredentialState::default().after_rejection(Fixed, noon()), RejectionStep::End);
    }

    #[test]
    fn refresh_for_a_call_does_not_delay_the_next_check() {
        let (soon, late) = (noon() + TimeDelta::hours(1), noon() + TimeDelta::days(7));
        let state = CredentialState { generation: 5, is_gone: true, refresh_at: Some(soon), ..expiring(0) };
        let refreshed = |reason, due_at| state.refreshed(reason, Some(late), due_at, noon());

        let expected = CredentialState {
            generation: 6,
            is_gone: false,
            token_expires_at: Some(late),
            refreshed_at: Some(noon()),
            refresh_at: Some(soon),
        };
        assert_eq!(refreshed(RefreshReason::Need, late), expected);
        let at_check = CredentialState { refresh_at: Some(late), ..expected.clone() };
        assert_eq!(refreshed(RefreshReason::AccountCheck, late), at_check);
        assert_eq!(refreshed(RefreshReason::Need, noon()).refresh_at, Some(noon()), "sooner than planned");

        let wait = TimeDelta::minutes(2);
        assert_eq!(state.next_try(RefreshReason::Need, wait, noon()), Some(soon));
        assert_eq!(state.next_try(RefreshReason::AccountCheck, wait, noon()), Some(noon() + wait));
    }

    #[test]
    fn new_authorization_has_a_later_generation() {
        let first = CredentialState::authorized(None, None, None, noon());
        assert_eq!(first.generation, u64::try_from(noon().timestamp_millis()).unwrap());
        let gone = CredentialState { is_gone: true, refreshed_at: Some(noon()), ..first.clone() };
        let again = CredentialState::authorized(Some(&gone), None, Some(noon()), noon());
        assert_eq!(again, CredentialState { generation: first.generation + 1, refresh_at: Some(noon()), ..first });
    }
}
