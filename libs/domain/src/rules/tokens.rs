use std::ops::Range;

use super::mentions::is_word;
use super::weighted;

/// The links, with a scheme or without, in order.
pub(super) fn links(text: &str) -> impl Iterator<Item = Range<usize>> {
    weighted::addresses(text).into_iter()
}

/// The number of hashtags: `#` and a word that is not only digits. The next may follow without a
/// space.
pub(super) fn hashtags(text: &str) -> usize {
    let is_tag = |word: &str| word.chars().any(|it| !it.is_numeric());
    outside_of_links(text).map(|part| words_after_mark(part, &['#', '＃'], true).filter(|it| is_tag(it)).count()).sum()
}

pub(super) fn mentions(text: &str) -> usize {
    outside_of_links(text).map(|part| words_after_mark(part, &['@', '＠'], false).count()).sum()
}

fn outside_of_links(text: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    let ends = links(text).chain(std::iter::once(text.len()..text.len()));
    ends.map(move |link| {
        let part = &text[start..link.start];
        start = link.end;
        part
    })
}

/// The words after one of these marks. The mark may not be within a word; it may be directly after
/// a marked word if `joined`.
fn words_after_mark<'t>(text: &'t str, marks: &'static [char], joined: bool) -> impl Iterator<Item = &'t str> {
    let mut end = None;
    text.match_indices(marks).filter_map(move |(at, mark)| {
        let is_within = |it| is_word(it) || matches!(it, '&' | '/' | '@' | '#');
        let is_within_word = text[..at].chars().next_back().is_some_and(is_within) && !(joined && end == Some(at));
        let start = at + mark.len();
        let word = &text[start..start + text[start..].find(|it| !is_word(it)).unwrap_or(text.len() - start)];
        let is_marked = !is_within_word && !word.is_empty();
        end = is_marked.then_some(start + word.len());
        is_marked.then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hashtags_are_words_after_a_mark() {
        for (text, count) in [
            ("", 0),
            ("#one #Two, (#three)", 3),
            ("#тег #日本語 ＃タグ #a_b #1st", 5),
            ("#123 # #! a#b &#39; ##x", 0),
            ("https://example.com/#tag example.com/#tag", 0),
            ("#one#two", 2),
            ("a#one#two", 0),
        ] {
            assert_eq!(hashtags(text), count, "{text}");
        }
    }

    #[test]
    fn mentions_are_names_after_a_mark() {
        for (text, count) in [
            ("@one @two_2, (@three)", 3),
            ("me@example.com @ a@b", 0),
            ("https://example.com/@one", 0),
            ("@one@two", 1),
        ] {
            assert_eq!(mentions(text), count, "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_has_at_most_one_token_for_each_mark(text in "(\\PC|#|@|a|https://example\\.com/| ){0,40}") {
            prop_assert!(hashtags(&text) <= text.matches(['#', '＃']).count());
            prop_assert!(mentions(&text) <= text.matches(['@', '＠']).count());
        }
    }
}
