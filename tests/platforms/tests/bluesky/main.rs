//! What the Bluesky adapter makes of Bluesky, beside what every adapter has to
//! keep.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod credentials;
mod files;
mod quotes;
mod records;
mod self_hosted;

use networks::bluesky::Bluesky;
use platforms::Account;
use platforms::conformance::samples::Sample;
use platforms::conformance::stage::Stage;
use serde_json::Value;

/// A network with the account connected on its own page.
async fn connected() -> (Stage<Bluesky>, Account) {
    let stage = Stage::new().await;
    let account = stage.connect().await;
    (stage, account)
}

/// The record of a post that went out.
async fn record(stage: &Stage<Bluesky>, account: &Account, text: &str, media: Vec<Sample>) -> Value {
    let post = stage.due(account, text, media).await;
    let published = stage.publish(&post).await.unwrap();
    stage.fake.record(&published.platform_post_id).unwrap()
}
