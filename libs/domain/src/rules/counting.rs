use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use super::{emoji, links, mentions, weighted};
use crate::options::Options;
use crate::rich_text::DisplayText;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counting {
    pub unit: Unit,
    /// The units of a link that starts with `http` or `https`, whatever its length; `None` where
    /// links count as written.
    pub url_length: Option<u32>,
    /// Whether links count as displayed, which is shortened, and not as written.
    pub short_links: bool,
    /// Whether `@user@host` counts as `@user`.
    pub short_mentions: bool,
    /// Whether the option `content_warning` counts as well.
    pub warnings: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Extended grapheme clusters (Unicode annex 29): what users perceive as one character, of any
    /// number of code points.
    Graphemes,
    /// Extended grapheme clusters by the rules before Unicode 15.1. In Indic and related scripts,
    /// where consonants are joined to a conjunct, those rules started a new cluster with each of
    /// the consonants.
    GraphemesOfUnicode15,
    CodePoints,
    Utf16,
    /// As X counts: most letters of Europe 1, other characters and each emoji 2. Domains without a
    /// scheme are links, too.
    Weighted,
    /// As Threads counts: an emoji its UTF-8 bytes, any other code point 1.
    EmojiBytes,
}

impl Unit {
    /// The length of a text that is [`Unit::normalized`].
    fn count(self, text: &str) -> u64 {
        let count = match self {
            Self::Graphemes => text.graphemes(true).count(),
            Self::GraphemesOfUnicode15 => text.graphemes(true).map(clusters_of_unicode_15).sum(),
            Self::CodePoints => text.chars().count(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Weighted => return weighted::length(text),
            Self::EmojiBytes => emoji::length_in_bytes(text),
        };
        count as u64
    }

    fn normalized(self, text: &str) -> Cow<'_, str> {
        if self == Self::Weighted { weighted::normalized(text) } else { Cow::Borrowed(text) }
    }

    pub(super) fn has_links(self, text: &str) -> bool {
        !self.links(&self.normalized(text)).is_empty()
    }

    /// The links of a text that is [`Unit::normalized`].
    fn links(self, text: &str) -> Vec<Range<usize>> {
        if self == Self::Weighted { weighted::addresses(text) } else { links::find(text) }
    }

    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Graphemes | Self::GraphemesOfUnicode15 | Self::CodePoints | Self::Weighted | Self::EmojiBytes => {
                "characters"
            }
            Self::Utf16 => "UTF-16 units",
        }
    }
}

impl Counting {
    pub const fn graphemes() -> Self {
        Self::new(Unit::Graphemes)
    }

    pub const fn graphemes_of_unicode_15() -> Self {
        Self::new(Unit::GraphemesOfUnicode15)
    }

    pub const fn code_points() -> Self {
        Self::new(Unit::CodePoints)
    }

    pub const fn utf16() -> Self {
        Self::new(Unit::Utf16)
    }

    /// As X does, where each link counts 23. Source: `transformedURLLength` of twitter-text, in
    /// version 3 of its configuration.
    pub const fn weighted() -> Self {
        Self::new(Unit::Weighted).url(23)
    }

    pub const fn emoji_bytes() -> Self {
        Self::new(Unit::EmojiBytes)
    }

    const fn new(unit: Unit) -> Self {
        Self { unit, url_length: None, short_links: false, short_mentions: false, warnings: false }
    }

    #[must_use]
    pub const fn url(self, length: u32) -> Self {
        Self { url_length: Some(length), ..self }
    }

    #[must_use]
    pub const fn short_links(self) -> Self {
        Self { short_links: true, ..self }
    }

    #[must_use]
    pub const fn short_mentions(self) -> Self {
        Self { short_mentions: true, ..self }
    }

    #[must_use]
    pub const fn with_warnings(self) -> Self {
        Self { warnings: true, ..self }
    }

    pub fn length(self, text: &str) -> u64 {
        let text = &*self.unit.normalized(text);
        if self.short_links {
            return self.unit.count(&DisplayText::new(text).text);
        }
        if self.url_length.is_none() && !self.short_mentions {
            return self.unit.count(text);
        }
        let links = self.unit.links(text);
        let mut counted = String::with_capacity(text.len());
        let mut end = 0;
        for link in &links {
            self.push(&mut counted, &text[end..link.start]);
            // One letter replaces each link, and the units of links are added below. The figure
            // comes from a server and may be huge; writing as many letters would let that server
            // decide how much memory this takes.
            counted.push_str(if self.url_length.is_some() { "x" } else { &text[link.clone()] });
            end = link.end;
        }
        self.push(&mut counted, &text[end..]);
        let length = self.unit.count(&counted);
        let Some(each) = self.url_length else { return length };
        let links = links.len() as u64;
        length.saturating_sub(links).saturating_add(links.saturating_mul(each.into()))
    }

