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
        // A scheme further behind belongs to an address within this one, which has
        // no scheme of its own.
        let scheme =
            words.split_once("://").map(|(scheme, _)| scheme).filter(|it| !it.contains(['.', '/', '?', '#', ':']));
        let uri = if let Some(scheme) = scheme {
            let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
            is_web.then(|| words.to_owned())?
        } else {
            let host = host(words);
            let is_known = host.is_ascii() && top_level::is_known(host);
            (is_known && begins_behind(&text[..range.start], &['('])).then(|| format!("https://{words}"))?
        };
        let url = Url::parse(&uri).ok().filter(Url::has_host)?;
        // As it was written where a server can read it, otherwise encoded.
        let uri = if uri.is_ascii() { uri } else { url.into() };
        let range = range.start..range.start + words.len();
        (uri.len() <= LONGEST).then_some(Facet { range, leads_to: LeadsTo::Link(uri) })
    })
}

/// The link itself, without what follows it in scripts that put no space behind a
/// link, and without the punctuation of the sentence, in any script.
fn words(found: &str) -> &str {
    let words = found.split(ends_a_link).next().unwrap_or_default();
    let is_foreign = |it: char| !it.is_ascii() && is_punctuation(it);
    let trimmed = words.trim_end_matches(is_foreign);
    if trimmed.len() == found.len() {
        return found;
    }
    // The finder trims ASCII punctuation only at the very end. Here it stood before
    // something else that is now gone.
    trimmed.trim_end_matches(|it| is_foreign(it) || matches!(it, '.' | ',' | ':' | ';' | '!' | '?' | '\''))
}

/// Whether a link cannot contain this letter: white space, marks that are put
/// around links, and the full stops and brackets of scripts without spaces. Other
/// punctuation is a part of addresses, as in `Michelson–Morley_experiment`.
fn ends_a_link(letter: char) -> bool {
    letter.is_whitespace()
        || matches!(letter,
            '<' | '>' | '"'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301b}' | '\u{301d}'..='\u{301f}'
            | '！' | '（' | '）' | '，' | '：' | '；' | '？' | '［' | '］' | '｛' | '｝' | '\u{ff5f}'..='\u{ff64}')
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
    fn an_address_inside_another_belongs_to_it() {
        for text in ["example.com/login?next=https://example.org", "example.com/web/2020/https://example.org/a"] {
            assert_eq!(links(text), [(text.to_owned(), format!("https://{text}"))]);
        }
        assert_eq!(links("ftp://example.com/https://example.org"), []);
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
    fn the_punctuation_of_an_address_is_a_part_of_it() {
        for (whole, encoded) in [
            ("https://en.wikipedia.org/wiki/Michelson–Morley_experiment", "Michelson%E2%80%93Morley_experiment"),
            ("https://fr.wikipedia.org/wiki/L’Équipe", "L%E2%80%99%C3%89quipe"),
            (
                "https://ja.wikipedia.org/wiki/ジョン・レノン",
                "%E3%82%B8%E3%83%A7%E3%83%B3%E3%83%BB%E3%83%AC%E3%83%8E%E3%83%B3",
            ),
            ("https://ca.wikipedia.org/wiki/Al·lel", "Al%C2%B7lel"),
        ] {
            for (before, after) in [("", ""), ("", "…"), ("“", "”"), ("", ".」と"), ("（", "）次"), ("", "–")]
            {
                let text = format!("{before}{whole}{after}");
                let found = links(&text);
                assert_eq!(found.len(), 1, "{text}");
                assert_eq!(found[0].0, whole, "{text}");
                assert!(found[0].1.ends_with(encoded), "{found:?}");
            }
        }
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
        for text in [
            "node.js",
            "v1.2",
            "e.g.something",
            "10.0.0.1",
            "file.txt",
            "me@example.com",
            "end.Start",
            "xhttps",
            "日本example.com",
            "münchen.com",
        ] {
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
