//! Behavior specific to Slack.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod files;
mod messages;
mod threads;

use domain::options::{OptionValue, Options};
use fakes::slack::Slack;
use platforms::Account;
use platforms::conformance::adapter_harness::AdapterHarness;

async fn harness() -> (AdapterHarness<Slack>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

fn to(channel: &str) -> Options {
    [("channel".to_owned(), OptionValue::Text(channel.to_owned()))].into_iter().collect()
}
