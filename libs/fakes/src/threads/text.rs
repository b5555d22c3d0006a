//! Length and links of a text.

use std::collections::BTreeSet;

use unicode_segmentation::UnicodeSegmentation;

/// "Emojis are counted as the number of UTF-8 bytes." An emoji includes its whole grapheme cluster.
pub(super) fn length(text: &str) -> usize {
    let of_cluster = |it: &str| if it.chars().any(is_emoji) { it.len() } else { it.chars().count() };
    text.graphemes(true).map(of_cluster).sum()
}

/// Pictographs, flags, and characters with an emoji variation selector.
fn is_emoji(letter: char) -> bool {
    matches!(letter, '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{fe0f}' | '\u{20e3}')
}

/// Number of different links in a text and its attachment.
pub(super) fn links(text: &str, attached: Option<&str>) -> usize {
    let is_link = |it: &&str| ["https://", "http://", "www."].iter().any(|start| it.starts_with(start));
    let mut links: BTreeSet<&str> = text.split_whitespace().filter(is_link).collect();
    links.extend(attached);
    links.len()
}
