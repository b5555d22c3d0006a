//! One renewal: made by one worker at a time, awaited by the others.

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Connection;
use domain::delivery::Setback;
use platforms::{Credentials, Platform, RefreshRefusal, Renewal};
use storage::{ConnectionRecord, RefreshClaim, Refreshed};

use crate::words::wants_reconnection;
use crate::{Publishing, PublishingError};

/// The shortest time after which a renewal is tried again that met a passing
/// failure.
pub(super) const RETRY_REFRESH: TimeDelta = TimeDelta::minutes(2);

/// The longest such time.
const RARELY: TimeDelta = TimeDelta::days(1);

/// How often it is checked whether another worker has finished its renewal.
const LOOKS: usize = 6;

/// The wait between two such checks.
const BETWEEN_LOOKS: TimeDelta = TimeDelta::seconds(1);

/// How often it is tried to store new credentials. The whole grant may hang on
/// them, and they are nowhere else.
const KEEP_TRIES: u32 = 5;

/// The wait after the first such try. It doubles.
const FIRST_KEEP_WAIT: TimeDelta = TimeDelta::milliseconds(250);

/// How a renewal ended.
pub(super) enum Renewed {
    /// These are the new credentials.
    Now(Credentials),
    /// The grant is gone, and its user was told. What the platform said.
    Gone(String),
    /// The platform could not be asked. The old credentials may still do.
    NotNow(Setback),
    /// Another worker renews them, or the account was connected anew.
    Elsewhere,
}

impl Publishing {
    /// New credentials, whoever renews them.
    pub(super) async fn renewed(
        &self,
        platform: &dyn Platform,
        record: &ConnectionRecord,
        old: &Credentials,
    ) -> Result<Result<Credentials, Setback>, PublishingError> {
        match self.renew(platform, record, old).await? {
            Renewed::Now(new) => Ok(Ok(new)),
            Renewed::Gone(said) => Ok(Err(wants_reconnection(&record.connection, Some(&said)))),
            Renewed::NotNow(setback) => Ok(Err(setback)),
            Renewed::Elsewhere => self.await_renewal(&record.connection).await,
        }
    }

    /// Renews credentials that can be renewed.
    ///
    /// When the answer is lost, a rotating refresh token may be spent without
    /// anybody having the next one. The old one is tried again all the same:
    /// some platforms take it once more, and the others say that it is gone.
    pub(super) async fn renew(
        &self,
        platform: &dyn Platform,
        record: &ConnectionRecord,
        old: &Credentials,
    ) -> Result<Renewed, PublishingError> {
        let connection = &record.connection;
        let (user, id, generation) = (connection.user_id, connection.connection_id, connection.generation);
        // A refresh token is spent only once. If new credentials could not be
        // sealed, they would be lost, so that is tried with the old ones first.
        self.seal(connection, old).await?;
        let now = self.clock.now();
        if self.store.claim_refresh(user, id, generation, now).await? == RefreshClaim::Held {
            return Ok(Renewed::Elsewhere);
        }
        match platform.refresh(old, now).await {
            Ok(new) => {
                let refresh_token = new.refresh_token.or_else(|| old.refresh_token.clone());
                let new = Credentials { refresh_token, ..new };
                let is_kept = self.keep_renewed(connection, platform.renewal(), &new, now).await?;
                // If they are not kept, the account was connected anew meanwhile,
                // and the credentials of that are as good.
                Ok(if is_kept { Renewed::Now(new) } else { Renewed::Elsewhere })
            }
            Err(RefreshRefusal::Gone(reason)) => {
                tracing::info!(reason, connection_id = %id, "a grant is gone");
                Ok(if self.lose(connection).await? { Renewed::Gone(reason) } else { Renewed::Elsewhere })
            }
            Err(refusal @ RefreshRefusal::Unreachable(_)) => {
                let again_at = Some(now + retry_wait(old, now));
                if let Err(error) = self.store.put_off_refresh(user, id, generation, again_at).await {
                    // The renewal is free for others when its lease runs out.
                    tracing::warn!(%error, connection_id = %id, "a renewal was not put off");
                }
                Ok(Renewed::NotNow(refusal.into()))
            }
        }
    }

    /// Stores new credentials. False when the account was connected anew.
    async fn keep_renewed(
        &self,
        connection: &Connection,
        renewal: Renewal,
        new: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<bool, PublishingError> {
        let mut wait = FIRST_KEEP_WAIT;
        for _ in 1..KEEP_TRIES {
            match self.try_to_keep(connection, renewal, new, now).await {
                Ok(is_kept) => return Ok(is_kept),
                Err(error) => {
                    let connection_id = connection.connection_id;
                    tracing::warn!(%error, %connection_id, "new credentials are not stored yet");
                }
            }
            self.sleep_until(self.clock.now() + wait).await;
            wait = wait * 2;
        }
        self.try_to_keep(connection, renewal, new, now).await
    }

    async fn try_to_keep(
        &self,
        connection: &Connection,
        renewal: Renewal,
        new: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<bool, PublishingError> {
        let refreshed = Refreshed {
            credentials: self.seal(connection, new).await?,
            token_expires_at: new.expires_at,
            renewed_at: now,
            refresh_at: renewal.due_at(new, now),
        };
        let (user, id, generation) = (connection.user_id, connection.connection_id, connection.generation);
        Ok(self.store.store_refreshed(user, id, generation, refreshed).await?)
    }

    /// The credentials that another worker is renewing, once it has stored them.
    pub(super) async fn await_renewal(
        &self,
        connection: &Connection,
    ) -> Result<Result<Credentials, Setback>, PublishingError> {
        for look in 0..LOOKS {
            if look != 0 {
                self.sleep_until(self.clock.now() + BETWEEN_LOOKS).await;
            }
            let Some(record) = self.store.connection(connection.user_id, connection.connection_id).await? else {
                break;
            };
            if record.connection.needs_reconnection {
                return Ok(Err(wants_reconnection(connection, None)));
            }
            if record.connection.generation != connection.generation {
                return Ok(Ok(self.open(&record).await?));
            }
        }
        let reason = "the account's credentials are being renewed".to_owned();
        Ok(Err(Setback::Busy { retry_at: None, reason }))
    }
}

/// The wait before another try: a tenth of the time to the end of the
/// credentials, or since then. While their end is far off, there is no hurry;
/// long after it, the platform is unlikely to answer at all.
fn retry_wait(old: &Credentials, now: DateTime<Utc>) -> TimeDelta {
    let off = old.expires_at.map_or(TimeDelta::zero(), |it| (it - now).abs());
    (off / 10).clamp(RETRY_REFRESH, RARELY)
}
