//! Finding the URLs that X turns into links, with a scheme and without.
//!
//! Source: `extractUrlsWithIndices` of twitter-text. Linear time: each character is read a fixed
//! number of times.

use std::ops::Range;

use super::domain_name::{Run, glues, is_accented, is_letter};

/// The longest URL in UTF-16 units, including a scheme.
const LONGEST: usize = 4096;

/// The longest path after `t.co/`.
const LONGEST_SHORTENED: usize = 40;

/// The URLs of a text in order, as byte ranges that do not overlap.
pub(crate) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // Where the search for the next run starts, and the end of the last URL.
    let (mut at, mut floor) = (0, 0);
    while let Some(run) = next_run(text, at) {
        at = run.end;
        // Nothing without a dot is a URL.
        if !text[run.clone()].contains('.') {
            continue;
        }
        let letters = Run::parse(text, run.clone());
        while let Some((domain, before)) = letters.first(floor) {
            let scheme = (domain.range.start == run.start).then(|| scheme(text, run.start, floor)).flatten();
            let tail = if domain.range.end == run.end { Tail::parse(&text[run.end..]) } else { Tail::NONE };
            let start = scheme.unwrap_or(domain.range.start);
            let end = domain.range.end + tail.length;
            floor = end;
            at = at.max(end);
            let units = text[start..end].encode_utf16().count() + scheme.map_or(8, |it| domain.range.start - it);
            if LONGEST < units || !letters.is_well_formed(&domain) {
                continue;
            }
            if scheme.is_some() {
                let is_shortened = text[domain.range.clone()].eq_ignore_ascii_case("t.co");
                let shortened = if is_shortened { shortened(&text[domain.range.end..end]) } else { ShortLink::No };
                match shortened {
                    ShortLink::No => found.push(start..end),
                    ShortLink::Yes(length) => found.push(start..domain.range.end + length),
                    ShortLink::TooLong => {}
                }
            } else if !before.is_some_and(|it| matches!(it, '-' | '_' | '.' | '/')) {
                let mut domains = letters.latin_domains(&domain);
                if let Some(last) = domains.last_mut().filter(|_| tail.has_path) {
                    last.end = end;
                }
                found.append(&mut domains);
            }
        }
    }
    found
}

/// The next letters, hyphens, underscores and dots without anything between them.
fn next_run(text: &str, from: usize) -> Option<Range<usize>> {
    let is_part = |it: char| is_letter(it) || matches!(it, '-' | '_' | '.');
    let start = from + text[from..].find(is_part)?;
    let end = text[start..].find(|it| !is_part(it)).map_or(text.len(), |it| start + it);
    Some(start..end)
}

/// The start of a scheme that ends at `end`, if it may start there.
fn scheme(text: &str, end: usize, floor: usize) -> Option<usize> {
    let written = ["https://", "http://"].into_iter().find(|it| {
        let start = end.checked_sub(it.len());
        start.and_then(|start| text.get(start..end)).is_some_and(|written| written.eq_ignore_ascii_case(it))
    })?;
    let start = end - written.len();
    let is_free = match text[..start].chars().next_back() {
        None => true,
        Some(it) => floor + it.len_utf8() <= start && !glues(it),
    };
    is_free.then_some(start)
}

#[derive(Clone, Copy, Debug)]
struct Tail {
    /// In bytes.
    length: usize,
    has_path: bool,
}

impl Tail {
    const NONE: Self = Self { length: 0, has_path: false };

    fn parse(text: &str) -> Self {
        let port = text.strip_prefix(':').map_or(0, |it| prefix_len(it, |it| it.is_ascii_digit()));
        let port = if port == 0 { 0 } else { 1 + port };
        let path = text[port..].strip_prefix('/').map_or(0, |it| 1 + path_length(it));
        let query = text[port + path..].strip_prefix('?').map_or(0, query_length);
        let query = if query == 0 { 0 } else { 1 + query };
        Self { length: port + path + query, has_path: path != 0 }
    }
}

/// The length of the path that starts after the slash. The punctuation at its end is excluded;
/// balanced brackets are included.
fn path_length(text: &str) -> usize {
    let (mut at, mut end) = (0, 0);
    while let Some(letter) = text[at..].chars().next() {
        if is_path_char(letter) {
            at += letter.len_utf8();
            if can_end_path(letter) {
                end = at;
            }
        } else if let Some(length) = brackets(&text[at..]) {
            // After punctuation, brackets belong to the path only if a word follows them.
            end = if at == end { at + length } else { end };
            at += length;
        } else {
            break;
        }
    }
    end
}

/// Non-empty brackets, with at most one nested pair.
fn brackets(text: &str) -> Option<usize> {
    let outer = text.strip_prefix('(')?;
    let inner_len = prefix_len(outer, is_path_char);
    let behind = &outer[inner_len..];
    let behind = if let Some(inner) = behind.strip_prefix('(') {
        let inner_len = prefix_len(inner, is_path_char);
        let behind = inner[inner_len..].strip_prefix(')').filter(|_| inner_len != 0)?;
        behind[prefix_len(behind, is_path_char)..].strip_prefix(')')?
    } else {
        behind.strip_prefix(')').filter(|_| inner_len != 0)?
    };
    Some(text.len() - behind.len())
}

fn query_length(text: &str) -> usize {
    let query = &text[..prefix_len(text, is_query_char)];
    query.rfind(can_end_query).map_or(0, |it| it + 1)
}

/// Classification of a URL of `t.co`, X's own link shortener.
enum ShortLink {
    /// No path: an ordinary domain.
    No,
    /// A link that ends so many bytes after the domain.
    Yes(usize),
    /// No link at all.
    TooLong,
}

fn shortened(tail: &str) -> ShortLink {
    let Some(path) = tail.strip_prefix('/') else { return ShortLink::No };
    let name = prefix_len(path, |it| it.is_ascii_alphanumeric());
    if name == 0 {
        return ShortLink::No;
    }
    if LONGEST_SHORTENED < name {
        return ShortLink::TooLong;
    }
    let query = path[name..].strip_prefix('?').map_or(0, query_length);
    ShortLink::Yes(1 + name + if query == 0 { 0 } else { 1 + query })
}

fn prefix_len(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|it| !is_part(it)).unwrap_or(text.len())
}

/// Source: `validGeneralUrlPathChars` of twitter-text.
fn is_path_char(letter: char) -> bool {
    is_word(letter) || "!*';:=+,.$/%#[]-–_~@|&".contains(letter)
}

/// Source: `validUrlPathEndingChars` of twitter-text.
fn can_end_path(letter: char) -> bool {
    is_word(letter) || matches!(letter, '+' | '-' | '=' | '_' | '#' | '/')
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '\u{400}'..='\u{4ff}') || is_accented(letter)
}

/// Source: `validUrlQueryChars` of twitter-text.
fn is_query_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "!?*'@();:&=+$/%#[]-_.,~|".contains(letter)
}

/// Source: `validUrlQueryEndingChars` of twitter-text.
fn can_end_query(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '&' | '=' | '#' | '/')
}
