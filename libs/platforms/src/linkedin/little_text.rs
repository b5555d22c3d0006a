//! Texts in LinkedIn's "little text" format.
//!
//! Facts: reserved characters have a meaning unless they follow a backslash; one that has no
//! meaning where it is ends the text there, and LinkedIn still returns 201. `#word` is a hashtag;
//! LinkedIn may return it as `{hashtag|\#|word}`. LinkedIn detects URLs, which are written like any
//! other text. Comments are not little text. Sources: `shares/little-text-format`;
//! brightbeanxyz/brightbean-studio 121 and gitroomhq/postiz-app 1847 (comments).

use domain::rich_text::can_start_after;

const RESERVED: &[char] = &['\\', '|', '{', '}', '@', '[', ']', '(', ')', '<', '>', '#', '*', '_', '~'];

/// The characters, other than white space, after which a hashtag may begin. None of them is common
/// inside URLs.
const BEFORE_TAGS: &[char] = &['(', '[', '"', '\'', '“', '„', '«', '‘', ',', ';', '、', '。', '\u{ff08}', '「'];

/// Writes a plain text as little text: only hashtags keep their meaning, and mentions of
/// organizations, which users write as LinkedIn does.
pub(super) fn written(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + text.len() / 16);
    let mut mention_end = 0;
    for (at, letter) in text.char_indices() {
        if at < mention_end {
            continue;
        }
        if let Some(mention) = organization_mention(&text[at..]) {
            written.push_str(mention);
            mention_end = at + mention.len();
            continue;
        }
        let begins_tag = letter == '#' && can_start_after(&text[..at], BEFORE_TAGS) && is_tag(&text[at + 1..]);
        if RESERVED.contains(&letter) && !begins_tag {
            written.push('\\');
        }
        written.push(letter);
    }
    written
}

/// The mention at the start of a text: `@[Name](urn:li:organization:1)`. The name has to be exactly
/// that of the organization; otherwise LinkedIn shows plain text.
fn organization_mention(text: &str) -> Option<&str> {
    let (name, rest) = text.strip_prefix("@[")?.split_once("](urn:li:organization:")?;
    let (id, rest) = rest.split_once(')')?;
    let is_id = (1..=20).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_digit());
    let is_name = !name.trim().is_empty() && !name.contains(RESERVED) && !name.contains('\n');
    (is_id && is_name).then(|| &text[..text.len() - rest.len()])
}

/// Whether the text begins with a word that can be a hashtag: not only digits.
fn is_tag(text: &str) -> bool {
    text.chars().take_while(|it| it.is_alphanumeric()).any(char::is_alphabetic)
}

/// A little text as readers see it, for comparison: names of mentions, and hashtags as they were
/// written.
pub(super) fn plain(little: &str) -> String {
    let mut plain = String::with_capacity(little.len());
    let mut rest = little;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        if first == '\\' {
            // Only the backslash is removed.
            let next = after.chars().next();
            plain.extend(next);
            rest = &after[next.map_or(0, char::len_utf8)..];
        } else if let Some((word, after)) = template(rest) {
            plain.push('#');
            plain.push_str(word);
            rest = after;
        } else if let Some((name, after)) = mention(rest) {
            plain.push_str(name);
            rest = after;
        } else {
            plain.push(first);
            rest = after;
        }
    }
    plain
}

/// The word of a hashtag template, and the text after it.
fn template(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(r"{hashtag|\#|")?.split_once('}')
}

/// The name in a mention, and the text after it.
fn mention(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.strip_prefix("@[")?.split_once("](urn:li:")?;
    Some((name, rest.split_once(')')?.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reserved_characters_are_escaped_and_hashtags_kept() {
        for (text, expected) in [
            ("plain & simple", "plain & simple"),
            ("a (b) [c] {d} <e> f|g~ *h* _i_ \\", r"a \(b\) \[c\] \{d\} \<e\> f\|g\~ \*h\* \_i\_ \\"),
            ("#lamp, #Leuchtturm #日本語", "#lamp, #Leuchtturm #日本語"),
            ("(#lamp) #lamp_post", r"\(#lamp\) #lamp\_post"),
            ("a#b ##c #1 # d #", r"a\#b \#\#c \#1 \# d \#"),
            ("me@example.com @you", r"me\@example.com \@you"),
            ("by @[Light & Co](urn:li:organization:12), 1", "by @[Light & Co](urn:li:organization:12), 1"),
            ("@[a_b](urn:li:organization:1)", r"\@\[a\_b\]\(urn:li:organization:1\)"),
            ("@[Ada](urn:li:person:1)", r"\@\[Ada\]\(urn:li:person:1\)"),
            ("https://example.com/a_(b)#c/#d", r"https://example.com/a\_\(b\)\#c/\#d"),
        ] {
            assert_eq!(written(text), expected, "{text}");
        }
    }

    #[test]
    fn little_text_round_trips_to_plain_text() {
        for (little, expected) in [
            (r"\(a\) \\ \#", r"(a) \ #"),
            (r"{hashtag|\#|lamp} and #lamp", "#lamp and #lamp"),
            ("@[Light & Co](urn:li:organization:1)!", "Light & Co!"),
            ("@[nobody {hashtag", "@[nobody {hashtag"),
        ] {
            assert_eq!(plain(little), expected, "{little}");
        }
    }

    proptest! {
        #[test]
        fn little_text_reads_as_written(text in "(\\PC|[\\\\|{}@\\[\\]()<>#*_~a1 \n]){0,60}") {
            prop_assert_eq!(plain(&written(&text)), text);
        }
    }
}
