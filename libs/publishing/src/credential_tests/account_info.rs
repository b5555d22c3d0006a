//! Account info is read with each refresh and every week.

use domain::connection::{AccountInfo, Connection};
use domain::rules::{Counting, Rule};
use platforms::AccountDetails;

use super::*;

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
        PublishingHarness::with(1, FakePlatform { refresh_policy: Model::Rotating, ..FakePlatform::default() }).await;
    harness.reconnect(0, PublishingHarness::credentials(ends_at), Some(noon())).await;
    let connection = harness.connection(0).await.connection;
    harness.fake.about.lock().unwrap().extend(results.iter().map(|it| it(&connection)));
    harness
}

#[tokio::test]
async fn account_info_is_read_with_each_refresh_and_every_week() {
    for ends_at in [Some(later(600)), None] {
        let harness = harness(ends_at, &[|it| Ok(Some(changed(it)))]).await;

        harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap();

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

        harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap();

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

    harness.publishing.credentials.refresh_due(&harness.refreshable).await.unwrap();

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
