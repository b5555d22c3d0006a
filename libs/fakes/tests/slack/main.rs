//! Behavior specific to Slack.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod files;
mod messages;
mod threads;

use domain::options::Options;
use fakes::conformance::adapter_harness::AdapterHarness;
use fakes::conformance::options::{options, text};
use fakes::slack::Slack;
use platforms::Account;

async fn harness() -> (AdapterHarness<Slack>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

fn to(channel: &str) -> Options {
    options(&[("channel", text(channel))])
}
