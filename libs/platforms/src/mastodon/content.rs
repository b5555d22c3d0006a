//! Whether the text of a status is ours: compared with its source if the server returns that, else
//! with the HTML that the server made of it.

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::entity;
use crate::recognition::PostMatch;

/// Compares the source of a status with our text. Servers are known to trim it and to normalize its
/// characters. They may do more, so a source that differs, but has the same letters and digits, is
/// a possible match.
pub(super) fn compare_source(source: &str, ours: &str) -> PostMatch {
    let (source, ours) = (normalized(source), normalized(ours));
    let visible = |text: &str| -> String { text.chars().filter(|it| !it.is_whitespace()).collect() };
    if visible(&source) == visible(&ours) {
        return PostMatch::Equal;
    }
    let letters = |text: &str| -> String { text.chars().filter(|it| it.is_alphanumeric()).collect() };
    let ours = letters(&ours);
    if !ours.is_empty() && letters(&source) == ours { PostMatch::Possible } else { PostMatch::Different }
}

/// In Unicode's form NFC, without control characters, the symbols by which snac replaces them, and
/// variation selectors of emoji.
fn normalized(text: &str) -> String {
    let composed = ComposingNormalizerBorrowed::new_nfc().normalize(text);
    let is_visible = |it: char| !it.is_control() && !matches!(it, '\u{2400}'..='\u{2426}' | '\u{fe0e}' | '\u{fe0f}');
    composed.chars().filter(|it| is_visible(*it) || it.is_whitespace()).collect()
}

/// A text reduced to what every server leaves unchanged: no white space, no hosts of mentions, no
/// difference of case. Servers add paragraphs and breaks, shorten mentions and write names as their
/// owners write them.
pub(super) fn reduce_text(text: &str) -> String {
    remove_mention_hosts(text).chars().filter(|it| !it.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Like [`reduce_text`], for the HTML that a server made of a text.
pub(super) fn reduce_html(html: &str) -> String {
    reduce_text(&plain(html))
}

/// The text of HTML, with entities decoded. A tag that begins a line or paragraph leaves a line
/// break, so that adjacent words stay separate.
fn plain(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = if rest.starts_with('<') { tag(rest, &mut text) } else { entity(rest, &mut text) };
        rest = &rest[length..];
    }
    text.push_str(rest);
    text
}

/// Skips the tag at the start of `rest`. Returns its length in bytes.
fn tag(rest: &str, text: &mut String) -> usize {
    let Some(end) = rest.find('>') else { return rest.len() };
    let name = rest[1..end].trim_start_matches('/');
    let name = name.split(|it: char| !it.is_ascii_alphanumeric()).next().unwrap_or_default();
    if ["br", "p", "div", "li", "blockquote"].iter().any(|it| it.eq_ignore_ascii_case(name)) {
        text.push('\n');
    }
    end + 1
}

/// Writes the character of the entity at the start of `rest`, or a bare `&` if there is none.
/// Returns how many bytes were read.
fn entity(rest: &str, text: &mut String) -> usize {
    /// `&#x10FFFF;` is the longest entity that has to be read.
    const LONGEST: usize = 10;

    let end = rest.char_indices().take(LONGEST).find(|(_, it)| *it == ';').map(|(at, _)| at);
    let decoded = end.and_then(|end| Some((entity::letter(&rest[1..end])?, end)));
    let (letter, length) = decoded.map_or(('&', 1), |(letter, end)| (letter, end + 1));
    text.push(letter);
    length
}

/// Replaces every `@user@host` by `@user`. It may treat more text as a mention than a server does,
/// which is harmless, because both texts are reduced alike.
fn remove_mention_hosts(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let user = at + 1 + name_length(&rest[at + 1..]);
        short.push_str(&rest[..user]);
        rest = &rest[user..];
        if at + 1 < user && rest.starts_with('@') {
            let host = name_length(&rest[1..]);
            rest = if host == 0 { rest } else { &rest[1 + host..] };
        }
    }
    short.push_str(rest);
    short
}

