//! Behavior specific to Instagram.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod by_facebook;
mod connecting;
mod containers;
mod fetching;
mod publishing;
#[path = "../meta/quota.rs"]
mod quota;
mod rules;
mod strictness;

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

#[tokio::test]
async fn page_at_the_quota_delays_the_post() {
    let block = |it: &Instagram, status| it.intermediary().block(Method::GET, "publishing_limit", status, 1);
    quota::page_delays_the_post(block).await;
}
