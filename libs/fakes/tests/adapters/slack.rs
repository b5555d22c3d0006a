//! Behavior specific to Slack.

mod connecting;
mod files;
mod messages;
mod threads;

use fakes::slack::Slack;

use crate::prelude::*;

async fn harness() -> (AdapterHarness<Slack>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

fn to(channel: &str) -> Options {
    options(&[("channel", text(channel))])
}
