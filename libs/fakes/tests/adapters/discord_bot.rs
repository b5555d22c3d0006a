//! Behavior specific to the Discord bot.

mod connecting;
mod posting;
mod threads;
mod unknown_outcomes;

use fakes::discord::bot::DiscordBot;

use crate::prelude::*;

/// A post to this channel, with a title if one is passed.
fn post<'a>(
    harness: &AdapterHarness<DiscordBot>,
    account: &'a Account,
    (channel, title): (&str, Option<&str>),
    text: &str,
    media: Vec<Sample>,
) -> Post<'a> {
    let mut options = json!({ "channel": channel });
    if let Some(title) = title {
        options["thread_name"] = title.into();
    }
    harness.post(account, text, media).with(options)
}
