//! A workspace, its channels, and its tokens.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::testing::{a_connection, a_user};
use networks::slack::{CHANNEL, PRIVATE, Slack, TokenRotation};
use platforms::conformance::network::{Call, Decision, InjectedFault, Network};
use platforms::conformance::stage::Stage;
use platforms::{Account, ChoicesRequest, ConnectError, RefreshError};
use serde_json::json;

use super::stage;

async fn choices(stage: &Stage<Slack>, account: &Account) -> Result<Vec<(String, String)>, AttemptError> {
    let connection = a_connection(&a_user());
    let asked =
        ChoicesRequest { option: "channel", query: None, connection: &connection, credentials: &account.credentials };
    let listed = stage.connector().choices(&asked, stage.clock.now()).await?;
    Ok(listed.into_iter().map(|it| (it.value, it.label)).collect())
}

#[tokio::test]
async fn an_account_is_a_workspace() {
    let (stage, account) = stage().await;

    assert_eq!(account.profile.account_id, "T0LIGHTHOUSE");
    assert_eq!(account.profile.username.as_deref(), Some("lighthouse"));
    assert_eq!(account.profile.display_name.as_deref(), Some("Lighthouse"));
    assert_eq!(account.profile.profile_url.as_deref(), Some("https://lighthouse.slack.com/"));
    assert!(account.scopes.iter().any(|it| it == "channels:history"), "{:?}", account.scopes);
    assert!(account.credentials.expires_at.is_none() && account.credentials.refresh_token.is_none());
    assert!(!stage.can_refresh());
}

#[tokio::test]
async fn the_channels_to_choose_from_are_those_to_which_the_app_was_invited() {
    let (stage, account) = stage().await;
    let all = [(CHANNEL.to_owned(), "#general".to_owned()), (PRIVATE.to_owned(), "keepers (private)".to_owned())];

    assert_eq!(choices(&stage, &account).await.unwrap(), all);
    stage.fake.has_pages_of(1);
    assert_eq!(choices(&stage, &account).await.unwrap(), all);
    stage.fake.remove_from_channels();
    assert_eq!(choices(&stage, &account).await.unwrap(), []);

    stage.fake.refuses("users.conversations", "missing_scope");
    assert!(matches!(choices(&stage, &account).await, Err(AttemptError::Unauthorized { .. })));
}

#[tokio::test]
async fn every_channel_is_listed_however_short_the_pages_are() {
    let (stage, account) = stage().await;
    stage.fake.add_channels(300);
    stage.fake.has_pages_of(20);
    assert_eq!(choices(&stage, &account).await.unwrap().len(), 302);

    stage.clock.advance(TimeDelta::minutes(1));
    stage.fake.add_channels(1_500);
    stage.fake.has_pages_of(999);
    assert_eq!(choices(&stage, &account).await.unwrap().len(), platforms::MAX_CHOICES);

    stage.clock.advance(TimeDelta::minutes(1));
    // A cursor follows each page, and no page has anything.
    stage.fake.has_pages_of(0);
    assert_eq!(choices(&stage, &account).await.unwrap(), []);
}

#[tokio::test]
async fn page_of_an_intermediary_does_not_end_a_grant() {
    let stage = Stage::<Slack<TokenRotation>>::new().await;
    stage.connect().await;
    for status in [400, 401, 403, 404, 408, 413] {
        stage.fake.inject_fault(Call::Refresh, InjectedFault::Intermediary { status }, 1);
        let refusal = stage.refresh().await.unwrap_err();
        assert!(matches!(refusal, RefreshError::Unreachable(_)), "{status}: {refusal:?}");
    }
}

#[tokio::test]
async fn what_is_no_bot_of_one_workspace_is_not_connected() {
    for (name, value) in [("token_type", json!("user")), ("is_enterprise_install", json!(true))] {
        let stage = Stage::<Slack>::new().await;
        stage.fake.add_to_token_response(name, value);
        let callback = stage.callback_after(Decision::Allow).await;

        let refusal = stage.complete(&callback).await.unwrap_err();

        assert!(matches!(refusal, ConnectError::Refused(_)), "{refusal:?}");
    }
}

#[tokio::test]
async fn tokens_of_twelve_hours_are_renewed() {
    let stage = Stage::<Slack<TokenRotation>>::new().await;
    let account = stage.connect().await;
    assert_eq!(account.credentials.expires_at, Some(stage.clock.now() + TimeDelta::hours(12)));

    // Another user of the workspace continues posting when the first one leaves.
    let colleague = stage.connect().await;
    assert!(!colleague.credentials.shares_token_with(&account.credentials));
    stage.disconnect(&account, &[&colleague]).await;
    let mut post = stage.post(&colleague, "still here", Vec::new());
    stage.clock.advance(TimeDelta::hours(13));
    stage.deliver(&mut post).await.unwrap();

    assert_eq!(stage.fake.call_count(Call::Revoke), 0);
    assert_eq!(stage.fake.call_count(Call::Refresh), 1);
}

#[tokio::test]
async fn removed_app_needs_reconnection() {
    for code in ["account_inactive", "invalid_auth", "token_revoked", "token_expired", "missing_scope"] {
        let (stage, account) = stage().await;
        let post = stage.post(&account, "nobody hears", Vec::new());
        stage.fake.refuses("chat.postMessage", code);

        let error = stage.publish(&post).await.unwrap_err();

        assert!(matches!(error, AttemptError::Unauthorized { .. }), "{code}: {error:?}");
    }
}
