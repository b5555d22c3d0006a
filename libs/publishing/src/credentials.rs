//! Credentials: opened for a call, renewed before they end, and given up when
//! only their user can help.

mod about;
mod due;
mod ended_there;
mod moved;
mod renew;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::events::EventBus;
use cloud::seal::Sealer;
use domain::clock::Clock;
use domain::connection::Connection;
use domain::delivery::AttemptError;
use domain::event::Event;
use platforms::{Credentials, Platform, UnreadableCredentials};
use secrecy::ExposeSecret;
use storage::{ConnectionRecord, CredentialsRecord, KeptIn, LostGrant, Store, credentials_context, grant_context};

use crate::PublishingError;
use crate::user_messages::wants_reconnection;

/// Credentials that end sooner than this are renewed before a call.
const TOO_SHORT: TimeDelta = TimeDelta::seconds(60);

/// Credentials that could not be renewed are still used for a call when they
/// last this long: platforms check them when a call begins.
const ENOUGH_FOR_A_CALL: TimeDelta = TimeDelta::seconds(10);

/// How long after a renewal a rejection means that another renewal does not
/// help, because the platform does not accept new credentials either.
const ON_PROBATION: TimeDelta = TimeDelta::minutes(10);

/// So many events are put on the bus with one call.
const EVENTS_AT_ONCE: usize = 10;

/// Credentials for a call, and the record that they are from.
#[derive(Debug)]
pub(crate) struct OpenCredentials {
    /// With what is the account's own.
    pub(crate) credentials: Credentials,
    /// As it was read, or has just been written.
    pub(crate) record: CredentialsRecord,
}

/// Credentials as they are stored. They may have to be renewed before a call.
#[derive(Debug)]
pub struct StoredCredentials {
    record: CredentialsRecord,
    credentials: Credentials,
}

impl StoredCredentials {
    /// What is the same before and after a renewal, such as the server.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }
}

/// Whoever keeps credentials: opens them, renews them, and gives them up.
#[derive(Clone)]
pub struct CredentialService {
    pub store: Store,
    /// Seals and opens them.
    pub sealer: Arc<dyn Sealer>,
    /// Hears of those that are lost.
    pub events: Arc<dyn EventBus>,
    /// The time.
    pub clock: Clock,
}

impl CredentialService {
    /// The credentials of an account as they are stored, or why there are none now. No
    /// platform is called.
    pub async fn stored(
        &self,
        account: &ConnectionRecord,
    ) -> Result<Result<StoredCredentials, AttemptError>, PublishingError> {
        if account.connection.needs_reconnection {
            return Ok(Err(wants_reconnection(&account.connection, None)));
        }
        let Some(record) = self.store.credentials_of(account).await?.filter(|it| !it.is_gone) else {
            return Ok(Err(wants_reconnection(&account.connection, None)));
        };
        let credentials = self.open(&record).await?;
        Ok(Ok(StoredCredentials { record, credentials }))
    }

    /// The credentials of an account, for a question that a client waits for; or why
    /// there are none now.
    pub async fn for_a_question(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        stored: StoredCredentials,
    ) -> Result<Result<Credentials, AttemptError>, PublishingError> {
        let given = self.lasting(platform, account, stored, self.clock.now()).await?;
        Ok(given.map(|it| it.credentials))
    }

    /// Credentials that last for a call at this time, now or soon: they are renewed
    /// for it if need be.
    pub(crate) async fn credentials(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        at: DateTime<Utc>,
    ) -> Result<Result<OpenCredentials, AttemptError>, PublishingError> {
        match self.stored(account).await? {
            Ok(stored) => self.lasting(platform, account, stored, at).await,
            Err(setback) => Ok(Err(setback)),
        }
    }

    async fn lasting(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        stored: StoredCredentials,
        at: DateTime<Utc>,
    ) -> Result<Result<OpenCredentials, AttemptError>, PublishingError> {
        let StoredCredentials { record, credentials: old } = stored;
        let Some(ends_at) = old.expires_at.filter(|it| *it < at + TOO_SHORT) else {
            return self.given(account, old, record).await.map(Ok);
        };
        if !platform.refresh_policy().can_refresh(&old) {
            return match at < ends_at {
                true => self.given(account, old, record).await.map(Ok),
                false if self.lose(&record).await? => Ok(Err(wants_reconnection(&account.connection, None))),
                false => self.await_renewal(account, &record).await,
            };
        }
        match self.renewed(platform, account, &record, &old).await? {
            // Another worker holds the renewal and may have died, or the platform
            // could not be reached. The old credentials last for this call, so the
            // post need not be late.
            Err(AttemptError::RetryLater { .. }) if self.clock.now() + ENOUGH_FOR_A_CALL <= ends_at => {
                self.given(account, old, record).await.map(Ok)
            }
            ended => Ok(ended),
        }
    }

    /// The platform did not accept these credentials: they are renewed where
    /// that may help, and otherwise the user has to connect the account again.
    pub(crate) async fn rejected(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        used: &CredentialsRecord,
        reason: String,
    ) -> AttemptError {
        let looked_into = self.look_into(platform, account, used, &reason).await;
        // An error must not end the delivery here. The call is known to have had
        // no effect, and if that is not written down, it counts as unknown.
        let setback = looked_into.unwrap_or_else(|error| {
            let connection_id = account.connection.connection_id;
            tracing::error!(%error, %connection_id, "rejected credentials were not looked into");
            None
        });
        setback.unwrap_or(AttemptError::RetryLater { retry_at: None, reason })
    }

