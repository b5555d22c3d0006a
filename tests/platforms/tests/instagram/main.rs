//! What is special about Instagram.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod by_facebook;
mod connecting;
mod containers;
mod publishing;
mod rules;
mod strictness;

use domain::options::{OptionValue, Options};
use networks::instagram::Instagram;
use platforms::Account;
use platforms::conformance::stage::Stage;

async fn stage() -> (Stage<Instagram>, Account) {
    let stage = Stage::new().await;
    let account = stage.connect().await;
    (stage, account)
}

fn options(pairs: &[(&str, OptionValue)]) -> Options {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn text(value: &str) -> OptionValue {
    OptionValue::Text(value.to_owned())
}

fn list(values: &[&str]) -> OptionValue {
    OptionValue::List(values.iter().map(|it| (*it).to_owned()).collect())
}
