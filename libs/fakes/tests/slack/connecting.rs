//! A workspace, its channels, and its tokens.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::testing::{a_connection, a_user};
use fakes::slack::{CHANNEL, PRIVATE, Slack, TokenRotation};
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::Decision;
use platforms::{Account, ChoicesRequest, ConnectError};
use serde_json::json;

use super::harness;

async fn choices(harness: &AdapterHarness<Slack>, account: &Account) -> Result<Vec<(String, String)>, AttemptError> {
    let connection = a_connection(&a_user());
    let asked =
        ChoicesRequest { option: "channel", query: None, connection: &connection, credentials: &account.credentials };
    let listed = harness.connector().choices(&asked, harness.clock.now()).await?;
    Ok(listed.into_iter().map(|it| (it.value, it.label)).collect())
}

#[tokio::test]
async fn an_account_is_a_workspace() {
    let (harness, account) = harness().await;

    assert_eq!(account.profile.account_id, "T0LIGHTHOUSE");
    assert_eq!(account.profile.username.as_deref(), Some("lighthouse"));
    assert_eq!(account.profile.display_name.as_deref(), Some("Lighthouse"));
    assert_eq!(account.profile.profile_url.as_deref(), Some("https://lighthouse.slack.com/"));
    assert!(account.scopes.iter().any(|it| it == "channels:history"), "{:?}", account.scopes);
    assert!(account.credentials.expires_at.is_none() && account.credentials.refresh_token.is_none());
    assert!(!harness.can_refresh());

    let rotating = AdapterHarness::<Slack<TokenRotation>>::new().await;
    let account = rotating.connect().await;
    assert_eq!(account.credentials.expires_at, Some(rotating.clock.now() + TimeDelta::hours(12)));
    assert!(rotating.can_refresh());
}

#[tokio::test]
async fn the_channels_to_choose_from_are_those_to_which_the_app_was_invited() {
    let (harness, account) = harness().await;
    let all = [(CHANNEL.to_owned(), "#general".to_owned()), (PRIVATE.to_owned(), "keepers (private)".to_owned())];

    assert_eq!(choices(&harness, &account).await.unwrap(), all);
    harness.fake.has_pages_of(1);
    assert_eq!(choices(&harness, &account).await.unwrap(), all);
    harness.fake.remove_from_channels();
    assert_eq!(choices(&harness, &account).await.unwrap(), []);

    harness.fake.refuses("users.conversations", "missing_scope");
    assert!(matches!(choices(&harness, &account).await, Err(AttemptError::Unauthorized { .. })));
}

#[tokio::test]
async fn every_channel_is_listed_however_short_the_pages_are() {
    let (harness, account) = harness().await;
    harness.fake.add_channels(300);
    harness.fake.has_pages_of(20);
    assert_eq!(choices(&harness, &account).await.unwrap().len(), 302);

    harness.clock.advance(TimeDelta::minutes(1));
    harness.fake.add_channels(1_500);
    harness.fake.has_pages_of(999);
    assert_eq!(choices(&harness, &account).await.unwrap().len(), platforms::MAX_CHOICES);

    harness.clock.advance(TimeDelta::minutes(1));
    // Each page has a cursor, and no page has an entry.
    harness.fake.has_pages_of(0);
    assert_eq!(choices(&harness, &account).await.unwrap(), []);
}

#[tokio::test]
async fn what_is_no_bot_of_one_workspace_is_not_connected() {
    for (name, value) in [("token_type", json!("user")), ("is_enterprise_install", json!(true))] {
        let harness = AdapterHarness::<Slack>::new().await;
        harness.fake.add_to_token_response(name, value);
        let callback = harness.callback_after(Decision::Allow).await;

        let refusal = harness.complete(&callback).await.unwrap_err();

        assert!(matches!(refusal, ConnectError::Refused(_)), "{refusal:?}");
    }
}
