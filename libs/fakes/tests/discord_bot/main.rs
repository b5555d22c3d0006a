//! Behavior specific to the Discord bot.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod doubts;
mod posting;
mod threads;

use domain::options::{OptionValue, Options};
use fakes::conformance::adapter_harness::{AdapterHarness, Post};
use fakes::conformance::samples::Sample;
use platforms::Account;

use fakes::discord::bot::DiscordBot;

async fn connected() -> (AdapterHarness<DiscordBot>, Account) {
    let harness = AdapterHarness::<DiscordBot>::new().await;
    let account = harness.connect().await;
    (harness, account)
}

fn options(pairs: &[(&str, &str)]) -> Options {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Text((*value).to_owned()))).collect()
}

/// A post to this channel, with a title if one is passed.
fn post<'a>(
    harness: &AdapterHarness<DiscordBot>,
    account: &'a Account,
    (channel, title): (&str, Option<&str>),
    text: &str,
    media: Vec<Sample>,
) -> Post<'a> {
    let said: Vec<_> =
        [Some(("channel", channel)), title.map(|it| ("thread_name", it))].into_iter().flatten().collect();
    let mut post = harness.post(account, text, media);
    post.options = options(&said);
    post
}
