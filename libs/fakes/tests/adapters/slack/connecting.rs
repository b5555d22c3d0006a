//! A workspace, its channels, and its tokens.

use fakes::slack::{CHANNEL, PRIVATE, Slack, TokenRotation};

use crate::prelude::*;

/// Otherwise the suite refreshes nothing.
#[tokio::test]
async fn only_rotated_tokens_can_be_refreshed() {
    assert!(!connected::<Slack>().await.0.can_refresh());
    let rotating = AdapterHarness::<Slack<TokenRotation>>::new().await;
    rotating.connect().await;
    assert!(rotating.can_refresh());
}

#[tokio::test]
async fn choices_are_the_channels_of_the_app() {
    let (harness, account) = connected::<Slack>().await;
    let all = [(CHANNEL.to_owned(), "#general".to_owned()), (PRIVATE.to_owned(), "keepers (private)".to_owned())];

    assert_eq!(harness.choices(&account, "channel").await.unwrap(), all);
    harness.fake.has_pages_of(1);
    assert_eq!(harness.choices(&account, "channel").await.unwrap(), all);
    harness.fake.remove_from_channels();
    assert_eq!(harness.choices(&account, "channel").await.unwrap(), []);

    harness.fake.refuses("users.conversations", "missing_scope");
    assert_matches!(harness.choices(&account, "channel").await, Err(AttemptError::Unauthorized { .. }));
}

#[tokio::test]
async fn all_channels_are_listed_from_short_pages() {
    let (harness, account) = connected::<Slack>().await;
    harness.fake.add_channels(300);
    harness.fake.has_pages_of(20);
    assert_eq!(harness.choices(&account, "channel").await.unwrap().len(), 302);

    harness.clock.advance(TimeDelta::minutes(1));
    harness.fake.add_channels(1_500);
    harness.fake.has_pages_of(999);
    assert_eq!(harness.choices(&account, "channel").await.unwrap().len(), platforms::MAX_CHOICES);

    harness.clock.advance(TimeDelta::minutes(1));
    // Each page has a cursor, and no page has an entry.
    harness.fake.has_pages_of(0);
    assert_eq!(harness.choices(&account, "channel").await.unwrap(), []);
}

#[tokio::test]
async fn only_a_bot_of_one_workspace_is_connected() {
    for (name, value) in [("token_type", json!("user")), ("is_enterprise_install", json!(true))] {
        let harness = AdapterHarness::<Slack>::new().await;
        harness.fake.add_to_token_response(name, value);

        assert_matches!(connect_all(&harness).await, Err(ConnectError::Refused(_)));
    }
}