    /// What stands in the way of another attempt; `None` when there are other
    /// credentials for it.
    async fn look_into(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        used: &CredentialsRecord,
        reason: &str,
    ) -> Result<Option<AttemptError>, PublishingError> {
        let connection = &account.connection;
        let old = self.open(used).await?;
        let on_probation = is_on_probation(used, self.clock.now());
        let is_own = account.has_its_own();
        if is_own || on_probation || !platform.refresh_policy().can_refresh(&old) {
            tracing::info!(reason, connection_id = %connection.connection_id, "credentials are not accepted");
            let is_lost = if is_own { self.lose_account(account, used).await? } else { self.lose(used).await? };
            return Ok(is_lost.then(|| wants_reconnection(connection, Some(reason))));
        }
        Ok(self.renewed(platform, account, used, &old).await?.err())
    }

    /// Tells the user that the grant is gone, for each of its connections, then
    /// marks them, and then the grant. In this order, because after a crash in
    /// between all of it is repeated with events of the same ids; the other way
    /// round one could be lost.
    ///
    /// False when the credentials were changed since they were read: the platform
    /// refused the old ones, and that says nothing of the new.
    async fn lose(&self, lost: &CredentialsRecord) -> Result<bool, PublishingError> {
        let Some(lost) = self.settled(lost).await? else { return Ok(false) };
        let found = self.store.credentials(lost.user_id, &lost.grant_name).await?;
        let Some(found) = found.filter(|it| it.generation == lost.generation) else { return Ok(false) };
        if found.is_gone {
            return Ok(true);
        }
        let under = self.store.connections_under(&found).await?;
        self.tell_lost(&found, under.iter().map(|it| &it.connection), LostGrant::Grant).await?;
        Ok(self.store.end_credentials(&found).await?)
    }

    /// The same for one connection, whose own secret is not accepted any more.
    async fn lose_account(
        &self,
        account: &ConnectionRecord,
        used: &CredentialsRecord,
    ) -> Result<bool, PublishingError> {
        self.tell_lost(used, [&account.connection], LostGrant::Account).await?;
        Ok(true)
    }

    async fn tell_lost(
        &self,
        lost: &CredentialsRecord,
        connections: impl IntoIterator<Item = &Connection>,
        what: LostGrant,
    ) -> Result<(), PublishingError> {
        let unmarked = connections.into_iter().filter(|it| !it.needs_reconnection && it.generation <= lost.generation);
        // As they will be when they are marked.
        let marked = unmarked.map(|it| Connection { generation: lost.generation, ..it.clone() });
        let marked: Vec<Connection> = marked.collect();
        let now = self.clock.now();
        let events = marked.iter().map(|it| Event::of_connection("connection.needs_reconnection", it, now));
        self.tell(events).await?;
        for connection in marked {
            self.store.mark_needs_reconnection(connection.connection_id, lost, what).await?;
        }
        Ok(())
    }

    /// Tells the user, for each connection of a grant, that it ends and cannot be
    /// renewed.
    async fn tell_expiring(&self, ending: &CredentialsRecord, ends_at: DateTime<Utc>) -> Result<(), PublishingError> {
        let under = self.store.connections_under(ending).await?;
        let connected = under.iter().map(|it| &it.connection).filter(|it| !it.needs_reconnection);
        let now = self.clock.now();
        self.tell(connected.map(|it| Event::expiring(it, ends_at, now))).await
    }

    async fn tell(&self, events: impl Iterator<Item = Event>) -> Result<(), PublishingError> {
        for some in events.collect::<Vec<_>>().chunks(EVENTS_AT_ONCE) {
            self.events.put(some).await?;
        }
        Ok(())
    }

    async fn given(
        &self,
        account: &ConnectionRecord,
        credentials: Credentials,
        record: CredentialsRecord,
    ) -> Result<OpenCredentials, PublishingError> {
        let own = match &account.kept {
            KeptIn::Grant { own: Some(own), .. } => {
                let connection = &account.connection;
                let context = credentials_context(connection.user_id, connection.connection_id, &connection.provider);
                let plain = self.sealer.open(own, &context).await?;
                Some(String::from_utf8(plain).map_err(|_| UnreadableCredentials)?.into())
            }
            KeptIn::Grant { own: None, .. } | KeptIn::Connection(_) => None,
        };
        Ok(OpenCredentials { credentials: Credentials { own, ..credentials }, record })
    }

    async fn open(&self, record: &CredentialsRecord) -> Result<Credentials, PublishingError> {
        let plain = self.sealer.open(&record.sealed, &record.context()).await?;
        Ok(Credentials::from_bytes(&plain)?)
    }

    /// Sealed for the record of a grant.
    async fn seal(&self, record: &CredentialsRecord, credentials: &Credentials) -> Result<Vec<u8>, PublishingError> {
        let plain = credentials.to_bytes();
        let context = grant_context(record.user_id, &record.grant_name);
        Ok(self.sealer.seal(plain.expose_secret().as_bytes(), &context).await?)
    }
}

/// Whether they were renewed a short while ago.
fn is_on_probation(record: &CredentialsRecord, now: DateTime<Utc>) -> bool {
    record.renewed_at.is_some_and(|it| now < it + ON_PROBATION)
}
