//! Behavior specific to Threads.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

#[path = "../meta/both.rs"]
mod both;
mod connecting;
mod containers;
mod fetching;
mod publishing;
mod rules;
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
    both::page_delays_the_post(block).await;
}

#[tokio::test]
async fn young_token_is_not_extended() {
    both::young_token_is_not_extended::<Threads>().await;
}

#[tokio::test]
async fn second_call_publishes_nothing() {
    both::second_call_publishes_nothing::<Threads>().await;
}
