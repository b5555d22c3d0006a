//! Links, with and without a scheme.

use std::ops::Range;

use linkify::{LinkFinder, LinkKind};
use url::Url;

use super::can_start_after;
use super::punctuation::is_punctuation;
use crate::top_level;

/// In bytes.
const LONGEST: usize = 8192;

pub(super) struct FoundLink {
    /// In bytes.
    pub(super) range: Range<usize>,
    /// With its scheme; percent-encoded or in punycode where the text is in another script.
    pub(super) uri: String,
}

/// In order.
pub(super) fn find(text: &str) -> impl Iterator<Item = FoundLink> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]).url_must_have_scheme(false);
    let found: Vec<_> = finder.links(text).map(|it| it.start()..it.end()).collect();
    found.into_iter().filter_map(|range| {
        let link = displayed(&text[range.clone()]);
        // A scheme further right belongs to a URL within this link, which has no scheme of its own.
        let scheme =
            link.split_once("://").map(|(scheme, _)| scheme).filter(|it| !it.contains(['.', '/', '?', '#', ':']));
        let uri = if let Some(scheme) = scheme {
            let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
            is_web.then(|| link.to_owned())?
        } else {
            let is_link = is_domain(host(link)) && can_start_after(&text[..range.start], &['(']);
            is_link.then(|| format!("https://{link}"))?
        };
        let url = Url::parse(&uri).ok().filter(Url::has_host)?;
        // As written where every server can read it, otherwise encoded.
        let uri = if uri.is_ascii() { uri } else { url.into() };
        let range = range.start..range.start + link.len();
        (uri.len() <= LONGEST).then_some(FoundLink { range, uri })
    })
}

/// How clients display a link: without its scheme, and with a long path cut off. A link that was
/// written without a scheme is displayed unchanged.
///
/// Source: `toShortUrl` of `bluesky-social/social-app`.
pub(super) fn shown(link: &str) -> String {
    let Ok(url) = Url::parse(link) else { return link.to_owned() };
    let Some(host) = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")) else {
        return link.to_owned();
    };
    let port = url.port().map_or_else(String::new, |it| format!(":{it}"));
    let path = if url.path() == "/" { "" } else { url.path() };
    let prefixed = |mark: &str, part: Option<&str>| {
        part.filter(|it| !it.is_empty()).map_or_else(String::new, |it| format!("{mark}{it}"))
    };
    // A parsed URL is ASCII.
    let path = format!("{path}{}{}", prefixed("?", url.query()), prefixed("#", url.fragment()));
    match path.get(..CUT_TO).filter(|_| LONGEST_PATH < path.len()) {
        Some(start) => format!("{host}{port}{start}..."),
        None => format!("{host}{port}{path}"),
    }
}

/// The longest path that is displayed, and the length of a longer one after it is cut.
const LONGEST_PATH: usize = 15;
const CUT_TO: usize = 13;

/// Whether a name without a scheme is a link.
fn is_domain(host: &str) -> bool {
    let named = host.rsplit_once('.').filter(|_| host.is_ascii());
    named.is_some_and(|(below, top)| !below.is_empty() && top_level::is_known(top))
}

/// The link itself, without the text after it in scripts that put no space behind a link, and
/// without the punctuation of the sentence, in any script.
fn displayed(found: &str) -> &str {
    let displayed = found.split(is_link_end).next().unwrap_or_default();
    let is_foreign = |it: char| !it.is_ascii() && is_punctuation(it);
    let trimmed = displayed.trim_end_matches(is_foreign);
    if trimmed.len() == found.len() {
        return found;
    }
    // The finder trims ASCII punctuation only at the very end. Here it was followed by characters
    // that are now removed.
    trimmed.trim_end_matches(|it| is_foreign(it) || matches!(it, '.' | ',' | ':' | ';' | '!' | '?' | '\''))
}

/// Whether a link cannot contain this character: white space, brackets and quotes around links, and
/// the full stops and brackets of scripts without spaces. Other punctuation occurs in URLs, as in
/// `Michelson–Morley_experiment`.
fn is_link_end(letter: char) -> bool {
    letter.is_whitespace()
        || matches!(letter,
            '<' | '>' | '"'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301b}' | '\u{301d}'..='\u{301f}'
            | '！' | '（' | '）' | '，' | '：' | '；' | '？' | '［' | '］' | '｛' | '｝' | '\u{ff5f}'..='\u{ff64}')
}

fn host(link: &str) -> &str {
    link.split(['/', '?', '#', ':']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(text: &str) -> Vec<(String, String)> {
        find(text).map(|it| (text[it.range].to_owned(), it.uri)).collect()
    }

    #[test]
    fn url_inside_another_belongs_to_it() {
        for text in ["example.com/login?next=https://example.org", "example.com/web/2020/https://example.org/a"] {
            assert_eq!(links(text), [(text.to_owned(), format!("https://{text}"))]);
        }
        assert_eq!(links("ftp://example.com/https://example.org"), []);
    }

    #[test]
    fn sentence_punctuation_is_not_part_of_a_link() {
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
    fn punctuation_within_a_url_belongs_to_it() {
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
    fn domain_needs_a_known_top_level_and_a_space_before_it() {
        for (text, expected) in [
            ("example.com", "example.com"),
            ("see example.co.uk/path.", "example.co.uk/path"),
            ("(bsky.app)", "bsky.app"),
            ("EXAMPLE.ORG", "EXAMPLE.ORG"),
            ("berlin.museum", "berlin.museum"),
            ("my.barclays", "my.barclays"),
        ] {
            assert_eq!(links(text), [(expected.to_owned(), format!("https://{expected}"))], "{text}");
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
    fn only_http_urls_are_links() {
        for text in ["ftp://example.com", "javascript://example.com/%0aalert(1)", "mailto:me@example.com", "https://"] {
            assert_eq!(links(text), [], "{text}");
        }
    }

    #[test]
    fn link_in_another_script_is_encoded() {
        assert_eq!(links("https://münchen.example/größe")[0].1, "https://xn--mnchen-3ya.example/gr%C3%B6%C3%9Fe");
    }

    #[test]
    fn link_is_displayed_without_scheme_and_with_a_short_path() {
        for (written, as_shown) in [
            ("https://example.com", "example.com"),
            ("https://example.com/", "example.com"),
            ("HTTP://Example.COM/A", "example.com/A"),
            ("https://example.com:8443/a?b=c#d", "example.com:8443/a?b=c#d"),
            ("https://example.com:443/a?#", "example.com/a"),
            ("https://example.com/45678901234", "example.com/45678901234"),
            ("https://example.com/23456789012345", "example.com/23456789012345"),
            ("https://example.com/234567890123456", "example.com/234567890123..."),
            ("https://example.com/?utm_source=a&utm_medium=b", "example.com?utm_source=a..."),
            ("https://example.com/путь", "example.com/%D0%BF%D1%83..."),
            ("https://münchen.example/", "xn--mnchen-3ya.example"),
            ("https://me:secret@example.com/", "example.com"),
            ("example.com/a/path/that/is/rather/long", "example.com/a/path/that/is/rather/long"),
            ("example.com:8080/a/path/that/is/rather/long", "example.com:8080/a/path/that/is/rather/long"),
        ] {
            assert_eq!(shown(written), as_shown, "{written}");
        }
    }
}
