//! How long a text is to a server.

use unicode_segmentation::UnicodeSegmentation;

use super::entities::shortened;
use super::flavour::Counting;

/// The characters of a status and its warning, as they are counted there.
pub(crate) fn length(counting: Counting, status: &str, spoiler: &str) -> usize {
    match counting {
        Counting::Mastodon => format!("{spoiler}{}", shortened(status)).graphemes(true).count(),
        Counting::Graphemes => format!("{spoiler}{status}").graphemes(true).count(),
        Counting::CodePoints => status.chars().count() + spoiler.chars().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_one_character_or_seven() {
        let family = "👨‍👩‍👧‍👦";

        assert_eq!(length(Counting::Mastodon, family, ""), 1);
        assert_eq!(length(Counting::CodePoints, family, ""), 7);
    }

    #[test]
    fn a_url_counts_23_or_all_that_it_has() {
        let url = "https://example.com/a/very/long/path/to/a/lighthouse";

        assert_eq!(length(Counting::Mastodon, url, "cw"), 25);
        assert_eq!(length(Counting::Graphemes, url, "cw"), url.len() + 2);
        assert_eq!(length(Counting::CodePoints, url, "cw"), url.len() + 2);
    }
}