    /// What the option `content_warning` adds to the length of a text. There, everything counts as
    /// written.
    pub(super) fn warning_length(self, options: &Options) -> u64 {
        let warning = options.text("content_warning").filter(|_| self.warnings).unwrap_or_default();
        self.unit.count(&self.unit.normalized(warning))
    }

    fn push(self, counted: &mut String, text: &str) {
        if self.short_mentions {
            counted.push_str(&mentions::shortened(text));
        } else {
            counted.push_str(text);
        }
    }

    /// A remark for users who count this text by hand: empty, or with a leading space.
    pub(super) fn counting_note(self, text: &str) -> String {
        let text = &*self.unit.normalized(text);
        let link_remark = match self.url_length {
            Some(each) if !self.unit.links(text).is_empty() => Some(format!("each link counts as {each}")),
            None if self.short_links && !DisplayText::new(text).links.is_empty() => {
                Some("links count as they are shown, shortened".to_owned())
            }
            _ => None,
        };
        let weight_remark = match self.unit {
            Unit::Weighted if weighted::has_heavy(text) => Some("emoji and letters such as 字 count as 2"),
            Unit::EmojiBytes if text.chars().count() as u64 != self.unit.count(text) => {
                Some("an emoji counts as 4 or more")
            }
            _ => None,
        };
        match (link_remark, weight_remark) {
            (None, None) => String::new(),
            (Some(links), None) => format!(" ({links})"),
            (Some(links), Some(letters)) => format!(" ({links}, {letters})"),
            (None, Some(letters)) => format!(" ({letters})"),
        }
    }
}

/// The number of clusters, by the rules before Unicode 15.1, in a cluster of today: one for its
/// start, and one for each further consonant.
fn clusters_of_unicode_15(cluster: &str) -> usize {
    1 + cluster.chars().skip(1).filter(|it| is_in_conjunct_script(*it) && can_start_cluster(*it)).count()
}

/// Whether a letter belongs to a script that joins consonants: the blocks from Devanagari to
/// Sinhala, Myanmar, Khmer, Tai Tham, Balinese, Javanese.
fn is_in_conjunct_script(letter: char) -> bool {
    matches!(letter,
        '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1a20}'..='\u{1aaf}'
        | '\u{1b00}'..='\u{1b7f}' | '\u{a980}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}')
}

