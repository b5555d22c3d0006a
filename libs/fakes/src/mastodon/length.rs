//! Length of a text by a server's rules.

use bstr::ByteSlice;
use unicode_segmentation::UnicodeSegmentation;

use super::entities::shortened;
use super::flavor::Counting;

/// Characters of a status and its content warning.
pub(crate) fn length(counting: Counting, status: &str, spoiler: &str) -> usize {
    match counting {
        Counting::Mastodon => UnicodeSegmentation::graphemes(&*combine(spoiler, &shortened(status)), true).count(),
        Counting::MastodonOnRuby3 => count_graphemes_before_unicode_15_1(&combine(spoiler, &shortened(status))),
        Counting::Graphemes => count_graphemes_before_unicode_15_1(&combine(spoiler, status)),
        Counting::CodePoints => status.chars().count() + spoiler.chars().count(),
    }
}

fn combine(spoiler: &str, status: &str) -> String {
    format!("{spoiler}{status}")
}

/// Grapheme clusters before Unicode 15.1, like the tables of `bstr`: no cluster joins consonants.
fn count_graphemes_before_unicode_15_1(text: &str) -> usize {
    text.as_bytes().graphemes().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_emoji_counts_as_one_or_seven() {
        let family = "👨‍👩‍👧‍👦";

        assert_eq!(length(Counting::Mastodon, family, ""), 1);
        assert_eq!(length(Counting::CodePoints, family, ""), 7);
    }

    #[test]
    fn conjunct_counts_as_one_since_ruby_4() {
        let conjunct = "क्षत्रिय";

        assert_eq!(length(Counting::Mastodon, conjunct, ""), 3);
        assert_eq!(length(Counting::MastodonOnRuby3, conjunct, ""), 5);
        assert_eq!(length(Counting::Graphemes, conjunct, ""), 5);
    }

    #[test]
    fn url_counts_23_or_its_full_length() {
        let url = "https://example.com/a/very/long/path/to/a/lighthouse";

        assert_eq!(length(Counting::Mastodon, url, "cw"), 25);
        assert_eq!(length(Counting::Graphemes, url, "cw"), url.len() + 2);
        assert_eq!(length(Counting::CodePoints, url, "cw"), url.len() + 2);
    }
}
