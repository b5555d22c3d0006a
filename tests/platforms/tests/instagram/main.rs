//! What is special about Instagram.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod by_facebook;
mod connecting;
mod containers;
mod fetching;
mod publishing;
#[path = "../meta/quota.rs"]
mod quota;
mod rules;
mod strictness;

use http::Method;
use networks::instagram::Instagram;
use platforms::Account;
use platforms::conformance::options::{list, options, text};
use platforms::conformance::stage::Stage;

async fn stage() -> (Stage<Instagram>, Account) {
    let stage = Stage::new().await;
    let account = stage.connect().await;
    (stage, account)
}

#[tokio::test]
async fn page_at_the_quota_delays_the_post() {
    let block = |it: &Instagram, status| it.intermediary().block(Method::GET, "publishing_limit", status, 1);
    quota::page_delays_the_post(block).await;
}
