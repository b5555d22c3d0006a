//! Behavior specific to LinkedIn.

mod cards;
mod comments;
mod connecting;
mod files;
mod pages;
mod posts;
mod replay;

use fakes::linkedin::{LinkedIn, Products, SelfServe};

use crate::prelude::*;

async fn harness() -> (AdapterHarness<LinkedIn>, Account) {
    harness_with::<SelfServe>().await
}

/// A harness with the first account of an app with these products.
async fn harness_with<P: Products>() -> (AdapterHarness<LinkedIn<P>>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}
