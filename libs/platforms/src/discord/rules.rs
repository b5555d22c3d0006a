//! What posts may have, and what can be said here alone.

use domain::media::MimeType;
use domain::options::{OptionKind, OptionSpec};
use domain::rules::{Counting, PostRule, Rule, Rules};

use super::TITLE;

/// Where a bot's post goes.
pub(super) const CHANNEL: &str = "channel";

/// Who is shown as the author of a webhook's post.
pub(super) const AUTHOR: [&str; 2] = ["username", "avatar_url"];

/// What a post can say here alone.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        CHANNEL,
        OptionKind::Choice { max: 20 },
        "The channel, by its id. Needed where a server was connected, and refused where a channel was.",
    ),
    OptionSpec::new(
        "thread_name",
        OptionKind::Text { max: 100 },
        "The title of the post that it becomes in a forum or media channel. Needed there, and refused elsewhere.",
    ),
    OptionSpec::new("silent", OptionKind::Flag, "Whether members get it without a push or desktop notification."),
    OptionSpec::new("suppress_embeds", OptionKind::Flag, "Whether its links are shown without previews."),
    OptionSpec::new(
        AUTHOR[0],
        OptionKind::TextWithout { max: 80, words: &["discord", "clyde"] },
        "The name above it, in place of the webhook's.",
    ),
    OptionSpec::new(
        AUTHOR[1],
        OptionKind::Address(&["https://"]),
        "The address of the picture beside it, in place of the webhook's.",
    ),
];

/// The largest file in servers that nobody boosts.
const MAX_FILE_BYTES: u64 = 10 << 20;

/// The largest request is 25 MiB, with what stands around the files.
const MAX_ALL_BYTES: u64 = 24 << 20;

/// What every account takes.
pub(super) fn rules(further: impl IntoIterator<Item = PostRule>) -> Rules {
    let rules = [
        // "Our API calculates length based on the number of codepoints"
        // (discord-api-docs, issue 1315).
        Rule::max_text(2_000, Counting::code_points()),
        Rule::max_media(10),
        Rule::mime_types(MimeType::ALL),
        Rule::max_image_bytes(MAX_FILE_BYTES),
        Rule::max_video_bytes(MAX_FILE_BYTES),
        Rule::OfPost(PostRule::MaxAllBytes { max: MAX_ALL_BYTES }),
        Rule::max_alt_text(1_024, Counting::code_points()),
    ];
    Rules::of(TITLE, rules.into_iter().chain(further.into_iter().map(Rule::OfPost)).collect::<Vec<_>>())
}

/// A webhook is of one channel.
pub(super) fn webhook_rules() -> Rules {
    rules([PostRule::RefusedOptions { options: vec![CHANNEL.to_owned()] }])
}

/// The bot posts in any channel, under its own name.
pub(super) fn server_rules() -> Rules {
    let required = PostRule::RequiredOptions { options: vec![CHANNEL.to_owned()] };
    rules([required, PostRule::RefusedOptions { options: AUTHOR.map(str::to_owned).into() }])
}
