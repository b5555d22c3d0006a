//! Reads account info again periodically, because names, pictures and limits change.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::delivery::AttemptError;
use platforms::{AccountDetails, Credentials, Platform};
use storage::{ConnectionRecord, CredentialsRecord};

use super::was_refreshed_recently;
use crate::{CredentialService, PublishingError};

/// The timeout for one account.
const ASKED: Duration = Duration::from_secs(20);

impl CredentialService {
    /// Reads the info of each account of a grant; false if the time ended before all were read. A
    /// failed read is repeated a week later. Credentials without refresh that are no longer
    /// accepted are marked as lost now, and not only when a post needs them.
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
    ) -> Result<(), PublishingError> {
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
            Ok(Err(AttemptError::Unauthorized { reason })) if was_refreshed_recently(record, now) => {
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

#[cfg(test)]
mod tests {
    use domain::connection::{AccountInfo, Connection};
    use domain::rules::{Counting, Rule};
    use domain::testing::noon;
    use platforms::RefreshPolicy;

    use super::*;
    use crate::testing::{FakePlatform, PublishingHarness, later};

    type AccountInfoResult = fn(&Connection) -> Result<Option<AccountDetails>, AttemptError>;

    fn changed(connection: &Connection) -> AccountDetails {
        let mut rules = connection.rules.clone();
        rules.rules = vec![Rule::max_text(7, Counting::code_points())];
        let profile = AccountInfo {
            username: Some("renamed".to_owned()),
            display_name: Some("Red\u{202e}named".to_owned()),
            ..connection.profile.clone()
        };
        AccountDetails { profile, rules }
    }

    /// An account whose credentials never expire, or expire at that time, and are checked now; with
    /// the results of its reads.
    async fn harness(ends_at: Option<DateTime<Utc>>, results: &[AccountInfoResult]) -> PublishingHarness {
        let harness =
            PublishingHarness::with(1, FakePlatform { renewal: RefreshPolicy::Rotating, ..FakePlatform::default() })
                .await;
        harness.reconnect(0, PublishingHarness::credentials(ends_at), Some(noon())).await;
        let connection = harness.connection(0).await.connection;
        harness.fake.about.lock().unwrap().extend(results.iter().map(|it| it(&connection)));
        harness
    }

    #[tokio::test]
    async fn account_info_is_read_with_each_refresh_and_every_week() {
        for ends_at in [Some(later(600)), None] {
            let harness = harness(ends_at, &[|it| Ok(Some(changed(it)))]).await;

            harness.publishing.credentials.refresh_due(&harness.renewable).await.unwrap();

            let read = harness.connection(0).await.connection;
            assert_eq!(read.profile.username.as_deref(), Some("renamed"));
            assert_eq!(read.profile.display_name.as_deref(), Some("Rednamed"), "what misleads is left out");
            assert_eq!(read.rules.rules, [Rule::max_text(7, Counting::code_points())]);
        }
    }

    #[tokio::test]
    async fn missing_or_foreign_account_info_changes_nothing() {
        let other = |it: &Connection| {
            let mut about = changed(it);
            about.profile.account_id = "another account".to_owned();
            Ok(Some(about))
        };
        let busy = |_: &Connection| Err(AttemptError::RetryLater { retry_at: None, reason: "down".to_owned() });
        for result in [other, busy, |_: &Connection| Ok(None)] as [AccountInfoResult; 3] {
            let harness = harness(None, &[result]).await;
            let before = harness.connection(0).await.connection;

            harness.publishing.credentials.refresh_due(&harness.renewable).await.unwrap();

            assert_eq!(harness.connection(0).await.connection, before);
        }
    }

    #[tokio::test]
    async fn rejected_unlimited_credentials_are_found_before_a_post_needs_them() {
        let unauthorized = |_: &Connection| Err(AttemptError::Unauthorized { reason: "revoked".to_owned() });
        let harness = harness(None, &[unauthorized]).await;
        // Without a refresh token, only the user can restore it.
        let without = Credentials { refresh_token: None, ..PublishingHarness::credentials(None) };
        harness.reconnect(0, without, Some(noon())).await;

        harness.publishing.credentials.refresh_due(&harness.renewable).await.unwrap();

        assert!(harness.connection(0).await.connection.needs_reconnection);
        assert_eq!(harness.events.types(), ["connection.needs_reconnection"]);
    }

    #[tokio::test]
    async fn account_info_does_not_overwrite_a_reconnection() {
        let harness = harness(None, &[]).await;
        let before = harness.connection(0).await.connection;
        harness.reconnect(0, PublishingHarness::credentials(None), None).await;
        let about = changed(&before);

        assert!(!harness.store.store_account_info(&before, &about.profile, &about.rules).await.unwrap());

        assert_eq!(harness.connection(0).await.connection.profile, before.profile);
    }
}
