use domain::rich_text::can_start_after;

use super::facet::{Facet, Feature};
use crate::bluesky::names::Handle;

pub(super) fn find(text: &str) -> impl Iterator<Item = Facet> {
    text.match_indices('@').filter(|(at, _)| can_start_after(&text[..*at], &['('])).filter_map(|(at, mark)| {
        let rest = &text[at + mark.len()..];
        let end = rest.find(|it: char| !matches!(it, 'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.'));
        // A full stop at the end belongs to the sentence, not to the handle.
        let written = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', '-']);
        let handle: Handle = written.to_ascii_lowercase().parse().ok()?;
        let range = at..at + mark.len() + written.len();
        Some(Facet { range, leads_to: Feature::Mention(handle) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mentions(text: &str) -> Vec<&str> {
        find(text).map(|it| &text[it.range]).collect()
    }

    #[test]
    fn mention_needs_a_whole_handle() {
        assert_eq!(mentions("@alice.bsky.social"), ["@alice.bsky.social"]);
        assert_eq!(mentions("(@Alice.test), @bob.test."), ["@Alice.test", "@bob.test"]);
        assert_eq!(mentions("@bob.test's and @bob.test!"), ["@bob.test", "@bob.test"]);
        for text in ["@alice", "me@example.com", "@@bob.test", "@-bob.test", "@bob..test", "@ bob.test", "a@bob.test"] {
            assert_eq!(mentions(text), Vec::<&str>::new(), "{text}");
        }
    }
}
