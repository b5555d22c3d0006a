//! What the Bluesky adapter makes of Bluesky, beside what every adapter has to
//! keep.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod credentials;
mod files;
mod quotes;
mod records;
mod self_hosted;

use fakes::bluesky::Bluesky;
use platforms::Account;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::samples::Sample;
use serde_json::Value;

/// A network with the account connected on its own page.
async fn connected() -> (AdapterHarness<Bluesky>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

/// The record of a post that went out.
async fn record(harness: &AdapterHarness<Bluesky>, account: &Account, text: &str, media: Vec<Sample>) -> Value {
    let post = harness.due(account, text, media).await;
    let published = harness.publish(&post).await.unwrap();
    harness.fake.record(&published.platform_post_id).unwrap()
}
