use domain::media::MimeType;
use domain::options::{OptionKind, OptionSpec};
use domain::rules::{Counting, FileRule, PostRule, Rule, Rules};

use super::TITLE;

/// Option of bots.
pub(super) const CHANNEL: &str = "channel";

/// Options of webhooks: the author that is shown.
pub(super) const AUTHOR: [&str; 2] = ["username", "avatar_url"];

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        CHANNEL,
        OptionKind::Choice { max: 20 },
        "The ID of the channel. Required if a server is connected, not accepted if a channel is connected.",
    ),
    OptionSpec::new(
        "thread_name",
        OptionKind::Text { max: 100 },
        "The title of the post in a forum or media channel. Required there, not accepted elsewhere.",
    ),
    OptionSpec::new(
        "silent",
        OptionKind::Flag,
        "Whether members receive the message without a push or desktop \
                                                 notification.",
    ),
    OptionSpec::new("suppress_embeds", OptionKind::Flag, "Whether links are shown without previews."),
    OptionSpec::new(
        AUTHOR[0],
        OptionKind::TextWithout { max: 80, words: &["discord", "clyde"] },
        "The name above the message, instead of the webhook's name.",
    ),
    OptionSpec::new(
        AUTHOR[1],
        OptionKind::Address(&["https://"]),
        "The URL of the avatar of the message, instead of the webhook's avatar.",
    ),
];

/// The largest file in servers without boosts.
const MAX_FILE_BYTES: u64 = 10 << 20;

/// The largest request is 25 MiB, including the form around the files.
const MAX_ALL_BYTES: u64 = 24 << 20;

pub(super) fn rules(extra_rules: impl IntoIterator<Item = PostRule>) -> Rules {
    let rules = [
        // "Our API calculates length based on the number of codepoints" (discord-api-docs, issue
        // 1315).
        Rule::max_text(2_000, Counting::code_points()),
        Rule::max_media(10),
        Rule::DocumentAlone,
        Rule::mime_types(MimeType::ALL),
        Rule::max_image_bytes(MAX_FILE_BYTES),
        Rule::max_video_bytes(MAX_FILE_BYTES),
        Rule::max_document_bytes(MAX_FILE_BYTES),
        Rule::OfFiles(FileRule::ReadableDocuments),
        Rule::OfPost(PostRule::MaxAllBytes { max: MAX_ALL_BYTES }),
        Rule::max_alt_text(1_024, Counting::code_points()),
    ];
    Rules::new(TITLE, rules.into_iter().chain(extra_rules.into_iter().map(Rule::OfPost)).collect::<Vec<_>>())
}

/// A webhook posts in one channel, and cannot reply.
pub(super) fn webhook_rules() -> Rules {
    rules([PostRule::RefusedOptions { options: vec![CHANNEL.to_owned()] }])
}

/// The bot posts in any channel, under its own name.
pub(super) fn server_rules() -> Rules {
    let required = PostRule::RequiredOptions { options: vec![CHANNEL.to_owned()] };
    rules([required, PostRule::RefusedOptions { options: AUTHOR.map(str::to_owned).into() }]).with_threads()
}
