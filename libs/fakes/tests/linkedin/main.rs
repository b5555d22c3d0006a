//! What is special about LinkedIn, and what its fake refuses.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod cards;
mod comments;
mod connecting;
mod files;
mod pages;
mod posts;
mod replay;
mod strictness;

use fakes::linkedin::{LinkedIn, Products, SelfServe};
use platforms::Account;
use platforms::conformance::adapter_harness::AdapterHarness;

/// What a proxy, a CDN or a firewall in front of LinkedIn answers.
const PAGE_OF_A_PROXY: &str = "<!DOCTYPE html>\n<html><body>Access denied</body></html>\n";

/// A member.
async fn harness() -> (AdapterHarness<LinkedIn>, Account) {
    stage_with::<SelfServe>().await
}

/// The first account that an app with these products is given.
async fn stage_with<P: Products>() -> (AdapterHarness<LinkedIn<P>>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}
