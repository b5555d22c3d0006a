//! Behavior of the Bluesky adapter that the conformance suite does not cover.

mod connecting;
mod files;
mod quotes;
mod records;
mod self_hosted;
mod threads;

use fakes::bluesky::Bluesky;

use crate::prelude::*;

async fn connected() -> (AdapterHarness<Bluesky>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

async fn record(harness: &AdapterHarness<Bluesky>, account: &Account, text: &str, media: Vec<Sample>) -> Value {
    let post = harness.due(account, text, media).await;
    let published = harness.publish(&post).await.unwrap();
    harness.fake.record(&published.platform_post_id).unwrap()
}
