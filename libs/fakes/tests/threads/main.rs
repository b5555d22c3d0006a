//! Behavior specific to Threads.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod containers;
mod publishing;
mod threads;

use fakes::conformance::adapter_harness::AdapterHarness;
use fakes::conformance::options::{list, options, text};
use fakes::threads::Threads;
use platforms::Account;

async fn harness() -> (AdapterHarness<Threads>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}
