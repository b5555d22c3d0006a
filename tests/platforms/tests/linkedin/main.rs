//! What is special about LinkedIn, and what its fake refuses.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod cards;
mod comments;
mod connecting;
mod files;
mod pages;
mod posts;
mod replay;
mod strictness;

use networks::linkedin::{LinkedIn, Products, SelfServe};
use platforms::Account;
use platforms::conformance::stage::Stage;

/// What a proxy, a CDN or a firewall in front of LinkedIn answers.
const PAGE_OF_A_PROXY: &str = "<!DOCTYPE html>\n<html><body>Access denied</body></html>\n";

/// A member.
async fn stage() -> (Stage<LinkedIn>, Account) {
    stage_with::<SelfServe>().await
}

/// The first account that an app with these products is given.
async fn stage_with<P: Products>() -> (Stage<LinkedIn<P>>, Account) {
    let stage = Stage::new().await;
    let account = stage.connect().await;
    (stage, account)
}
