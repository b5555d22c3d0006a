/// The longest host name in characters; with a longer one, it is no mention. Source: RFC 1035,
/// section 2.3.4, without the length bytes at both ends.
const LONGEST_HOST: usize = 253;

/// Replaces every `@user@host` by `@user`.
///
/// Source: `MENTION_RE` of Mastodon, which counts mentions in this way.
pub(super) fn shortened(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let preceding = short.chars().next_back().filter(|_| at == 0).or_else(|| rest[..at].chars().next_back());
        let (mention, host) = if preceding.is_some_and(|it| is_word(it) || matches!(it, '=' | '/')) {
            (1, 0)
        } else {
            mention(&rest[at..])
        };
        short.push_str(&rest[..at + mention]);
        rest = &rest[at + mention + host..];
    }
    short.push_str(rest);
    short
}

/// The bytes to keep, and the bytes to drop after them, of a text that starts with `@`.
fn mention(rest: &str) -> (usize, usize) {
    let user = 1 + name_length(&rest[1..], |it| it.is_ascii_alphanumeric() || it == '_');
    if user == 1 || !rest[user..].starts_with('@') {
        return (user, 0);
    }
    let host = name_length(&rest[user + 1..], is_word);
    let end = user + 1 + host;
    let is_continued = rest[end..].starts_with(['@', '＠']) || rest[end..].starts_with("://");
    let is_too_long = LONGEST_HOST < rest[user + 1..end].chars().count();
    if host == 0 || is_continued || is_too_long { (end, 0) } else { (user, 1 + host) }
}

/// The bytes of the name at the start: characters for which `is_part` is true, with dots and
/// hyphens between them.
fn name_length(rest: &str, is_part: impl Fn(char) -> bool) -> usize {
    let mut length = 0;
    for (at, it) in rest.char_indices() {
        if is_part(it) {
            length = at + it.len_utf8();
        } else if length == 0 || !matches!(it, '.' | '-') {
            break;
        }
    }
    length
}

pub(super) fn is_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn mention_is_shortened_to_its_username() {
        for (text, short) in [
            ("@alice@example.com", "@alice"),
            ("hi @alice@example.com!", "hi @alice!"),
            ("(@alice@example.com)", "(@alice)"),
            ("@alice@example.com.", "@alice."),
            ("@a.b-c_d@sub.example-1.com and @b@c.example", "@a.b-c_d and @b"),
            ("@alice@münchen.example", "@alice"),
            ("見て、@alice@example.com", "見て、@alice"),
            ("@alice@localhost", "@alice"),
        ] {
            assert_eq!(shortened(text), short);
        }
    }

    #[test]
    fn text_without_a_valid_mention_is_unchanged() {
        for text in [
            "me@example.com",
            "me@alice@example.com",
            "私@alice@example.com",
            "@alice",
            "@alice and @bob",
            "@alice@",
            "@@example.com",
            "@",
            "a/@alice@example.com",
            "a=@alice@example.com",
            "@a@b@c",
            "@alice@https://example.com",
            "@アリス@example.com",
            &format!("@alice@{}.com", "b".repeat(500)),
        ] {
            assert_eq!(shortened(text), text);
        }
    }

    proptest! {
        #[test]
        fn text_never_gets_longer(words in "(\\PC|@|@a@b\\.example|\\.){0,40}") {
            prop_assert!(shortened(&words).len() <= words.len());
        }

        #[test]
        fn text_without_mentions_stays(words in "[^@]*") {
            prop_assert_eq!(shortened(&words), words);
        }
    }
}
