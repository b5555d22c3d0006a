use domain::rich_text::{can_start_after, is_punctuation};
use unicode_segmentation::UnicodeSegmentation;

use super::facet::{Facet, Feature};

const MAX_GRAPHEMES: usize = 64;
const MAX_BYTES: usize = 640;

/// The variation selector that turns the character before it into an emoji: `#️⃣` is a keycap and
/// no tag.
const EMOJI: char = '\u{fe0f}';

pub(super) fn find(text: &str) -> impl Iterator<Item = Facet> {
    text.match_indices(['#', '＃']).filter(|(at, _)| can_start_after(&text[..*at], &[])).filter_map(|(at, mark)| {
        let rest = &text[at + mark.len()..];
        if rest.starts_with(EMOJI) {
            return None;
        }
        let word = &rest[..rest.find(is_tag_delimiter).unwrap_or(rest.len())];
        let tag = word.trim_end_matches(is_punctuation);
        let has_letters = tag.chars().any(|it| !it.is_ascii_digit() && !is_punctuation(it));
        let fits = tag.len() <= MAX_BYTES && tag.graphemes(true).count() <= MAX_GRAPHEMES;
        let range = at..at + mark.len() + tag.len();
        (has_letters && fits).then(|| Facet { range, leads_to: Feature::Tag(tag.to_owned()) })
    })
}

/// Whether a tag ends here: at white space, including zero-width space.
fn is_tag_delimiter(letter: char) -> bool {
    letter.is_whitespace()
        || letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{20e2}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(text: &str) -> Vec<String> {
        let tag = |it: Facet| match it.leads_to {
            Feature::Tag(tag) => tag,
            other => panic!("{other:?}"),
        };
        find(text).map(tag).collect()
    }

    #[test]
    fn tag_is_a_hash_sign_and_a_word() {
        assert_eq!(tags("#one #two_three, #four!"), ["one", "two_three", "four"]);
        assert_eq!(tags("＃日本語。 #тег… #وسم؟"), ["日本語", "тег", "وسم"]);
        assert_eq!(tags("#C++ #2026goals #🎉"), ["C++", "2026goals", "🎉"]);
        assert_eq!(tags("line\n#next"), ["next"]);
        assert_eq!(
            tags("#double#rainbow ##hash ##\u{fe0f}\u{20e3}tag #t\u{200b}ag #٣"),
            ["double#rainbow", "#hash", "#\u{fe0f}\u{20e3}tag", "t", "٣"]
        );
        for text in ["#", "# word", "#2026", "#!!", "a#b", "#\u{fe0f}\u{20e3} one", "##"] {
            assert_eq!(tags(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn too_long_word_is_no_tag() {
        assert_eq!(tags(&format!("#{}", "a".repeat(64))).len(), 1);
        assert_eq!(tags(&format!("#{}", "a".repeat(65))).len(), 0);
        // One grapheme of many bytes.
        assert_eq!(tags(&format!("#a{}", "\u{301}".repeat(400))).len(), 0);
    }
}
