use std::ops::Range;

use linkify::{LinkFinder, LinkKind};

/// The longest link in bytes. Networks that count links specially treat anything longer as text.
/// Source: `MAX_URL_LENGTH` of twitter-text, with which Mastodon finds the links of a post.
const LONGEST: usize = 4096;

/// Punctuation that ends a host name in texts that put no space behind it.
const SENTENCE_MARKS: &str = "。、，．！？：；）」』】〉》…—–”’»";

/// Characters, in addition to letters and digits, after which a scheme does not start a link.
const GLUE: &str = "@＠#＃$";

/// The links of a text in order, as byte ranges that do not overlap. A link has the scheme `http`
/// or `https` and a host name with a dot. The punctuation of the sentence around it is excluded.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    let mut found = Vec::new();
    let mut from = 0;
    for (colon, mark) in text.match_indices("://") {
        let Some(scheme) = text.get(from..colon).and_then(scheme) else { continue };
        let (start, host) = (colon - scheme.len(), colon + mark.len());
        let Some(host_length) = host_length(&text[host..]) else { continue };
        let tail = host + host_length;
        if text[tail..].starts_with('@') {
            continue; // It was a user's name, and there is no telling what follows.
        }
        let end = tail + tail_length(&finder, &text[tail..]);
        from = end;
        if end - start <= LONGEST {
            found.push(start..end);
        }
    }
    found
}

fn scheme(before: &str) -> Option<&str> {
    ["https", "http"].into_iter().find_map(|name| {
        let at = before.len().checked_sub(name.len())?;
        let scheme = before.get(at..).filter(|it| it.eq_ignore_ascii_case(name))?;
        let is_blocking = |it: char| it.is_ascii_alphanumeric() || GLUE.contains(it);
        (!before[..at].ends_with(is_blocking)).then_some(scheme)
    })
}

/// The bytes of the host name at the start; `None` if there is no name with a dot, or an IP
/// address.
fn host_length(rest: &str) -> Option<usize> {
    let ends = |it: char| match it {
        '-' | '.' | '_' => false,
        _ if it.is_ascii() => !it.is_ascii_alphanumeric(),
        _ => it.is_whitespace() || SENTENCE_MARKS.contains(it),
    };
    let host = rest.split(ends).next()?.trim_end_matches(['-', '.']);
    let (below, top) = host.rsplit_once('.')?;
    if below.split('.').any(str::is_empty) {
        return None;
    }
    let first_beyond_ascii = top.find(|it: char| !it.is_ascii()).unwrap_or(top.len());
    match first_beyond_ascii {
        0 => Some(host.len()),
        // A version such as v1.1, or an IP address such as 10.0.0.10.
        1 => None,
        _ if top.starts_with(|it: char| it.is_ascii_digit()) => None,
        // No top-level domain mixes ASCII with another script. Where the other script starts, a
        // sentence continues that has no space behind the link.
        length => Some(below.len() + 1 + length),
    }
}

fn tail_length(finder: &LinkFinder, rest: &str) -> usize {
    let port = |it: &str| it.starts_with(|it: char| it.is_ascii_digit());
    if !rest.starts_with(['/', '?']) && !rest.strip_prefix(':').is_some_and(port) {
        return 0;
    }
    // One character more than the longest link shows that a link is too long. The text is cut at
    // white space first, because the finder treats the spaces of other scripts as part of a link.
    let rest = &rest[..rest.floor_char_boundary(LONGEST + 4)];
    let rest = rest.split(char::is_whitespace).next().unwrap_or_default();
    // The finder knows no top-level domains in other scripts either, so it receives this host
    // instead of the real one.
    let host = "http://host.example";
    let link = finder.links(&format!("{host}{rest}")).next().map(|it| it.end());
    link.map_or(0, |it| it.saturating_sub(host.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn links(text: &str) -> Vec<&str> {
        find(text).into_iter().map(|it| &text[it]).collect()
    }

    #[test]
    fn link_has_a_scheme_and_a_host_with_a_dot() {
        for link in [
            "https://example.com",
            "http://example.com/",
            "HTTPS://EXAMPLE.COM/A",
            "https://example.com:8080/a?b=c#d",
            "https://example.com?q=1",
            "https://www.münchen.example/größe",
            "https://пример.рф/путь",
            "https://हिन्दी.भारत/पथ",
            "https://xn--e1afmkfd.xn--p1ai/x",
            "https://例え.jp/日本語/漢字",
            "https://good.example/@user@other.example/1",
        ] {
            assert_eq!(links(link), [link]);
            assert_eq!(links(&format!("see {link} and {link}")), [link, link]);
        }
        for text in [
            "example.com/a",
            "www.example.com",
            "ftp://example.com/a",
            "xhttp://example.com",
            "1http://example.com",
            "#http://example.com",
            "http://localhost:3000/path",
            "https://127.0.0.1/path",
            "https://10.0.0.10/path",
            "https://v1.1/path",
            "https://a.b/path",
            "https://.example/path",
            "https://a..example/path",
            "https://-",
            "https://user:password@example.com/path",
            "https://user.name@example.com/path",
            "https://",
            "://example.com",
            "mailto:me@example.com",
        ] {
            assert_eq!(links(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn sentence_punctuation_is_not_part_of_a_link() {
        for link in ["https://example.com", "https://example.com/a", "https://example.com/a?b=c"] {
            for after in [".", ",", "!", "?", ":", ";", "...", ".)", ") and", "]", "\"", "'", ">", "\u{3000}次", "\n"]
            {
                assert_eq!(links(&format!("{link}{after}")), [link], "{after:?}");
            }
            for (open, close) in [("(", ")"), ("[", "]"), ("<", ">"), ("\"", "\""), ("'", "'"), ("(see ", ")")] {
                assert_eq!(links(&format!("{open}{link}{close}")), [link], "{open}{close}");
            }
        }
        let with_brackets = "https://example.com/Link_(game)";
        assert_eq!(links(&format!("({with_brackets})")), [with_brackets]);
        assert_eq!(links("end.https://example.com/a"), ["https://example.com/a"]);
        assert_eq!(links("見てhttps://example.com/a"), ["https://example.com/a"]);
    }

    #[test]
    fn host_ends_where_text_without_spaces_continues() {
        for after in ["。次の文", "。バージョン1.0の", "です。", "を見て", "…", "—", "🎉", "」と"]
        {
            let text = format!("https://example.com{after}https://other.example/a");
            assert_eq!(links(&text), ["https://example.com", "https://other.example/a"], "{after}");
        }
    }

    #[test]
    fn host_in_another_script_ends_at_a_sentence_mark() {
        assert_eq!(links("https://пример.рф。次"), ["https://пример.рф"]);
    }

    #[test]
    fn too_long_url_is_not_a_link() {
        let link = |length: usize| format!("https://example.com/{}", "a".repeat(length - 20));
        assert_eq!(links(&link(4096)).len(), 1);
        assert_eq!(links(&link(4097)).len(), 0);
        assert_eq!(links(&link(65_000)).len(), 0);
    }

    proptest! {
        #[test]
        fn links_of_any_text_are_in_order(text in "(\\PC|http://|https://|\\.|/|a\\.example|\u{3000}| ){0,40}") {
            let mut end = 0;
            for link in find(&text) {
                prop_assert!(end <= link.start && link.start < link.end);
                end = link.end;
                let lower = text[link].to_lowercase();
                prop_assert!(lower.starts_with("http://") || lower.starts_with("https://"));
                prop_assert!(!lower.contains(char::is_whitespace));
            }
        }
    }
}
