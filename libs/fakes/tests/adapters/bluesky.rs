//! Behavior of the Bluesky adapter that the conformance suite does not cover.

mod connecting;
mod files;
mod quotes;
mod records;
mod self_hosted;
mod threads;

use fakes::bluesky::Bluesky;

use crate::prelude::*;

async fn record(harness: &AdapterHarness<Bluesky>, account: &Account, text: &str, media: Vec<Sample>) -> Value {
    let published = harness.publish(&harness.due(account, text, media).await).await.unwrap();
    harness.fake.record(&published.platform_post_id).unwrap()
}
