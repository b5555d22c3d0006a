//! The links in a text, for platforms whose clients detect links and shorten what is shown of them,
//! while the full URL is sent separately.
//!
//! One function counts the length and writes the post, so that the published text is the one
//! that was counted.

mod link;
mod punctuation;

use std::ops::Range;

pub use punctuation::is_punctuation;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayText {
    /// With its links shortened.
    pub text: String,
    /// In order, without overlaps.
    pub links: Vec<Link>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Byte range in [`DisplayText::text`], or in the text of [`links`].
    pub range: Range<usize>,
    pub uri: String,
}

impl DisplayText {
    pub fn new(written: &str) -> Self {
        let (mut text, mut links) = (String::with_capacity(written.len()), Vec::new());
        let mut end = 0;
        for link in link::find(written) {
            text.push_str(&written[end..link.range.start]);
            end = link.range.end;
            let start = text.len();
            text.push_str(&link::shown(&written[link.range]));
            links.push(Link { range: start..text.len(), uri: link.uri });
        }
        text.push_str(&written[end..]);
        Self { text, links }
    }
}

/// The links of a text at their original positions, for platforms that accept text with markup.
pub fn links(written: &str) -> Vec<Link> {
    link::find(written).map(|it| Link { range: it.range, uri: it.uri }).collect()
}

/// Whether a link, mention or tag may start after this text: at the start, after white space, or
/// after one of these characters.
pub fn can_start_after(before: &str, also: &[char]) -> bool {
    before.chars().next_back().is_none_or(|it| it.is_whitespace() || also.contains(&it))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_links_are_shortened() {
        let shown =
            DisplayText::new("日本 (https://example.com/a/very/long/path/), example.org/b: http://example.net.");

        assert_eq!(shown.text, "日本 (example.com/a/very/long/...), example.org/b: example.net.");
        let links: Vec<_> = shown.links.iter().map(|it| (&shown.text[it.range.clone()], it.uri.as_str())).collect();
        assert_eq!(
            links,
            [
                ("example.com/a/very/long/...", "https://example.com/a/very/long/path/"),
                ("example.org/b", "https://example.org/b"),
                ("example.net", "http://example.net"),
            ]
        );
    }

    proptest! {
        #[test]
        fn links_of_any_text_are_in_order_between_characters(
            text in "(\\PC|https://|http://|example\\.com|@|#|\\(|\\)|/|[ \n\u{3000}]|👩‍👧|é|。){0,40}"
        ) {
            let shown = DisplayText::new(&text);
            let mut end = 0;
            for Link { range, uri } in &shown.links {
                prop_assert!(end <= range.start && range.start < range.end);
                end = range.end;
                // Panics within a character.
                let words = &shown.text[range.clone()];
                prop_assert!(uri.is_ascii() && !words.contains(char::is_whitespace));
            }
            prop_assert!(!shown.links.is_empty() || shown.text == text);
        }
    }
}
