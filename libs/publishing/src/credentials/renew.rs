//! One renewal: made by one worker at a time, awaited by the others.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use platforms::{Credentials, Platform, RefreshError, RefreshPolicy};
use storage::{ConnectionRecord, CredentialsRecord, RefreshClaim, Refreshed};

use super::OpenCredentials;
use crate::user_messages::wants_reconnection;
use crate::waiting::sleep_until;
use crate::{CredentialService, PublishingError};

/// The shortest time after which a renewal is tried again that met a passing
/// failure.
const RETRY_REFRESH: TimeDelta = TimeDelta::minutes(2);

/// The longest such time.
const RARELY: TimeDelta = TimeDelta::days(1);

/// The same, where nobody knows how long there is.
const UNKNOWN: TimeDelta = TimeDelta::hours(1);

/// How often it is checked whether another worker has finished its renewal.
const LOOKS: usize = 21;

/// The wait between two such checks. Posts of the same second wait here.
const BETWEEN_LOOKS: TimeDelta = TimeDelta::milliseconds(250);

/// How often it is tried to store new credentials. The whole grant may hang on
/// them, and they are nowhere else.
const KEEP_TRIES: u32 = 5;

/// The wait after the first such try. It doubles.
const FIRST_KEEP_WAIT: TimeDelta = TimeDelta::milliseconds(250);

/// Why credentials are renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// Upkeep looks after them, and does so again when it is due.
    Look,
    /// Somebody needs them now. When upkeep looks after them stays as it is: its look
    /// reads more than tokens.
    Need,
}

/// How a renewal ended.
pub(super) enum Renewed {
    Now(Box<(Credentials, CredentialsRecord)>),
    /// The grant is gone, and its user was told. What the platform said.
    Gone(String),
    /// The platform could not be asked. The old credentials may still do.
    NotNow(AttemptError),
    /// Another worker renews them, or the account was connected anew.
    Elsewhere,
}

impl CredentialService {
    /// New credentials, whoever renews them.
    pub(super) async fn renewed(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        record: &CredentialsRecord,
        old: &Credentials,
    ) -> Result<Result<OpenCredentials, AttemptError>, PublishingError> {
        match self.renew(platform, record, old, Occasion::Need).await? {
            Renewed::Now(new) => self.given(account, new.0, new.1).await.map(Ok),
            Renewed::Gone(said) => Ok(Err(wants_reconnection(&account.connection, Some(&said)))),
            Renewed::NotNow(setback) => Ok(Err(setback)),
            Renewed::Elsewhere => self.await_renewal(account, record).await,
        }
    }

    /// Renews credentials that can be renewed, for all connections of the grant.
    ///
    /// When the answer is lost, a rotating refresh token may be spent without
    /// anybody having the next one. The old one is tried again all the same:
    /// some platforms take it once more, and the others say that it is gone.
    pub(super) async fn renew(
        &self,
        platform: &dyn Platform,
        record: &CredentialsRecord,
        old: &Credentials,
        occasion: Occasion,
    ) -> Result<Renewed, PublishingError> {
        let Some(record) = self.settled(record).await? else { return Ok(Renewed::Elsewhere) };
        // A refresh token is spent only once. If new credentials could not be
        // sealed, they would be lost, so that is tried with the old ones first.
        self.seal(&record, old).await?;
        let now = self.clock.now();
        if self.store.claim_refresh(&record, now).await? == RefreshClaim::Held {
            return Ok(Renewed::Elsewhere);
        }
        match platform.refresh(old, now).await {
            Ok(new) => {
                let refresh_token = new.refresh_token.or_else(|| old.refresh_token.clone());
                let new = Credentials { refresh_token, ..new };
                // If they are not kept, the account was connected anew meanwhile,
                // and the credentials of that are as good.
                let Some(kept) = self.keep_renewed(&record, (platform.refresh_policy(), occasion), &new, now).await?
                else {
                    return Ok(Renewed::Elsewhere);
                };
                self.show_renewed(&kept).await;
                Ok(Renewed::Now(Box::new((new, kept))))
            }
            Err(RefreshError::Gone(reason)) => {
                tracing::info!(reason, grant = record.grant_name, "a grant is gone");
                Ok(if self.lose(&record).await? { Renewed::Gone(reason) } else { Renewed::Elsewhere })
            }
            Err(refusal @ RefreshError::Unreachable(_)) => {
                let again_at = match occasion {
                    Occasion::Look => Some(now + retry_wait(platform.refresh_policy(), old, now)),
                    Occasion::Need => record.refresh_at,
                };
                if let Err(error) = self.store.postpone_refresh(&record, again_at).await {
                    // The renewal is free for others when its lease runs out.
                    tracing::warn!(%error, grant = record.grant_name, "a renewal was not put off");
                }
                Ok(Renewed::NotNow(refusal.into()))
            }
        }
    }

