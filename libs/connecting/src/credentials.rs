//! Credentials: opened for a call, refreshed before they expire, and marked as lost when only their
//! user can restore them.

mod account_info;
mod due;
mod ended_there;
mod refresh;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cloud::events::EventBus;
use cloud::seal::Sealer;
use domain::clock::Clock;
use domain::connection::Connection;
use domain::credentials::{CallStep, Refreshability, RejectionStep};
use domain::delivery::AttemptError;
use domain::event::Event;
use domain::text::without_full_stop;
use platforms::{Credentials, Platform, UnreadableCredentials};
use secrecy::ExposeSecret;
use storage::{ConnectionRecord, CredentialsRecord, LostGrant, Store, own_secret_context};

use crate::ConnectingError;

const EVENTS_AT_ONCE: usize = 10;

#[derive(Debug)]
pub enum CallCredentials {
    Open(Box<OpenCredentials>),
    Unavailable(AttemptError),
}

impl From<OpenCredentials> for CallCredentials {
    fn from(opened: OpenCredentials) -> Self {
        Self::Open(Box::new(opened))
    }
}

#[derive(Debug)]
pub struct OpenCredentials {
    /// With the secret of the account, if it has its own.
    pub credentials: Credentials,
    pub record: CredentialsRecord,
}

/// They may need a refresh before a call.
#[derive(Debug)]
pub struct StoredCredentials {
    record: CredentialsRecord,
    credentials: Credentials,
}

impl StoredCredentials {
    /// For data that a refresh does not change, such as the server.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }
}

#[derive(Clone)]
pub struct CredentialService {
    pub store: Store,
    pub sealer: Arc<dyn Sealer>,
    /// Receives an event when a grant is lost.
    pub events: Arc<dyn EventBus>,
    pub clock: Clock,
}

impl CredentialService {
    /// `None` if the user has to connect the account again. Calls no platform.
    pub async fn stored(&self, account: &ConnectionRecord) -> Result<Option<StoredCredentials>, ConnectingError> {
        if account.connection.needs_reconnection {
            return Ok(None);
        }
        let Some(record) = self.store.connection_credentials(account).await?.filter(|it| !it.state.is_gone) else {
            return Ok(None);
        };
        let credentials = self.open(&record).await?;
        Ok(Some(StoredCredentials { record, credentials }))
    }

    /// The credentials of an account for a read that a client waits for.
    pub async fn credentials_for_read(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        stored: StoredCredentials,
    ) -> Result<CallCredentials, ConnectingError> {
        self.ensure_valid(platform, account, stored, self.clock.now()).await
    }

    /// Refreshes the credentials if necessary.
    pub async fn credentials(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        at: DateTime<Utc>,
    ) -> Result<CallCredentials, ConnectingError> {
        match self.stored(account).await? {
            Some(stored) => self.ensure_valid(platform, account, stored, at).await,
            None => Ok(CallCredentials::Unavailable(reconnection_needed(&account.connection, None))),
        }
    }

    async fn ensure_valid(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        stored: StoredCredentials,
        at: DateTime<Utc>,
    ) -> Result<CallCredentials, ConnectingError> {
        let StoredCredentials { record, credentials: old } = stored;
        match record.state.before_call(refreshability(platform, &old), at) {
            CallStep::Use => Ok(self.given(account, old, record).await?.into()),
            CallStep::End if self.lose(&record).await? => {
                Ok(CallCredentials::Unavailable(reconnection_needed(&account.connection, None)))
            }
            CallStep::End => self.await_refresh(account, &record).await,
            CallStep::Refresh => match self.refresh_for_call(platform, account, &record, &old).await? {
                // Another worker holds the refresh and may have died, or the platform was
                // unreachable. The old credentials are valid for this call, so the post is on time.
                CallCredentials::Unavailable(AttemptError::RetryLater { .. })
                    if record.state.is_valid_for_a_call(self.clock.now()) =>
                {
                    Ok(self.given(account, old, record).await?.into())
                }
                ended => Ok(ended),
            },
        }
    }

    /// Handles credentials that the platform did not accept: refreshes them if that may help, else
    /// the user has to connect the account again.
    pub async fn rejected(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        used: &CredentialsRecord,
        reason: String,
    ) -> AttemptError {
        let checked = self.check_rejected(platform, account, used, &reason).await;
        // An error must not end the delivery here. The call is known to have had no effect, and if
        // that is not written, the outcome counts as unknown.
        let error = checked.unwrap_or_else(|error| {
            let connection_id = account.connection.connection_id;
            tracing::error!(%error, %connection_id, "rejected credentials could not be checked");
            None
        });
        error.unwrap_or(AttemptError::RetryLater { retry_at: None, reason })
    }