/// The length of a name in bytes: letters and digits, with dots and hyphens between them.
fn name_length(text: &str) -> usize {
    let part = |it: char| it.is_alphanumeric() || matches!(it, '_' | '.' | '-');
    let end = text.find(|it| !part(it)).unwrap_or(text.len());
    text[..end].trim_end_matches(['.', '-']).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_recognized_in_its_html() {
        for (text, html) in [
            ("Hello", "<p>Hello</p>"),
            ("a <b> & \"c\"\nd\n\n\ne's ", "<p>a &lt;b&gt; &amp; &quot;c&quot;<br />d</p><p>e&#39;s</p>"),
            ("a & b", "a &#38; &#x62;"),
            ("fish&chips; &copy; &", "<p>fish&amp;chips; &amp;copy; &amp;</p>"),
            (
                "See https://www.example.com/a?b=1&c=2345678901234567890.",
                "<p>See <a href=\"https://www.example.com/a?b=1&amp;c=2345678901234567890\" rel=\"nofollow\">\
                 <span class=\"invisible\">https://www.</span><span class=\"ellipsis\">example.com/a?b=1&amp;c=2345678901\
                 </span><span class=\"invisible\">234567890</span></a>.</p>",
            ),
            (
                "@bob@example.social, @nobody@far.example. #Meer",
                "<p><span class=\"h-card\"><a href=\"https://example.social/@bob\">@<span>Bob</span></a></span>, \
                 @nobody@far.example. <a href=\"/tags/meer\">#<span>Meer</span></a></p>",
            ),
            ("@bob\n@example.social", "<p>@bob<br>@example.social</p>"),
            ("me@example.com", "<p>me@example.com</p>"),
            ("Ελληνικά 👨‍👩‍👧‍👦 日本語", "<p>Ελληνικά 👨‍👩‍👧‍👦 日本語</p>"),
            ("", ""),
        ] {
            assert_eq!(reduce_html(html), reduce_text(text), "{text}");
        }
    }

    #[test]
    fn source_is_compared_by_its_letters() {
        for (source, ours, post_match) in [
            ("Hello", "Hello", PostMatch::Equal),
            ("Hello\nworld", "  Hello\r\nworld \n", PostMatch::Equal),
            ("\u{e9}t\u{e9}", "e\u{301}te\u{301}", PostMatch::Equal),
            ("<3 and __init__ and 3 * 4 * 5", "<3 and __init__ and 3 * 4 * 5", PostMatch::Equal),
            ("a\u{2407}b", "a\u{7}b", PostMatch::Equal),
            ("Hello!", "Hello", PostMatch::Possible),
            ("3 4 5", "3 * 4 * 5", PostMatch::Possible),
            ("🎂", "🎉", PostMatch::Different),
            ("❤", "❤\u{fe0f}", PostMatch::Equal),
            ("hello", "Hello", PostMatch::Different),
            ("Post 5 of 12", "Post 7 of 12", PostMatch::Different),
            ("Hello, world", "Hello", PostMatch::Different),
            ("", "Hello", PostMatch::Different),
        ] {
            assert_eq!(compare_source(source, ours), post_match, "{source:?} {ours:?}");
        }
    }

    #[test]
    fn different_texts_do_not_match() {
        for (text, html) in [
            ("Hello", "<p>Hello!</p>"),
            ("Hello", "<p>Hell</p>"),
            ("a", "<p>&lt;a&gt;</p>"),
            ("@bob@example.social", "<p>@rob</p>"),
            ("https://example.com/1", "<p>https://example.com/2</p>"),
        ] {
            assert_ne!(reduce_html(html), reduce_text(text), "{text}");
        }
    }

    #[test]
    fn truncated_html_is_parsed() {
        for html in ["<p", "<", "&", "&#", "&#x110000;", "&é;", "a<b", "@", "@@", "@a@", "<>", "</>"] {
            let _ = reduce_html(html);
        }
    }
}
