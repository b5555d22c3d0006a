//! Finds the entities of a text: URLs, mentions, hashtags.
//!
//! The rules are those of Mastodon's extractor, except that any last label of letters is a
//! top-level domain; Mastodon has a list of them.

use std::ops::Range;

/// A part of a text that becomes a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entity {
    /// `https://…`
    Url,
    /// `@username`, or `@username@host`
    Mention {
        /// Without the at sign.
        username: String,
        /// `None` for an account of this server.
        host: Option<String>,
    },
    /// `#Name`
    Hashtag,
}

/// The entities of a text, in order and without overlaps.
pub(crate) fn entities(text: &str) -> Vec<(Range<usize>, Entity)> {
    let mut found = Vec::new();
    let mut before = None;
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let end = match entity(before, &text[at..]) {
            Some((length, entity)) => {
                found.push((at..at + length, entity));
                at + length
            }
            None => at + next.len_utf8(),
        };
        before = text[at..end].chars().next_back();
        at = end;
    }
    found
}

/// The text in its counted form: a URL has 23 characters, and a mention has no host.
pub(crate) fn shortened(text: &str) -> String {
    let mut short = String::new();
    let mut last = 0;
    for (range, entity) in entities(text) {
        short.push_str(&text[last..range.start]);
        match entity {
            Entity::Url => short.push_str(&"x".repeat(23)),
            Entity::Mention { username, .. } => {
                short.push('@');
                short.push_str(&username);
            }
            Entity::Hashtag => short.push_str(&text[range.clone()]),
        }
        last = range.end;
    }
    short.push_str(&text[last..]);
    short
}

/// The entity that `rest` starts with, and its length in bytes.
fn entity(before: Option<char>, rest: &str) -> Option<(usize, Entity)> {
    let after_word = before.is_some_and(|it| is_word(it) || it == '/');
    match rest.as_bytes().first()? {
        b'h' | b'H' if !before.is_some_and(|it| it.is_ascii_alphanumeric() || "@＠$#＃".contains(it)) => {
            parse_url(rest).map(|length| (length, Entity::Url))
        }
        b'@' if !after_word && before != Some('=') => parse_mention(rest),
        b'#' if !after_word && !matches!(before, Some('=' | ')')) => {
            let name = prefix(&rest[1..], |it| is_word(it) || it == '·');
            let is_name = name.chars().any(char::is_alphabetic);
            is_name.then_some((1 + name.len(), Entity::Hashtag))
        }
        _ => None,
    }
}

fn parse_url(rest: &str) -> Option<usize> {
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|it| rest.get(..it.len()).is_some_and(|start| start.eq_ignore_ascii_case(it)))?;
    let after_scheme = &rest[scheme.len()..];
    let host = prefix(after_scheme, |it| it.is_alphanumeric() || "-._".contains(it)).trim_end_matches(['.', '-', '_']);
    let (_, last_label) = host.rsplit_once('.')?;
    let is_domain = last_label.starts_with("xn--") || last_label.chars().all(char::is_alphabetic);
    if !is_domain || last_label.chars().count() < 2 || host.starts_with(['.', '-']) || host.contains("..") {
        return None;
    }
    let mut end = scheme.len() + host.len();
    if let Some(port) = rest[end..].strip_prefix(':') {
        let digits = prefix(port, |it| it.is_ascii_digit()).len();
        end += if digits == 0 { 0 } else { 1 + digits };
    }
    if rest[end..].starts_with('/') {
        end += 1 + path_length(&rest[end + 1..]);
    }
    if let Some(query) = rest[end..].strip_prefix('?') {
        let chars = prefix(query, |it| {
            it.is_ascii_alphanumeric() || "!?*'();:&=+$/%#[]-_.,~|@^".contains(it) || '\u{A0}' <= it
        });
        let ends = |it: char| it.is_ascii_alphanumeric() || "_&=#/-".contains(it) || '\u{A0}' <= it;
        let query = chars.trim_end_matches(|it| !ends(it));
        end += if query.is_empty() { 0 } else { 1 + query.len() };
    }
    Some(end)
}

/// Length of the path at the start of `rest`. A path ends neither in punctuation nor inside parentheses.
fn path_length(rest: &str) -> usize {
    let mut open = Vec::new();
    let mut end = rest.len();
    for (at, char) in rest.char_indices() {
        match char {
            '(' => open.push(at),
            ')' if open.pop().is_some() => {}
            ')' | '<' | '>' | '?' => {
                end = at;
                break;
            }
            white if white.is_whitespace() => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    if let Some(unclosed) = open.first() {
        end = end.min(*unclosed);
    }
    rest[..end].trim_end_matches(|it| "!*\"'「」;:=,.$%[]~&|@".contains(it)).len()
}

fn parse_mention(rest: &str) -> Option<(usize, Entity)> {
    let username = dotted_prefix(&rest[1..], |it| it.is_ascii_alphanumeric() || it == '_');
    if username.is_empty() {
        return None;
    }
    let host =
        rest[1 + username.len()..].strip_prefix('@').map(|it| dotted_prefix(it, is_word)).filter(|it| !it.is_empty());
    let length = 1 + username.len() + host.map_or(0, |it| 1 + it.len());
    Some((length, Entity::Mention { username: username.to_owned(), host: host.map(str::to_owned) }))
}

/// Words joined by dots and hyphens, which are not at the end.
fn dotted_prefix(rest: &str, is_word: impl Fn(char) -> bool) -> &str {
    if !rest.starts_with(&is_word) {
        return "";
    }
    prefix(rest, |it| is_word(it) || ".-".contains(it)).trim_end_matches(['.', '-'])
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

fn prefix(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|it| !belongs(it)).unwrap_or(text.len())]
}
