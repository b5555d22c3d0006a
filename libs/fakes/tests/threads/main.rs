//! Behavior specific to Threads.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod containers;
mod fetching;
mod publishing;
#[path = "../meta/quota.rs"]
mod quota;
mod rules;
mod strictness;
mod threads;

use fakes::threads::Threads;
use http::Method;
use platforms::Account;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::options::{list, options, text};

async fn harness() -> (AdapterHarness<Threads>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

#[tokio::test]
async fn page_at_the_quota_delays_the_post() {
    let block = |it: &Threads, status| it.intermediary().block(Method::GET, "publishing_limit", status, 1);
    quota::page_delays_the_post(block).await;
}
