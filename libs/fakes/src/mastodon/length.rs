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
