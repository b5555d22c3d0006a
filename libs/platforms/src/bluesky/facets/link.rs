//! Links.

use linkify::{LinkFinder, LinkKind};
use url::Url;

use super::punctuation::is_punctuation;
use super::{Facet, LeadsTo, begins_behind, top_level};

/// The longest that a record takes, in bytes.
const LONGEST: usize = 8192;

pub(super) fn find(text: &str) -> impl Iterator<Item = Facet> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]).url_must_have_scheme(false);
    let found: Vec<_> = finder.links(text).map(|it| it.start()..it.end()).collect();
    found.into_iter().filter_map(|range| {
        let words = words(&text[range.clone()]);
        let uri = if let Some((scheme, _)) = words.split_once("://") {
            let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
            is_web.then(|| words.to_owned())?
        } else {
            let is_known = begins_behind(&text[..range.start], &['(']) && top_level::is_known(host(words));
            is_known.then(|| format!("https://{words}"))?
        };
        let url = Url::parse(&uri).ok().filter(Url::has_host)?;
        // As it was written where a server can read it, otherwise encoded.
        let uri = if uri.is_ascii() { uri } else { url.into() };
        let range = range.start..range.start + words.len();
        (uri.len() <= LONGEST).then_some(Facet { range, leads_to: LeadsTo::Link(uri) })
    })
}

/// Without what follows in texts that put no space behind a link, and without
/// the punctuation of the sentence in any script.
fn words(found: &str) -> &str {
    let found = found.split(char::is_whitespace).next().unwrap_or_default();
    let is_foreign = |it: char| !it.is_ascii() && is_punctuation(it);
    found.split(is_foreign).next().unwrap_or_default()
}

fn host(words: &str) -> &str {
    words.split(['/', '?', '#', ':']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(text: &str) -> Vec<(String, String)> {
        let written = |it: Facet| match it.leads_to {
            LeadsTo::Link(uri) => (text[it.range].to_owned(), uri),
            other => panic!("{other:?}"),
        };
        find(text).map(written).collect()
    }

    #[test]
    fn the_sentence_around_a_link_is_not_a_part_of_it() {
        let whole = "https://example.com/a?b=c";
        for (before, after) in [
            ("", ""),
            ("", "."),
            ("", ", and"),
            ("", "!"),
            ("", ";"),
            ("(", ")"),
            ("(see ", ")."),
            ("[", "]"),
            ("«", "»"),
            ("\"", "\""),
            ("'", "'"),
            ("<", ">"),
            ("見て", "。次"),
            ("「", "」"),
            ("", "、"),
            ("", "\u{3000}次"),
            ("", "؟"),
        ] {
            let text = format!("{before}{whole}{after}");
            assert_eq!(links(&text), [(whole.to_owned(), whole.to_owned())], "{text}");
        }
        let game = "https://example.com/Link_(game)";
        assert_eq!(links(&format!("({game})"))[0].0, game);
    }

    #[test]
    fn a_domain_needs_a_known_top_level_and_a_space_before_it() {
        for (text, words) in [
            ("example.com", "example.com"),
            ("see example.co.uk/path.", "example.co.uk/path"),
            ("(bsky.app)", "bsky.app"),
            ("EXAMPLE.ORG", "EXAMPLE.ORG"),
        ] {
            assert_eq!(links(text), [(words.to_owned(), format!("https://{words}"))], "{text}");
        }
        for text in
            ["node.js", "v1.2", "e.g.something", "10.0.0.1", "file.txt", "me@example.com", "end.Start", "xhttps"]
        {
            assert_eq!(links(text), [], "{text}");
        }
    }

    #[test]
    fn only_pages_are_links() {
        for text in ["ftp://example.com", "javascript://example.com/%0aalert(1)", "mailto:me@example.com", "https://"] {
            assert_eq!(links(text), [], "{text}");
        }
    }

    #[test]
    fn a_link_in_another_script_is_written_so_that_every_server_reads_it() {
        assert_eq!(links("https://münchen.example/größe")[0].1, "https://xn--mnchen-3ya.example/gr%C3%B6%C3%9Fe");
    }
}
