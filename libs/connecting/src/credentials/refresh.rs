//! One refresh: made by one worker at a time, awaited by the others.

use chrono::{DateTime, TimeDelta, Utc};
use cloud::timer::sleep_until;
use domain::credentials::RefreshReason;
use domain::delivery::AttemptError;
use platforms::{Credentials, Platform, RefreshError, RefreshPolicy};
use storage::{ConnectionRecord, CredentialsRecord, RefreshClaim};

use super::{CallCredentials, reconnection_needed};
use crate::{ConnectingError, CredentialService};

/// The shortest wait after a refresh that failed temporarily.
const RETRY_REFRESH: TimeDelta = TimeDelta::minutes(2);

/// The longest such wait.
const RARELY: TimeDelta = TimeDelta::days(1);

/// The wait when the end of the credentials is unknown.
const UNKNOWN: TimeDelta = TimeDelta::hours(1);

/// How often a worker checks whether another worker has finished the refresh.
const LOOKS: usize = 21;

/// The interval of these checks. Posts of the same second wait here.
const BETWEEN_LOOKS: TimeDelta = TimeDelta::milliseconds(250);

/// How often storing new credentials is tried. The grant may depend on them, and they exist nowhere
/// else.
const KEEP_TRIES: u32 = 5;

/// The wait after the first try. It doubles.
const FIRST_KEEP_WAIT: TimeDelta = TimeDelta::milliseconds(250);

pub(super) enum RefreshOutcome {
    Refreshed(Box<(Credentials, CredentialsRecord)>),
    /// The grant is lost and its user was notified; with the message of the platform.
    Gone(String),
    /// The platform was unreachable. The old credentials may still be valid.
    Unreachable(AttemptError),
    /// Another worker refreshes them, or the user reconnected the account.
    Elsewhere,
}

impl CredentialService {
    pub(super) async fn refresh_for_call(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        record: &CredentialsRecord,
        old: &Credentials,
    ) -> Result<CallCredentials, ConnectingError> {
        match self.refresh(platform, record, old, RefreshReason::Need).await? {
            RefreshOutcome::Refreshed(new) => Ok(self.given(account, new.0, new.1).await?.into()),
            RefreshOutcome::Gone(message) => {
                Ok(CallCredentials::Unavailable(reconnection_needed(&account.connection, Some(&message))))
            }
            RefreshOutcome::Unreachable(error) => Ok(CallCredentials::Unavailable(error)),
            RefreshOutcome::Elsewhere => self.await_refresh(account, record).await,
        }
    }

    /// Refreshes credentials that can be refreshed, for all connections of the grant.
    ///
    /// If the response is lost, a rotating refresh token may be used up while the next one is
    /// unknown. The old one is tried again nevertheless: some platforms accept it once more, and
    /// the others report that the grant is gone.
    pub(super) async fn refresh(
        &self,
        platform: &dyn Platform,
        record: &CredentialsRecord,
        old: &Credentials,
        refresh_reason: RefreshReason,
    ) -> Result<RefreshOutcome, ConnectingError> {
        // A refresh token works only once. Credentials that cannot be sealed would be lost, so
        // sealing is tested with the old ones first.
        self.seal(record, old).await?;
        let now = self.clock.now();
        if self.store.claim_refresh(record, now).await? == RefreshClaim::Held {
            return Ok(RefreshOutcome::Elsewhere);
        }
        match platform.refresh(old, now).await {
            Ok(new) => {
                let refresh_token = new.refresh_token.or_else(|| old.refresh_token.clone());
                let new = Credentials { refresh_token, ..new };
                // If they are not stored, the user reconnected the account meanwhile, and the
                // credentials of that are as good.
                let Some(stored) =
                    self.store_refreshed(record, (platform.refresh_policy(), refresh_reason), &new, now).await?
                else {
                    return Ok(RefreshOutcome::Elsewhere);
                };
                self.update_connections(&stored).await;
                Ok(RefreshOutcome::Refreshed(Box::new((new, stored))))
            }
            Err(RefreshError::Gone(reason)) => {
                tracing::info!(reason, grant = record.grant_name, "grant was lost");
                Ok(if self.lose(record).await? { RefreshOutcome::Gone(reason) } else { RefreshOutcome::Elsewhere })
            }
            Err(refusal @ RefreshError::Unreachable(_)) => {
                let wait = retry_wait(platform.refresh_policy(), old, now);
                let again_at = record.state.next_try(refresh_reason, wait, now);
                if let Err(error) = self.store.postpone_refresh(record, again_at).await {
                    // Another worker may refresh when the lease expires.
                    tracing::warn!(%error, grant = record.grant_name, "failed refresh was not rescheduled");
                }
                Ok(RefreshOutcome::Unreachable(refusal.into()))
            }
        }
    }