    /// Stores new credentials. `None` when the account was connected anew.
    async fn keep_renewed(
        &self,
        record: &CredentialsRecord,
        of: (RefreshPolicy, Occasion),
        new: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<CredentialsRecord>, PublishingError> {
        let mut wait = FIRST_KEEP_WAIT;
        for _ in 1..KEEP_TRIES {
            match self.try_to_keep(record, of, new, now).await {
                Ok(kept) => return Ok(kept),
                Err(error) => {
                    tracing::warn!(%error, grant = record.grant_name, "new credentials are not stored yet");
                }
            }
            sleep_until(&self.clock, self.clock.now() + wait).await;
            wait = wait * 2;
        }
        self.try_to_keep(record, of, new, now).await
    }

    async fn try_to_keep(
        &self,
        record: &CredentialsRecord,
        (renewal, occasion): (RefreshPolicy, Occasion),
        new: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<CredentialsRecord>, PublishingError> {
        let sealed = self.seal(record, new).await?;
        let (token_expires_at, renewed_at) = (new.expires_at, now);
        let due_at = renewal.due_at(new, now);
        let refresh_at = Some(match (occasion, record.refresh_at) {
            (Occasion::Need, Some(kept)) => kept.min(due_at),
            (Occasion::Need, None) | (Occasion::Look, _) => due_at,
        });
        let refreshed = Refreshed { sealed: sealed.clone(), token_expires_at, renewed_at, refresh_at };
        let generation = self.store.store_refreshed(record, refreshed).await?;
        Ok(generation.map(|generation| CredentialsRecord {
            sealed,
            token_expires_at,
            renewed_at: Some(renewed_at),
            refresh_at,
            generation,
            is_gone: false,
            ..record.clone()
        }))
    }

    /// Shows a renewal at the connections of its grant. Nothing hangs on it: what
    /// fails is shown by the next.
    async fn show_renewed(&self, renewed: &CredentialsRecord) {
        for connection in &renewed.connections {
            if let Err(error) = self.store.show_renewed(*connection, renewed).await {
                tracing::warn!(%error, connection_id = %connection, "a renewal is not shown");
            }
        }
    }

    /// The credentials that another worker is renewing, once it has stored them.
    pub(super) async fn await_renewal(
        &self,
        account: &ConnectionRecord,
        record: &CredentialsRecord,
    ) -> Result<Result<OpenCredentials, AttemptError>, PublishingError> {
        let connection = &account.connection;
        for look in 0..LOOKS {
            if look != 0 {
                sleep_until(&self.clock, self.clock.now() + BETWEEN_LOOKS).await;
            }
            let Some(account) = self.store.connection(connection.user_id, connection.connection_id).await? else {
                break;
            };
            let Some(found) = self.store.credentials_of(&account).await? else { break };
            if account.connection.needs_reconnection || found.is_gone {
                return Ok(Err(wants_reconnection(connection, None)));
            }
            let is_moved = record.beside.is_some() && found.renewed_at == record.renewed_at;
            if found.generation != record.generation && !is_moved {
                return self.given(&account, self.open(&found).await?, found).await.map(Ok);
            }
        }
        let reason = "the account's credentials are being renewed".to_owned();
        Ok(Err(AttemptError::RetryLater { retry_at: None, reason }))
    }
}

/// The wait before another try: a tenth of the time to the end of what renews the
/// credentials, or since then. While that is far off, there is no hurry; long after
/// it, the platform is unlikely to answer at all. An hour where nobody knows the end.
fn retry_wait(renewal: RefreshPolicy, old: &Credentials, now: DateTime<Utc>) -> TimeDelta {
    let ends_at = if renewal == RefreshPolicy::Extending { old.expires_at } else { old.refresh_expires_at };
    ends_at.map_or(UNKNOWN, |it| ((it - now).abs() / 10).clamp(RETRY_REFRESH, RARELY))
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    #[test]
    fn the_nearer_the_end_of_what_renews_them_the_sooner_it_is_tried_again() {
        let (minute, hour, day) = (TimeDelta::minutes(1), TimeDelta::hours(1), TimeDelta::days(1));
        let ending = |refresh: Option<TimeDelta>| Credentials {
            // It says nothing where a refresh token renews it.
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
