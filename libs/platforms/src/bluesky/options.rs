//! What a post can say here alone.

use domain::options::{OptionKind, OptionSpec};

/// The option that names a post to quote.
pub(super) const QUOTE: &str = "quote_url";

/// The option that switches cards and quotes of links off.
pub(super) const PREVIEW: &str = "link_preview";

/// All of them.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("language", OptionKind::Language, "The language it is written in."),
    OptionSpec::new(
        "content_warning",
        OptionKind::OneOf(&["sexual", "nudity", "porn", "graphic-media"]),
        "A label of its own, by which people hide it or are warned.",
    ),
    OptionSpec::new(
        PREVIEW,
        OptionKind::Flag,
        "Whether the first link has a card, and the first link to a post is a quote of it. So it is, unless this is \
         false.",
    ),
    OptionSpec::new(
        QUOTE,
        OptionKind::Address(&["https://bsky.app/", "at://"]),
        "The post that it quotes: a link to it on bsky.app, or the at:// address of its record.",
    ),
];
