//! Behavior of the Mastodon adapter that the conformance suite does not cover, on each kind of
//! server with the API.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod apps;
mod connecting;
mod domains;
mod files;
mod options;
mod recognition;
mod threads;

use chrono::TimeDelta;
use domain::media::MimeType;
use fakes::conformance::adapter_harness::AdapterHarness;
use fakes::conformance::samples::{Sample, sample};
use fakes::mastodon::{FlavorType, Server};
use platforms::Account;

/// Longer than the time within which a cut-off publish call may take effect.
const SETTLED: TimeDelta = TimeDelta::seconds(100);

async fn harness<K: FlavorType>() -> (AdapterHarness<Server<K>>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

fn picture() -> Vec<Sample> {
    vec![sample(MimeType::Jpeg, 1)]
}