    /// `None` if the user reconnected the account.
    async fn store_refreshed(
        &self,
        record: &CredentialsRecord,
        policy_and_reason: (RefreshPolicy, RefreshReason),
        new: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<CredentialsRecord>, ConnectingError> {
        let mut wait = FIRST_KEEP_WAIT;
        for _ in 1..KEEP_TRIES {
            match self.try_store(record, policy_and_reason, new, now).await {
                Ok(stored) => return Ok(stored),
                Err(error) => {
                    tracing::warn!(%error, grant = record.grant_name, "new credentials could not be stored yet");
                }
            }
            sleep_until(&self.clock, self.clock.now() + wait).await;
            wait = wait * 2;
        }
        self.try_store(record, policy_and_reason, new, now).await
    }

    async fn try_store(
        &self,
        record: &CredentialsRecord,
        (policy, refresh_reason): (RefreshPolicy, RefreshReason),
        new: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<CredentialsRecord>, ConnectingError> {
        let sealed = self.seal(record, new).await?;
        let state = record.state.refreshed(refresh_reason, new.expires_at, policy.due_at(new, now), now);
        let refreshed = CredentialsRecord { sealed, state, ..record.clone() };
        Ok(self.store.store_refreshed(record, &refreshed).await?.then_some(refreshed))
    }

    /// Updates the connections of the grant. If this fails, the next refresh does it.
    async fn update_connections(&self, refreshed: &CredentialsRecord) {
        for connection in &refreshed.connections {
            if let Err(error) = self.store.mark_refreshed(*connection, refreshed, None).await {
                tracing::warn!(%error, connection_id = %connection, "connections could not be updated after a refresh");
            }
        }
    }

    pub(super) async fn await_refresh(
        &self,
        account: &ConnectionRecord,
        record: &CredentialsRecord,
    ) -> Result<CallCredentials, ConnectingError> {
        let connection = &account.connection;
        for check in 0..LOOKS {
            if check != 0 {
                sleep_until(&self.clock, self.clock.now() + BETWEEN_LOOKS).await;
            }
            let Some(account) = self.store.connection(connection.user_id, connection.connection_id).await? else {
                break;
            };
            let Some(found) = self.store.connection_credentials(&account).await? else { break };
            if account.connection.needs_reconnection || found.state.is_gone {
                return Ok(CallCredentials::Unavailable(reconnection_needed(connection, None)));
            }
            if found.state.generation != record.state.generation {
                return Ok(self.given(&account, self.open(&found).await?, found).await?.into());
            }
        }
        let reason = "the credentials of the account are being refreshed".to_owned();
        Ok(CallCredentials::Unavailable(AttemptError::RetryLater { retry_at: None, reason }))
    }
}

/// The wait before the next try: a tenth of the time until the refresh token expires, or since it
/// expired. Long before that there is no hurry; long after it, the platform is unlikely to respond
/// at all. One hour if the expiry is unknown.
fn retry_wait(policy: RefreshPolicy, old: &Credentials, now: DateTime<Utc>) -> TimeDelta {
    let ends_at = if policy == RefreshPolicy::Extending { old.expires_at } else { old.refresh_expires_at };
    ends_at.map_or(UNKNOWN, |it| ((it - now).abs() / 10).clamp(RETRY_REFRESH, RARELY))
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    #[test]
    fn retry_wait_shrinks_as_expiry_nears() {
        let (minute, hour, day) = (TimeDelta::minutes(1), TimeDelta::hours(1), TimeDelta::days(1));
        let ending = |refresh: Option<TimeDelta>| Credentials {
            // Irrelevant where a refresh token exists.
            expires_at: Some(noon() - day * 7),
            refresh_expires_at: refresh.map(|it| noon() + it),
            ..Credentials::new("access".into())
        };
        for (left, wait) in
            [(Some(day * 90), day), (Some(hour * 10), hour), (Some(minute), RETRY_REFRESH), (None, hour)]
        {
            assert_eq!(retry_wait(RefreshPolicy::Rotating, &ending(left), noon()), wait, "{left:?}");
        }
        assert_eq!(retry_wait(RefreshPolicy::Extending, &ending(None), noon()), hour * 24 * 7 / 10);
    }
}
