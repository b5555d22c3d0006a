//! Behavior specific to Threads.

mod connecting;
mod containers;
mod publishing;
mod replies;

use fakes::threads::Threads;

use crate::prelude::*;

async fn harness() -> (AdapterHarness<Threads>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}
