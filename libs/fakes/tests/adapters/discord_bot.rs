//! Behavior specific to the Discord bot.

mod connecting;
mod doubts;
mod posting;
mod threads;

use fakes::discord::bot::DiscordBot;

use crate::prelude::*;

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