/// Whether a character can start a cluster. A mark cannot, because it belongs to the letter before
/// it.
fn can_start_cluster(letter: char) -> bool {
    let mut pair = [0; 5];
    pair[0] = b'a';
    let length = 1 + letter.encode_utf8(&mut pair[1..]).len();
    std::str::from_utf8(&pair[..length]).is_ok_and(|it| it.graphemes(true).count() == 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MASTODON: Counting = Counting::graphemes_of_unicode_15().url(23).short_mentions();

    #[test]
    fn each_unit_has_its_own_length() {
        for (text, graphemes, code_points, utf16) in [
            ("plain", 5, 5, 5),
            ("é", 1, 1, 1),
            ("e\u{301}", 1, 2, 2),
            ("Z\u{351}\u{36b}\u{343}algo", 5, 8, 8),
            ("\r\n", 1, 2, 2),
            ("🎉", 1, 1, 2),
            ("🇮🇹🇯🇵", 2, 4, 8),
            ("👍🏽", 1, 2, 4),
            ("👨‍👩‍👧‍👦", 1, 7, 11),
            ("🏳️‍⚧️", 1, 5, 6),
            ("1️⃣", 1, 3, 3),
            ("🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}", 1, 7, 14),
            ("Ελληνικά", 8, 8, 8),
            ("Кириллица", 9, 9, 9),
            ("עִבְרִית", 5, 8, 8),
            ("العربية", 7, 7, 7),
            ("नमस्ते", 3, 6, 6),
            ("தமிழ்", 3, 5, 5),
            ("สวัสดี", 4, 6, 6),
            ("한국어", 3, 3, 3),
            ("\u{1112}\u{1161}\u{11ab}", 1, 3, 3),
            ("日本語", 3, 3, 3),
            ("が", 1, 1, 1),
            ("か\u{3099}", 1, 2, 2),
            ("𠮷野家", 3, 3, 4),
            ("አማርኛ", 4, 4, 4),
        ] {
            let lengths = [Counting::graphemes(), Counting::code_points(), Counting::utf16()].map(|it| it.length(text));
            assert_eq!(lengths, [graphemes, code_points, utf16], "{text}");
        }
    }

    #[test]
    fn unicode_15_counts_each_consonant_of_a_conjunct() {
        for (text, now, before) in [
            ("नमस्ते", 3, 4),
            ("क्षत्रिय", 3, 5),
            ("বাংলাদেশ", 4, 4),
            ("কৃষ্ণ", 2, 3),
            ("తెలుగు", 3, 3),
            ("മലയാളം", 4, 4),
            ("தமிழ்", 3, 3),
            ("한국어", 3, 3),
            ("\u{1112}\u{1161}\u{11ab}", 1, 1),
            ("👨‍👩‍👧‍👦 e\u{301}", 3, 3),
        ] {
            let lengths = [Counting::graphemes(), Counting::graphemes_of_unicode_15()].map(|it| it.length(text));
            assert_eq!(lengths, [now, before], "{text}");
        }
    }

    #[test]
    fn link_counts_its_platforms_url_length() {
        let long = format!("https://example.com/{}", "a".repeat(200));
        for (text, length) in [
            (long.clone(), 23),
            ("http://a.example".to_owned(), 23),
            (format!("{long}."), 24),
            (format!("({long})"), 25),
            (format!("[{long}], "), 27),
            (format!("see {long}!?"), 29),
            (format!("{long} {long}"), 47),
            (format!("{long}\u{3000}日本語"), 27),
            ("https://example.com。次".to_owned(), 25),
            ("👨‍👩‍👧‍👦https://example.com/👨‍👩‍👧‍👦".to_owned(), 24),
            ("example.com/without/a/scheme/counts/in/full".to_owned(), 43),
        ] {
            assert_eq!(MASTODON.length(&text), length, "{text}");
        }
        assert_eq!(Counting::graphemes().length(&long), 220);
        assert_eq!(Counting::graphemes().url(0).length(&long), 0);
        assert_eq!(Counting::utf16().url(u32::MAX).length(&format!("{long} {long}")), 2 * u64::from(u32::MAX) + 1);
    }

    #[test]
    fn shortened_link_counts_as_displayed() {
        let counting = Counting::graphemes().short_links();
        let long = format!("https://example.com/{}", "a".repeat(200));
        assert_eq!(
            counting.length(&format!("see {long}, 日本")),
            "see example.com/aaaaaaaaaaaa..., 日本".chars().count() as u64
        );
        assert_eq!(counting.length("example.com/without/a/scheme/counts/in/full"), 43);
        assert_eq!(counting.counting_note(&long), " (links count as they are shown, shortened)");
        assert_eq!(counting.counting_note("no link"), "");
    }

    #[test]
    fn a_mention_counts_without_its_host() {
        for (text, length) in [
            ("@alice@example.com", 6),
            ("hi @alice@example.com, @bob", 15),
            ("me@example.com", 14),
            ("https://good.example/@alice@example.com/1 @b@c.example", 26),
        ] {
            assert_eq!(MASTODON.length(text), length, "{text}");
        }
        assert_eq!(Counting::graphemes().url(23).length("@alice@example.com"), 18);
        let links_in_full = Counting::graphemes().short_mentions();
        assert_eq!(links_in_full.length("https://a.example/@b@c.example @b@c.example"), 33);
    }

    proptest! {
        #[test]
        fn graphemes_code_points_units_and_bytes_only_ever_grow(text in any::<String>()) {
            let [graphemes, code_points, utf16] =
                [Counting::graphemes(), Counting::code_points(), Counting::utf16()].map(|it| it.length(&text));
            prop_assert!(graphemes <= code_points);
            prop_assert!(code_points <= utf16);
            prop_assert!(utf16 <= text.len() as u64);
        }

        #[test]
        fn without_links_and_mentions_weights_change_nothing(text in "[^@:]*") {
            prop_assert_eq!(MASTODON.length(&text), Counting::graphemes().length(&text));
        }
    }
}
