//! Behavior specific to Instagram.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

#[path = "../meta/both.rs"]
mod both;
mod connecting;
mod containers;
mod fetching;
mod publishing;
mod rules;

use fakes::instagram::Instagram;
use http::Method;
use platforms::Account;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::options::{list, options, text};

async fn harness() -> (AdapterHarness<Instagram>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

/// A harness whose accounts are connected with Facebook Login.
async fn by_facebook() -> AdapterHarness<Instagram<true>> {
    AdapterHarness::new().await
}

#[tokio::test]
async fn page_at_the_quota_delays_the_post() {
    let block = |it: &Instagram, status| it.intermediary().block(Method::GET, "publishing_limit", status, 1);
    both::page_delays_the_post(block).await;
}

#[tokio::test]
async fn young_token_is_not_extended() {
    both::young_token_is_not_extended::<Instagram>().await;
}

#[tokio::test]
async fn second_call_publishes_nothing() {
    both::second_call_publishes_nothing::<Instagram>().await;
}
