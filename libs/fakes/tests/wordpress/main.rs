//! Behavior specific to WordPress.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod files;
mod intermediary;
mod log;
mod mix_up;
mod noise;
mod oldest_version;
mod posts;
mod troubles;

use domain::options::{OptionValue, Options};
use fakes::wordpress::Wordpress;
use platforms::Account;
use platforms::conformance::adapter_harness::AdapterHarness;

async fn harness() -> (AdapterHarness<Wordpress>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

fn options<const N: usize>(given: [(&str, OptionValue); N]) -> Options {
    given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn list(values: &[&str]) -> OptionValue {
    OptionValue::List(values.iter().map(|it| (*it).to_owned()).collect())
}
