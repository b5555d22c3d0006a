use icu_properties::CodePointSetData;
use icu_properties::props::{Emoji, EmojiModifierBase, EmojiPresentation};

/// Zero-width joiner: joins emoji to one.
const JOINER: char = '\u{200d}';

/// Variation selector 16: requests emoji presentation.
const AS_EMOJI: char = '\u{fe0f}';

/// Combining enclosing keycap, after a digit.
const KEY: char = '\u{20e3}';

/// Followed by tags, the flag of a part of a country.
const BLACK_FLAG: char = '🏴';

/// The bytes of the emoji at the start of a text; `None` when there is none. Joined sequences,
/// flags and skin tones belong to the emoji.
///
/// Characters with text presentation by default, such as `©`, are emoji only with a variation
/// selector. Source: Unicode Technical Standard 51, the sequences of section 1.4.9 of which each
/// part is fully qualified (ED-18a).
pub(super) fn emoji_len_at_start(text: &str) -> Option<usize> {
    let mut length = single_emoji(text)?;
    while let Some(next) = text[length..].strip_prefix(JOINER).and_then(single_emoji) {
        length += JOINER.len_utf8() + next;
    }
    Some(length)
}

/// Length as Threads counts it: an emoji counts its UTF-8 bytes, any other code point 1. Characters
/// with optional emoji presentation count as emoji, and so does what is joined to them.
pub(super) fn length_in_bytes(text: &str) -> usize {
    let (mut rest, mut length, mut follows_emoji) = (text, 0, false);
    while let Some(first) = rest.chars().next() {
        let emoji = emoji_len_at_start(rest);
        let is_emoji = emoji.is_some() || may_be(first) || follows_emoji && matches!(first, JOINER | AS_EMOJI | KEY);
        let bytes = emoji.unwrap_or(first.len_utf8());
        length += if is_emoji { bytes } else { 1 };
        follows_emoji = is_emoji;
        rest = &rest[bytes..];
    }
    length
}

/// Whether this single character can have emoji presentation. Digits are excluded.
fn may_be(letter: char) -> bool {
    !letter.is_ascii() && CodePointSetData::new::<Emoji>().contains(letter)
}

fn single_emoji(text: &str) -> Option<usize> {
    let mut rest = text.chars();
    let first = rest.next()?;
    match first {
        '#' | '*' | '0'..='9' => {
            let behind = rest.as_str().strip_prefix(AS_EMOJI).unwrap_or(rest.as_str());
            Some(text.len() - behind.strip_prefix(KEY)?.len())
        }
        _ if !may_be(first) => None,
        '🇦'..='🇿' => {
            rest.next().filter(|it| matches!(it, '🇦'..='🇿'))?;
            Some(text.len() - rest.as_str().len())
        }
        _ => {
            let plain = rest.as_str();
            let styled = plain.strip_prefix(AS_EMOJI);
            let behind = styled.unwrap_or(plain);
            let accepts_skin_tone = CodePointSetData::new::<EmojiModifierBase>().contains(first);
            let after_skin_tone = behind.strip_prefix(|it| accepts_skin_tone && matches!(it, '🏻'..='🏿'));
            let as_text = plain.starts_with('\u{fe0e}');
            let is_emoji_by_default = CodePointSetData::new::<EmojiPresentation>().contains(first) && !as_text;
            let behind = after_skin_tone.or(styled).or_else(|| is_emoji_by_default.then_some(plain))?;
            let behind = if first == BLACK_FLAG { after_region_tags(behind).unwrap_or(behind) } else { behind };
            Some(text.len() - behind.len())
        }
    }
}

/// The rest after the tags of a region, as in the flag of Scotland.
fn after_region_tags(text: &str) -> Option<&str> {
    let behind = text.trim_start_matches(|it| matches!(it, '\u{e0020}'..='\u{e007e}'));
    (behind.len() < text.len()).then(|| behind.strip_prefix('\u{e007f}'))?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn emoji_sequence_is_one_emoji() {
        for emoji in [
            "🎉",
            "☺\u{fe0f}",
            "⌚",
            "©\u{fe0f}",
            "👍🏽",
            "☝🏽",
            "☝\u{fe0f}🏽",
            "🇮🇹",
            "1\u{fe0f}\u{20e3}",
            "#\u{20e3}",
            "👨\u{200d}👩\u{200d}👧\u{200d}👦",
            "👨🏿\u{200d}🎤",
            "🏳\u{fe0f}\u{200d}🌈",
            "🏳\u{fe0f}\u{200d}⚧\u{fe0f}",
            "❤\u{fe0f}\u{200d}🔥",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        ] {
            for after in ["", "a", "🎉", "\u{301}"] {
                assert_eq!(emoji_len_at_start(&format!("{emoji}{after}")), Some(emoji.len()), "{emoji} {after}");
            }
        }
    }

    #[test]
    fn text_presentation_is_no_emoji() {
        for text in ["", "a", "1", "#", "1\u{fe0f}", "©", "™", "❤", "⌚\u{fe0e}", "🇮", "漢", "\u{200d}", "\u{fe0f}"]
        {
            assert_eq!(emoji_len_at_start(text), None, "{text}");
        }
        for (text, length) in [("🐱🏽", 4), ("🎉\u{200d}a", 4), ("🏴\u{e0067}a", 4), ("🇮🇹🇯", 8)] {
            assert_eq!(emoji_len_at_start(text), Some(length), "{text}");
        }
    }

    #[test]
    fn an_emoji_counts_its_bytes_and_a_letter_one() {
        for (text, length) in [
            ("", 0),
            ("plain 123 #4", 12),
            ("日本語", 3),
            ("e\u{301}", 2),
            ("🎉", 4),
            ("a🎉b", 6),
            ("👍🏽", 8),
            ("🇮🇹", 8),
            ("1\u{fe0f}\u{20e3}", 7),
            ("👨\u{200d}👩\u{200d}👧\u{200d}👦", 25),
            ("❤\u{fe0f}", 6),
            ("❤", 3),
            ("❤\u{200d}🔥", 10),
            ("क\u{200d}ष", 3),
        ] {
            assert_eq!(length_in_bytes(text), length, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_length_in_bytes_is_between_characters_and_bytes(text in any::<String>()) {
            let length = length_in_bytes(&text);
            prop_assert!(text.chars().count() <= length && length <= text.len());
        }

        #[test]
        fn an_emoji_ends_between_characters(text in "(\\PC|🇮|🏴|\u{e0067}|\u{e007f}|\u{200d}|\u{fe0f}|\u{20e3}|1|👨|🏽){0,12}") {
            if let Some(length) = emoji_len_at_start(&text) {
                prop_assert!(0 < length && text.is_char_boundary(length));
            }
        }
    }
}
