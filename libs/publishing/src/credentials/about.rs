//! What accounts say of themselves, read again: names, pictures and limits change.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::delivery::AttemptError;
use platforms::{AccountDetails, Credentials, Platform};
use storage::{ConnectionRecord, CredentialsRecord};

use super::is_on_probation;
use crate::{CredentialService, PublishingError};

/// How long one account may take.
const ASKED: Duration = Duration::from_secs(20);

impl CredentialService {
    /// Asks about each account of a grant; false when the time was over before all
    /// were asked. What fails is read a week later. Credentials that nobody renews and
    /// that turn out not to be accepted any more are lost now, and not when a post
    /// needs them.
    pub(super) async fn read_about(
        &self,
        platform: &dyn Platform,
        record: &CredentialsRecord,
        credentials: &Credentials,
        until: DateTime<Utc>,
    ) -> bool {
        let under = match self.store.connections_under(record).await {
            Ok(under) => under,
            Err(error) => {
                tracing::warn!(%error, grant = record.grant_name, "accounts are not read again");
                return true;
            }
        };
        for account in under.iter().filter(|it| !it.connection.needs_reconnection) {
            if until <= self.clock.now() {
                return false;
            }
            if let Err(error) = self.read_about_one(platform, account, record, credentials).await {
                let connection_id = account.connection.connection_id;
                tracing::warn!(%error, %connection_id, "an account is not read again");
            }
        }
        true
    }

    async fn read_about_one(
        &self,
        platform: &dyn Platform,
        account: &ConnectionRecord,
        record: &CredentialsRecord,
        credentials: &Credentials,
    ) -> Result<(), PublishingError> {
        let given = self.given(account, credentials.clone(), record.clone()).await?;
        let connection = &account.connection;
        let now = self.clock.now();
        let asked = platform.about(&connection.profile, &given.credentials, now);
        match tokio::time::timeout(ASKED, asked).await {
            Ok(Ok(Some(AccountDetails { profile, rules }))) => {
                let profile = profile.fit_to_show();
                let is_new = profile != connection.profile || rules != connection.rules;
                if is_new && profile.account_id == connection.profile.account_id {
                    self.store.show_about(connection, &profile, &rules).await?;
                }
            }
            // Servers may need a moment until they know new tokens.
            Ok(Err(AttemptError::Unauthorized { reason })) if is_on_probation(record, now) => {
                tracing::info!(reason, grant = record.grant_name, "new credentials are not accepted yet");
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
    use crate::testing::{Network, Rig, later};

    type Said = fn(&Connection) -> Result<Option<AccountDetails>, AttemptError>;

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

    /// An account whose credentials do not end, or end then, and are looked after
    /// now. What it says of itself.
    async fn rig(ends_at: Option<DateTime<Utc>>, says: &[Said]) -> Rig {
        let rig = Rig::with(1, Network { renewal: RefreshPolicy::Rotating, ..Network::default() }).await;
        rig.reconnect(0, Rig::credentials(ends_at), Some(noon())).await;
        let connection = rig.connection(0).await.connection;
        rig.network.about.lock().unwrap().extend(says.iter().map(|it| it(&connection)));
        rig
    }

    #[tokio::test]
    async fn names_and_limits_are_read_again_with_a_renewal_and_every_week() {
        for ends_at in [Some(later(600)), None] {
            let rig = rig(ends_at, &[|it| Ok(Some(changed(it)))]).await;

            rig.publishing.custody().refresh_due(&rig.renewable).await.unwrap();

            let read = rig.connection(0).await.connection;
            assert_eq!(read.profile.username.as_deref(), Some("renamed"));
            assert_eq!(read.profile.display_name.as_deref(), Some("Rednamed"), "what misleads is left out");
            assert_eq!(read.rules.rules, [Rule::max_text(7, Counting::code_points())]);
        }
    }

    #[tokio::test]
    async fn who_says_nothing_or_is_somebody_else_stays_as_it_was() {
        let other = |it: &Connection| {
            let mut about = changed(it);
            about.profile.account_id = "somebody else".to_owned();
            Ok(Some(about))
        };
        let busy = |_: &Connection| Err(AttemptError::RetryLater { retry_at: None, reason: "down".to_owned() });
        for says in [other, busy, |_: &Connection| Ok(None)] as [Said; 3] {
            let rig = rig(None, &[says]).await;
            let before = rig.connection(0).await.connection;

            rig.publishing.custody().refresh_due(&rig.renewable).await.unwrap();

            assert_eq!(rig.connection(0).await.connection, before);
        }
    }

    #[tokio::test]
    async fn credentials_without_an_end_that_are_not_accepted_any_more_are_noticed_before_a_post_needs_them() {
        let lost = |_: &Connection| Err(AttemptError::Unauthorized { reason: "revoked".to_owned() });
        let rig = rig(None, &[lost]).await;
        // Without a refresh token only its user can help.
        let without = Credentials { refresh_token: None, ..Rig::credentials(None) };
        rig.reconnect(0, without, Some(noon())).await;

        rig.publishing.custody().refresh_due(&rig.renewable).await.unwrap();

        assert!(rig.connection(0).await.connection.needs_reconnection);
        assert_eq!(rig.events.types(), ["connection.needs_reconnection"]);
    }

    #[tokio::test]
    async fn what_an_account_said_is_not_written_over_what_a_reconnection_brought() {
        let rig = rig(None, &[]).await;
        let before = rig.connection(0).await.connection;
        rig.reconnect(0, Rig::credentials(None), None).await;
        let about = changed(&before);

        assert!(!rig.store.show_about(&before, &about.profile, &about.rules).await.unwrap());

        assert_eq!(rig.connection(0).await.connection.profile, before.profile);
    }
}
