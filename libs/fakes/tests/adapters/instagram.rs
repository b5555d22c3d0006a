//! Behavior specific to Instagram.

mod connecting;
mod containers;
mod fetching;
mod publishing;
mod rules;

use fakes::instagram::Instagram;

use crate::prelude::*;

async fn harness() -> (AdapterHarness<Instagram>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

/// A harness whose accounts are connected with Facebook Login.
async fn by_facebook() -> AdapterHarness<Instagram<true>> {
    AdapterHarness::new().await
}

/// A token of today is not extended, and nothing is lost by the attempt.
#[tokio::test]
async fn young_token_is_not_extended() {
    let (harness, _) = harness().await;

    let refusal = harness.refresh().await.unwrap_err();
    assert!(matches!(&refusal, RefreshError::Unreachable(it) if it.contains("24 hours")), "{refusal:?}");
    harness.clock.advance(TimeDelta::days(1));
    let renewed = harness.refresh().await.unwrap();

    assert_eq!((renewed.expires_at.unwrap() - harness.clock.now()).num_days(), 59);
    let due_at = harness.publisher().refresh_policy().due_at(&renewed, harness.clock.now());
    assert!(harness.clock.now() + TimeDelta::days(1) <= due_at, "not before it is a day old");
}
