//! Credentials: opened for a call, renewed before they end, and given up when
//! only their user can help.

mod due;
mod renew;
#[cfg(test)]
mod tests;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Connection;
use domain::delivery::Setback;
use domain::event::Event;
use platforms::{Credentials, Platform};
use secrecy::ExposeSecret;
use storage::{ConnectionRecord, credentials_context};

use crate::words::wants_reconnection;
use crate::{Publishing, PublishingError};

/// Credentials that end sooner than this are renewed before a call.
const TOO_SHORT: TimeDelta = TimeDelta::seconds(60);

/// Credentials that could not be renewed are still used for a call when they
/// last this long: platforms check them when a call begins.
const ENOUGH_FOR_A_CALL: TimeDelta = TimeDelta::seconds(10);

/// How long after a renewal a rejection means that another renewal does not
/// help, because the platform does not accept new credentials either.
const ON_PROBATION: TimeDelta = TimeDelta::minutes(10);

impl Publishing {
    /// Credentials that last for a call.
    pub(crate) async fn credentials(
        &self,
        platform: &dyn Platform,
        record: &ConnectionRecord,
        now: DateTime<Utc>,
    ) -> Result<Result<Credentials, Setback>, PublishingError> {
        let connection = &record.connection;
        if connection.needs_reconnection {
            return Ok(Err(wants_reconnection(connection, None)));
        }
        let old = self.open(record).await?;
        let Some(ends_at) = old.expires_at.filter(|it| *it < now + TOO_SHORT) else { return Ok(Ok(old)) };
        if !platform.renewal().can_renew(&old) {
            return match now < ends_at {
                true => Ok(Ok(old)),
                false if self.lose(connection).await? => Ok(Err(wants_reconnection(connection, None))),
                false => self.await_renewal(connection).await,
            };
        }
        match self.renewed(platform, record, &old).await? {
            // Another worker holds the renewal and may have died, or the platform
            // could not be reached. The old credentials last for this call, so the
            // post need not be late.
            Err(Setback::Busy { .. }) if self.clock.now() + ENOUGH_FOR_A_CALL <= ends_at => Ok(Ok(old)),
            ended => Ok(ended),
        }
    }

    /// The platform did not accept the credentials: they are renewed where
    /// that may help, and otherwise the user has to connect the account again.
    pub(crate) async fn rejected(&self, platform: &dyn Platform, record: &ConnectionRecord, reason: String) -> Setback {
        let looked_into = self.look_into(platform, record, &reason).await;
        // An error must not end the delivery here. The call is known to have had
        // no effect, and if that is not written down, it counts as unknown.
        let setback = looked_into.unwrap_or_else(|error| {
            let connection_id = record.connection.connection_id;
            tracing::error!(%error, %connection_id, "rejected credentials were not looked into");
            None
        });
        setback.unwrap_or(Setback::Busy { retry_at: None, reason })
    }

    /// What stands in the way of another attempt; `None` when there are other
    /// credentials for it.
    async fn look_into(
        &self,
        platform: &dyn Platform,
        record: &ConnectionRecord,
        reason: &str,
    ) -> Result<Option<Setback>, PublishingError> {
        let connection = &record.connection;
        let old = self.open(record).await?;
        let on_probation = connection.renewed_at.is_some_and(|it| self.clock.now() < it + ON_PROBATION);
        if on_probation || !platform.renewal().can_renew(&old) {
            tracing::info!(reason, connection_id = %connection.connection_id, "credentials are not accepted");
            return Ok(self.lose(connection).await?.then(|| wants_reconnection(connection, Some(reason))));
        }
        Ok(self.renewed(platform, record, &old).await?.err())
    }

    /// Tells the user that the grant is gone, and then marks the connection. In
    /// this order, because after a crash in between the event is repeated under
    /// the same id; the other way round it could be lost.
    ///
    /// False when the credentials were changed since they were read: the platform
    /// refused the old ones, and that says nothing of the new.
    async fn lose(&self, connection: &Connection) -> Result<bool, PublishingError> {
        let (user, id, generation) = (connection.user_id, connection.connection_id, connection.generation);
        let found = self.store.connection(user, id).await?.map(|it| it.connection);
        let Some(found) = found.filter(|it| it.generation == generation) else { return Ok(false) };
        if found.needs_reconnection {
            return Ok(true);
        }
        self.events.put(&[Event::of_connection("connection.needs_reconnection", connection)]).await?;
        Ok(self.store.mark_needs_reconnection(user, id, generation).await?)
    }

    async fn open(&self, record: &ConnectionRecord) -> Result<Credentials, PublishingError> {
        let plain = self.sealer.open(&record.credentials, &context(&record.connection)).await?;
        Ok(Credentials::from_bytes(&plain)?)
    }

    async fn seal(&self, connection: &Connection, credentials: &Credentials) -> Result<Vec<u8>, PublishingError> {
        let plain = credentials.to_bytes();
        Ok(self.sealer.seal(plain.expose_secret().as_bytes(), &context(connection)).await?)
    }
}

fn context(connection: &Connection) -> String {
    credentials_context(connection.user_id, connection.connection_id, &connection.provider)
}
