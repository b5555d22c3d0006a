//! Behavior of the Mastodon adapter that the conformance suite does not cover, on each kind of
//! server with the API.

mod apps;
mod connecting;
mod domains;
mod files;
mod options;
mod recognition;
mod threads;

use fakes::mastodon::{FlavorType, Server};

use crate::prelude::*;

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
