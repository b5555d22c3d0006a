//! Behavior of the Mastodon adapter that the conformance suite does not cover, on each kind of
//! server with the API.

mod apps;
mod domains;
mod files;
mod options;
mod recognition;
mod threads;

use fakes::mastodon::Server;

use crate::prelude::*;

/// Longer than the time within which a cut-off publish call may take effect.
const SETTLED: TimeDelta = TimeDelta::seconds(100);

fn picture() -> Vec<Sample> {
    vec![sample(MimeType::Jpeg, 1)]
}