    /// The error that prevents another attempt; `None` if there are new credentials for it.
    async fn check_rejected(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        used: &CredentialsRecord,
        reason: &str,
    ) -> Result<Option<AttemptError>, ConnectingError> {
        let connection = &account.connection;
        let old = self.open(used).await?;
        let is_own = account.own.is_some();
        let step = used.state.after_rejection(refreshability(platform, &old), self.clock.now());
        if is_own || step == RejectionStep::End {
            tracing::info!(reason, connection_id = %connection.connection_id, "platform rejected credentials");
            let is_lost = if is_own { self.mark_account_lost(account, used).await? } else { self.lose(used).await? };
            return Ok(is_lost.then(|| reconnection_needed(connection, Some(reason))));
        }
        Ok(match self.refresh_for_call(platform, account, used, &old).await? {
            CallCredentials::Open(_) => None,
            CallCredentials::Unavailable(error) => Some(error),
        })
    }

    /// Emits an event for each connection of the grant, then marks the connections, then the grant.
    /// In this order, because after a crash everything is repeated with the same event ids. In the
    /// other order an event could be lost.
    ///
    /// Returns false if the credentials changed since they were read: the platform refused the old
    /// ones, which proves nothing about the new ones.
    async fn lose(&self, lost: &CredentialsRecord) -> Result<bool, ConnectingError> {
        let found = self.store.credentials(lost.user_id, &lost.grant_name).await?;
        let Some(found) = found.filter(|it| it.state.generation == lost.state.generation) else { return Ok(false) };
        if found.state.is_gone {
            return Ok(true);
        }
        let connections = self.store.grant_connections(&found).await?;
        self.emit_lost(&found, connections.iter().map(|it| &it.connection), LostGrant::Grant).await?;
        Ok(self.store.end_credentials(&found).await?)
    }

    /// Like `lose`, for one connection whose own secret is no longer accepted.
    async fn mark_account_lost(
        &self,
        account: &ConnectionRecord,
        used: &CredentialsRecord,
    ) -> Result<bool, ConnectingError> {
        self.emit_lost(used, [&account.connection], LostGrant::Account).await?;
        Ok(true)
    }

    async fn emit_lost(
        &self,
        lost: &CredentialsRecord,
        connections: impl IntoIterator<Item = &Connection>,
        reason: LostGrant,
    ) -> Result<(), ConnectingError> {
        let unmarked =
            connections.into_iter().filter(|it| !it.needs_reconnection && it.generation <= lost.state.generation);
        // As they will be after they are marked.
        let marked = unmarked.map(|it| Connection { generation: lost.state.generation, ..it.clone() });
        let marked: Vec<Connection> = marked.collect();
        let now = self.clock.now();
        let events = marked.iter().map(|it| Event::for_connection("connection.needs_reconnection", it, now));
        self.emit(events).await?;
        for connection in marked {
            self.store.mark_needs_reconnection(connection.connection_id, lost, reason).await?;
        }
        Ok(())
    }

    async fn emit_expiring(&self, ending: &CredentialsRecord, ends_at: DateTime<Utc>) -> Result<(), ConnectingError> {
        let connections = self.store.grant_connections(ending).await?;
        let connected = connections.iter().map(|it| &it.connection).filter(|it| !it.needs_reconnection);
        let now = self.clock.now();
        self.emit(connected.map(|it| Event::expiring(it, ends_at, now))).await
    }

    async fn emit(&self, events: impl Iterator<Item = Event>) -> Result<(), ConnectingError> {
        for batch in events.collect::<Vec<_>>().chunks(EVENTS_AT_ONCE) {
            self.events.put(batch).await?;
        }
        Ok(())
    }

    async fn given(
        &self,
        account: &ConnectionRecord,
        credentials: Credentials,
        record: CredentialsRecord,
    ) -> Result<OpenCredentials, ConnectingError> {
        let own = match &account.own {
            Some(own) => {
                let connection = &account.connection;
                let context = own_secret_context(connection.user_id, connection.connection_id, &connection.provider);
                let plain = self.sealer.open(own, &context).await?;
                Some(String::from_utf8(plain).map_err(|_| UnreadableCredentials)?.into())
            }
            None => None,
        };
        Ok(OpenCredentials { credentials: Credentials { own_token: own, ..credentials }, record })
    }

    async fn open(&self, record: &CredentialsRecord) -> Result<Credentials, ConnectingError> {
        let plain = self.sealer.open(&record.sealed, &record.context()).await?;
        Ok(Credentials::from_bytes(&plain)?)
    }

    async fn seal(&self, record: &CredentialsRecord, credentials: &Credentials) -> Result<Vec<u8>, ConnectingError> {
        let plain = credentials.to_bytes();
        Ok(self.sealer.seal(plain.expose_secret().as_bytes(), &record.context()).await?)
    }
}

fn refreshability(platform: &dyn Platform, credentials: &Credentials) -> Refreshability {
    if platform.refresh_policy().can_refresh(credentials) { Refreshability::Refreshable } else { Refreshability::Fixed }
}

/// The error when only the user can restore the grant. `platform_message` is what the platform
/// returned when it refused the credentials.
fn reconnection_needed(connection: &Connection, platform_message: Option<&str>) -> AttemptError {
    let message = platform_message.map_or_else(String::new, |it| format!(": {}", without_full_stop(it)));
    let reason = format!("{}{message}. Connect the account again.", connection.not_accepted_message());
    AttemptError::Unauthorized { reason }
}
