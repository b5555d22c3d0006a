//! What is special about Slack, and what its fake refuses.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod files;
mod messages;
mod strictness;

use domain::options::{OptionValue, Options};
use networks::slack::Slack;
use platforms::Account;
use platforms::conformance::stage::Stage;

async fn stage() -> (Stage<Slack>, Account) {
    let stage = Stage::new().await;
    let account = stage.connect().await;
    (stage, account)
}

fn to(channel: &str) -> Options {
    [("channel".to_owned(), OptionValue::Text(channel.to_owned()))].into_iter().collect()
}
