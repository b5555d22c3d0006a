//! Credentials: opened for a call, renewed before they end, one renewal at a
//! time per connection.

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Connection;
use domain::delivery::Setback;
use domain::event::Event;
use platforms::{Credentials, Platform, RefreshRefusal};
use secrecy::ExposeSecret;
use storage::{ConnectionRecord, RefreshClaim, Refreshed, credentials_context};

use crate::{Publishing, PublishingError};

/// Credentials that end sooner than this are renewed before a call.
const TOO_SHORT: TimeDelta = TimeDelta::seconds(60);

/// When a renewal that met a passing failure is tried again.
const RETRY_REFRESH: TimeDelta = TimeDelta::minutes(2);

/// How often somebody else's renewal is looked for.
const LOOKS: usize = 5;

/// The wait between two such looks.
const BETWEEN_LOOKS: TimeDelta = TimeDelta::seconds(1);

/// Connections renewed in one run of one shard.
const REFRESH_PAGE: i32 = 100;

impl Publishing {
    /// Renews whatever credentials want it by now; the number of those that
    /// were renewed.
    pub async fn refresh_due(&self) -> Result<usize, PublishingError> {
        let due = self.store.connections_to_refresh(self.clock.now(), REFRESH_PAGE).await?;
        let mut renewed = 0;
        for (user, id) in due {
            let Some(record) = self.store.connection(user, id).await? else { continue };
            let Some(platform) = self.platforms.get(&record.connection.provider) else { continue };
            // One that cannot be renewed does not keep the others from it.
            match self.refresh(platform, &record).await {
                Ok(Ok(_)) => renewed += 1,
                Ok(Err(setback)) => tracing::warn!(?setback, connection_id = %id, "credentials were not renewed"),
                Err(error) => tracing::error!(%error, connection_id = %id, "credentials were not renewed"),
            }
        }
        Ok(renewed)
    }

    /// Credentials that last for a call.
    pub(crate) async fn credentials(
        &self,
        platform: &dyn Platform,
        record: &ConnectionRecord,
        now: DateTime<Utc>,
    ) -> Result<Result<Credentials, Setback>, PublishingError> {
        if record.connection.needs_reconnection {
            return Ok(Err(wants_reconnection(&record.connection)));
        }
        let credentials = self.open(record).await?;
        let ends_soon = credentials.expires_at.is_some_and(|it| it < now + TOO_SHORT);
        if ends_soon && platform.refresh_lead().is_some() && credentials.refresh_token.is_some() {
            return self.refresh(platform, record).await;
        }
        Ok(Ok(credentials))
    }

    /// The platform did not accept the credentials: they are renewed where
    /// they can be, and otherwise the user has to connect the account again.
    pub(crate) async fn rejected(
        &self,
        platform: &dyn Platform,
        record: &ConnectionRecord,
        reason: String,
    ) -> Result<Setback, PublishingError> {
        if platform.refresh_lead().is_some() && self.open(record).await?.refresh_token.is_some() {
            return Ok(match self.refresh(platform, record).await? {
                Ok(_) => Setback::Busy { retry_at: None, reason },
                Err(setback) => setback,
            });
        }
        self.lose(&record.connection).await?;
        Ok(wants_reconnection(&record.connection))
    }

    async fn refresh(
        &self,
        platform: &dyn Platform,
        record: &ConnectionRecord,
    ) -> Result<Result<Credentials, Setback>, PublishingError> {
        let now = self.clock.now();
        let connection = &record.connection;
        let (user, id, generation) = (connection.user_id, connection.connection_id, connection.generation);
        if self.store.claim_refresh(user, id, generation, now).await? == RefreshClaim::Held {
            return self.await_refresh(connection).await;
        }
        let old = self.open(record).await?;
        match platform.refresh(&old, now).await {
            Ok(new) => {
                let new = Credentials { refresh_token: new.refresh_token.or(old.refresh_token), ..new };
                let context = credentials_context(user, id, &connection.provider);
                let sealed = self.sealer.seal(new.to_bytes().expose_secret().as_bytes(), &context).await?;
                let lead = platform.refresh_lead().unwrap_or_default();
                let refreshed = Refreshed {
                    credentials: sealed,
                    token_expires_at: new.expires_at,
                    refresh_at: new.expires_at.map(|it| it - lead),
                };
                if self.store.store_refreshed(user, id, generation, refreshed).await? {
                    return Ok(Ok(new));
                }
                // Connected anew meanwhile: those credentials are as good.
                self.await_refresh(connection).await
            }
            Err(RefreshRefusal::Gone(reason)) => {
                tracing::info!(reason, connection_id = %id, "a grant is gone");
                self.lose(connection).await?;
                Ok(Err(wants_reconnection(connection)))
            }
            Err(refusal @ RefreshRefusal::Unreachable(_)) => {
                self.store.put_off_refresh(user, id, generation, now + RETRY_REFRESH).await?;
                Ok(Err(refusal.into()))
            }
        }
    }

    /// Somebody else is renewing: their result is ours.
    async fn await_refresh(&self, connection: &Connection) -> Result<Result<Credentials, Setback>, PublishingError> {
        for _ in 0..LOOKS {
            let Some(record) = self.store.connection(connection.user_id, connection.connection_id).await? else {
                break;
            };
            if record.connection.needs_reconnection {
                return Ok(Err(wants_reconnection(connection)));
            }
            if record.connection.generation != connection.generation {
                return Ok(Ok(self.open(&record).await?));
            }
            self.sleep_until(self.clock.now() + BETWEEN_LOOKS).await;
        }
        let reason = "the account's credentials are being renewed".to_owned();
        Ok(Err(Setback::Busy { retry_at: None, reason }))
    }

    async fn lose(&self, connection: &Connection) -> Result<(), PublishingError> {
        let (user, id) = (connection.user_id, connection.connection_id);
        if self.store.mark_needs_reconnection(user, id, connection.generation).await? {
            self.announce(Event::of_connection("connection.needs_reconnection", connection)).await;
        }
        Ok(())
    }

    async fn open(&self, record: &ConnectionRecord) -> Result<Credentials, PublishingError> {
        let connection = &record.connection;
        let context = credentials_context(connection.user_id, connection.connection_id, &connection.provider);
        let plain = self.sealer.open(&record.credentials, &context).await?;
        Ok(Credentials::from_bytes(&plain)?)
    }
}

fn wants_reconnection(connection: &Connection) -> Setback {
    let reason = format!(
        "{} no longer accepts this connection; connect the account again within 24 hours and the post goes out",
        connection.rules.title
    );
    Setback::Disconnected { reason }
}

#[cfg(test)]
mod tests;
