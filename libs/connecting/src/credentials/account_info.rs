//! Reads account info again periodically, because names, pictures and limits change.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::delivery::AttemptError;
use platforms::{AccountDetails, Credentials, Platform};
use storage::{ConnectionRecord, CredentialsRecord};

use crate::{ConnectingError, CredentialService};

/// For one account.
const ASKED: Duration = Duration::from_secs(20);

impl CredentialService {
    /// Returns `false` if the time ended before all accounts were read. A failed read is repeated a
    /// week later. Credentials without refresh that are no longer accepted are marked as lost now,
    /// and not only when a post needs them.
    pub(super) async fn read_account_info(
        &self,
        platform: &dyn Platform,
        record: &CredentialsRecord,
        credentials: &Credentials,
        until: DateTime<Utc>,
    ) -> bool {
        let connections = match self.store.grant_connections(record).await {
            Ok(connections) => connections,
            Err(error) => {
                tracing::warn!(%error, grant = record.grant_name, "accounts could not be read");
                return true;
            }
        };
        for account in connections.iter().filter(|it| !it.connection.needs_reconnection) {
            if until <= self.clock.now() {
                return false;
            }
            if let Err(error) = self.read_one_account_info(platform, account, record, credentials).await {
                let connection_id = account.connection.connection_id;
                tracing::warn!(%error, %connection_id, "account info could not be read");
            }
        }
        true
    }

    async fn read_one_account_info(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        record: &CredentialsRecord,
        credentials: &Credentials,
    ) -> Result<(), ConnectingError> {
        let opened = self.given(account, credentials.clone(), record.clone()).await?;
        let connection = &account.connection;
        let now = self.clock.now();
        let read = platform.account_details(&connection.profile, &opened.credentials, now);
        match tokio::time::timeout(ASKED, read).await {
            Ok(Ok(Some(AccountDetails { profile, rules }))) => {
                let profile = profile.sanitized();
                let is_new = profile != connection.profile || rules != connection.rules;
                if is_new && profile.account_id == connection.profile.account_id {
                    self.store.store_account_info(connection, &profile, &rules).await?;
                }
            }
            // Servers may need a moment before they accept new tokens.
            Ok(Err(AttemptError::Unauthorized { reason })) if record.state.is_on_probation(now) => {
                tracing::info!(reason, grant = record.grant_name, "platform does not accept new credentials yet");
            }
            Ok(Err(AttemptError::Unauthorized { reason })) => {
                self.rejected(platform, account, record, reason).await;
            }
            Ok(Ok(None) | Err(_)) | Err(_) => {}
        }
        Ok(())
    }
}
