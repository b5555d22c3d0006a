//! Behavior specific to Matrix.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod files;
mod messages;
mod oauth;

use domain::options::{OptionValue, Options};
use fakes::matrix::specification::MatrixServer;
use fakes::matrix::{Matrix, PASSWORD, ROOM, USER};
use platforms::Account;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::FakePlatform;

/// Also runs against real homeservers.
#[tokio::test]
async fn the_fake_answers_as_the_specification_says() {
    let harness = AdapterHarness::<Matrix>::new().await;
    let base_url = harness.fake.base_url();
    let asked = MatrixServer { base_url: &base_url, user: USER, password: PASSWORD, room: ROOM };

    assert_eq!(asked.differences().await, Vec::<String>::new());
}

async fn harness() -> (AdapterHarness<Matrix>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

/// Options for this room, with `further` options.
fn to(room: &str, further: &[(&str, OptionValue)]) -> Options {
    let room = ("room".to_owned(), OptionValue::Text(room.to_owned()));
    further.iter().map(|(name, it)| ((*name).to_owned(), it.clone())).chain([room]).collect()
}
