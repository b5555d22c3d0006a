//! Behavior specific to LinkedIn.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod cards;
mod comments;
mod connecting;
mod files;
mod pages;
mod posts;
mod replay;

use fakes::conformance::adapter_harness::AdapterHarness;
use fakes::linkedin::{LinkedIn, Products, SelfServe};
use platforms::Account;

async fn harness() -> (AdapterHarness<LinkedIn>, Account) {
    harness_with::<SelfServe>().await
}

/// A harness with the first account of an app with these products.
async fn harness_with<P: Products>() -> (AdapterHarness<LinkedIn<P>>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}
