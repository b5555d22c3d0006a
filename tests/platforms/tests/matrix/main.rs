//! What is special about Matrix, and what its stand-in refuses.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod files;
mod messages;

use domain::options::{OptionValue, Options};
use networks::matrix::Matrix;
use platforms::Account;
use platforms::conformance::stage::Stage;

async fn stage() -> (Stage<Matrix>, Account) {
    let stage = Stage::new().await;
    let account = stage.connect().await;
    (stage, account)
}

/// To this room, with what else is said.
fn to(room: &str, further: &[(&str, OptionValue)]) -> Options {
    let room = ("room".to_owned(), OptionValue::Text(room.to_owned()));
    further.iter().map(|(name, it)| ((*name).to_owned(), it.clone())).chain([room]).collect()
}
