use domain::options::{AddressForm, OptionKind, OptionSpec};

use super::post_address::PostAddress;

pub(super) const QUOTE: &str = "quote_url";

pub(super) const PREVIEW: &str = "link_preview";

const POST: AddressForm = AddressForm {
    starts: &["https://bsky.app/", "at://"],
    has: |it| PostAddress::parse(it).is_some(),
    examples: &[
        "https://bsky.app/profile/bsky.app/post/3l6oveex3ii2l",
        "at://did:plc:z72i7hdynmk6r22z27h6tvur/app.bsky.feed.post/3l6oveex3ii2l",
    ],
};

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("language", OptionKind::Language, "The language of the post."),
    OptionSpec::new(
        "content_warning",
        OptionKind::OneOf(&["sexual", "nudity", "porn", "graphic-media"]),
        "A self-label. Depending on their settings, readers do not see the post or are warned first.",
    ),
    OptionSpec::new(
        PREVIEW,
        OptionKind::Flag,
        "Whether the first link is shown as a card, and a first link to a post as a quote. Defaults to true.",
    ),
    OptionSpec::new(
        QUOTE,
        OptionKind::AddressOf(&POST),
        "The post to quote: its bsky.app link, or the at:// URI of its record.",
    ),
];

#[cfg(test)]
mod tests {
    use domain::options::{OptionValue, Options, PlatformOptions};
    use domain::validation_errors::ValidationErrors;

    use super::*;

    #[test]
    fn invalid_quote_url_is_refused_with_an_example() {
        let messages_for = |quoted: &str| {
            let options: Options = [(QUOTE.to_owned(), OptionValue::from(quoted))].into_iter().collect();
            let mut errors = ValidationErrors::new();
            PlatformOptions::new([("bluesky", OPTIONS)]).check_values("bluesky", &options, "options", &mut errors);
            errors.iter().map(|it| it.1.to_owned()).collect::<Vec<_>>()
        };
        for post in POST.examples.iter().chain(&["https://bsky.app/profile/alice.example/post/3k/?ref=a#b"]) {
            assert_eq!(messages_for(post), Vec::<String>::new(), "{post}");
        }
        for no in [
            "https://bsky.app/profile/alice.example",
            "https://bsky.app/profile/alice.example/lists/3k",
            "https://bsky.app/profile/@alice/post/3k",
            "at://alice.example/app.bsky.feed.generator/3k",
            "https://example.com/profile/alice.example/post/3k",
        ] {
            let [message] = messages_for(no).try_into().unwrap();
            assert!(
                message.starts_with("options.quote_url must look like https://bsky.app/profile/"),
                "{no}: {message}"
            );
        }
    }
}
