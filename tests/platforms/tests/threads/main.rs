//! What is special about Threads.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod containers;
mod fetching;
mod intermediaries;
mod publishing;
mod rules;
mod strictness;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Setback;
use domain::options::{OptionValue, Options};
use networks::threads::Threads;
use platforms::conformance::network::Network;
use platforms::conformance::stage::{Post, Stage};
use platforms::{Account, Step};

async fn stage() -> (Stage<Threads>, Account) {
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

/// Prepares a post until then, as the protocol does: every setback that passes is waited
/// out. Returns the setbacks; the last one may be final.
async fn prepared_until<N: Network>(stage: &Stage<N>, post: &mut Post<'_>, end: DateTime<Utc>) -> Vec<Setback> {
    let mut setbacks = Vec::new();
    while stage.clock.now() < end {
        match stage.prepare(post).await {
            Ok(Step::Again { progress, at }) => {
                post.progress = Some(progress);
                stage.clock.skip_to(at);
            }
            Ok(Step::Ready { progress }) => {
                post.progress = progress;
                break;
            }
            Err(Setback::Busy { retry_at, reason }) => {
                let next = stage.clock.now() + TimeDelta::minutes(30);
                stage.clock.skip_to(retry_at.unwrap_or(next));
                setbacks.push(Setback::Busy { retry_at, reason });
            }
            Err(setback) => {
                setbacks.push(setback);
                break;
            }
        }
    }
    setbacks
}
