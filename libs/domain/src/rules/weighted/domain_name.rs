//! Domain names in a text, with or without a scheme before them.

use std::ops::Range;

use crate::top_level;

/// The longest label in bytes, in punycode (RFC 1035, section 2.3.4).
const LONGEST_LABEL: usize = 63;

/// The most characters of a top-level domain that are compared. The longest has 18 letters, or 24
/// in punycode.
const LONGEST_TOP_LEVEL: usize = 24;

#[derive(Clone, Copy, Debug)]
struct Label {
    start: usize,
    end: usize,
    /// Neither end is a hyphen or an underscore, so it may precede the domain.
    is_sub: bool,
    /// Position of its last underscore. The label before the top level has none.
    underscore: Option<usize>,
    /// End of a top-level domain at the start of the label.
    top_end: Option<usize>,
    /// The last label before which a domain that starts with this one can end.
    reach: Option<usize>,
    is_ascii: bool,
}

/// Letters without a space, some of which may be domains.
#[derive(Debug)]
pub(super) struct Run<'t> {
    text: &'t str,
    labels: Vec<Label>,
}

/// A domain in a run: the first label and the last, and where it starts and ends.
#[derive(Clone, Debug)]
pub(super) struct DomainMatch {
    first: usize,
    last: usize,
    pub(super) range: Range<usize>,
}

impl<'t> Run<'t> {
    pub(super) fn parse(text: &'t str, range: Range<usize>) -> Self {
        let mut labels: Vec<Label> = Vec::new();
        let mut start = range.start;
        for label in text[range.clone()].split('.') {
            let end = start + label.len();
            labels.push(Label::parse(text, start..end));
            start = end + 1;
        }
        for index in (0..labels.len().saturating_sub(1)).rev() {
            let (label, next) = (labels[index], labels[index + 1]);
            let next_reach = next.reach.filter(|_| label.is_sub);
            let own_reach = next.top_end.filter(|_| label.is_name(label.start)).map(|_| index + 1);
            labels[index].reach = next_reach.or(own_reach);
        }
        Self { text, labels }
    }

    /// The first domain at or after `floor`, and the letter before it, which must permit a domain;
    /// `None` at the start of the text.
    pub(super) fn first(&self, floor: usize) -> Option<(DomainMatch, Option<char>)> {
        if let Some(found) = self.first_at_text_start(floor) {
            return Some(found);
        }
        let done = self.labels.partition_point(|it| it.end <= floor);
        self.labels.iter().enumerate().skip(done).find_map(|(index, label)| {
            let mut before = self.text[..label.start].chars().next_back();
            self.text[label.start..label.end].char_indices().find_map(|(at, letter)| {
                let start = label.start + at;
                let preceding = before.replace(letter)?;
                let is_free = floor + preceding.len_utf8() <= start && !glues(preceding);
                let found = is_free.then(|| self.domain_at(index, start)).flatten()?;
                Some((found, Some(preceding)))
            })
        })
    }

    /// A domain at the start of the text. Where possible, the first letter is treated as the one
    /// before the domain.
    fn first_at_text_start(&self, floor: usize) -> Option<(DomainMatch, Option<char>)> {
        let is_at_start = floor == 0 && self.labels.first().is_some_and(|it| it.start == 0);
        let first = self.text.chars().next().filter(|_| is_at_start)?;
        let found = if glues(first) { None } else { self.domain_at(0, first.len_utf8()) };
        found.map(|it| (it, Some(first))).or_else(|| Some((self.domain_at(0, 0)?, None)))
    }

    /// The longest domain that starts here, in this label.
    fn domain_at(&self, index: usize, start: usize) -> Option<DomainMatch> {
        let (label, next) = (self.labels.get(index)?, self.labels.get(index + 1)?);
        let letters = self.text.get(start..label.end)?;
        let is_part = |it: Option<char>| it.is_some_and(is_letter);
        if !is_part(letters.chars().next()) || !is_part(letters.chars().next_back()) {
            return None;
        }
        let here = next.top_end.filter(|_| label.can_precede_top_level_from(start)).map(|_| index + 1);
        let last = next.reach.or(here)?;
        Some(DomainMatch { first: index, last, range: start..self.labels[last].top_end? })
    }

    /// Whether every label is short enough for DNS, and labels in punycode are valid.
    pub(super) fn is_well_formed(&self, found: &DomainMatch) -> bool {
        let name = &self.text[found.range.clone()];
        if name.starts_with("xn--") && self.latin_domains(found).is_empty() {
            return false;
        }
        name.split('.').all(|it| (1..=LONGEST_LABEL).contains(&punycode_len(it)))
    }

    /// The domains within this one that consist of Latin letters. Without a scheme, only they are
    /// links.
    pub(super) fn latin_domains(&self, found: &DomainMatch) -> Vec<Range<usize>> {
        let mut domains = Vec::new();
        let (mut index, mut from) = (found.first, found.range.start);
        while index < found.last {
            let end = self.labels[index].end;
            let part = &self.text[from..end];
            let start = from + part.trim_end_matches(is_latin).len();
            let mut best = None;
            let mut next = index + 1;
            if start < end {
                loop {
                    let label = &self.labels[next];
                    let top_end = if next == found.last { Some(found.range.end) } else { label.top_end };
                    best = top_end.map(|it| (next, it)).or(best);
                    if next == found.last || !label.is_ascii {
                        break;
                    }
                    next += 1;
                }
            }
            (index, from) = match best {
                Some((last, end)) => {
                    domains.push(start..end);
                    (last, end)
                }
                None => (next, self.labels[next].start),
            };
        }
        domains
    }
}

impl Label {
    fn parse(text: &str, range: Range<usize>) -> Self {
        let label = &text[range.clone()];
        let ends = |it: Option<char>| it.is_some_and(is_letter);
        Self {
            start: range.start,
            end: range.end,
            is_sub: ends(label.chars().next()) && ends(label.chars().next_back()),
            underscore: label.rfind('_').map(|it| range.start + it),
            top_end: top_level_length(label, text[range.end..].chars().next()).map(|it| range.start + it),
            reach: None,
            is_ascii: !label.is_empty() && label.chars().all(is_latin),
        }
    }

    fn is_name(&self, start: usize) -> bool {
        self.is_sub && self.can_precede_top_level_from(start)
    }

    fn can_precede_top_level_from(&self, start: usize) -> bool {
        self.underscore.is_none_or(|it| it < start)
    }
}

/// Whether a letter can be part of a domain, in addition to hyphens, underscores and dots. Source:
/// `invalidDomainChars` of twitter-text.
pub(super) const fn is_letter(letter: char) -> bool {
    !matches!(letter,
        '!' | '#'..='/' | ':'..='@' | '['..='_' | '{'..='~'
        | '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{180e}' | '\u{2000}'..='\u{200a}' | '\u{2028}'
        | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{fffe}' | '\u{feff}' | '\u{ffff}'
        | '\u{202a}'..='\u{202e}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2066}'..='\u{2069}')
}

/// Whether a domain cannot start after this letter. Source: `validUrlPrecedingChars` of
/// twitter-text.
pub(super) const fn glues(letter: char) -> bool {
    matches!(letter,
        'A'..='Z' | 'a'..='z' | '0'..='9' | '@' | '＠' | '$' | '#' | '＃' | '\u{fffe}' | '\u{feff}' | '\u{ffff}')
}

fn is_latin(letter: char) -> bool {
    letter == '-' || letter.is_ascii_alphanumeric() || is_accented(letter)
}

/// Latin letters beyond ASCII. Source: `latinAccentChars` of twitter-text.
pub(super) const fn is_accented(letter: char) -> bool {
    matches!(letter,
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{24f}' | '\u{253}' | '\u{254}' | '\u{256}' | '\u{257}'
        | '\u{259}' | '\u{25b}' | '\u{263}' | '\u{268}' | '\u{26f}' | '\u{272}' | '\u{289}' | '\u{28b}' | '\u{2bb}'
        | '\u{300}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}')
}

/// The bytes of a top-level domain at the start of a label. In scripts without spaces, words may
/// follow it directly.
fn top_level_length(label: &str, after: Option<char>) -> Option<usize> {
    if label.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("xn--")) {
        let length = label.find(|it: char| it != '-' && !it.is_ascii_alphanumeric()).unwrap_or(label.len());
        return (4 < length).then_some(length);
    }
    let ends: Vec<_> = label.char_indices().map(|(at, it)| at + it.len_utf8()).take(LONGEST_TOP_LEVEL).collect();
    ends.into_iter().rev().find(|end| {
        let next = label[*end..].chars().next().or(after);
        let is_continued = next.is_some_and(|it| it.is_ascii_alphanumeric() || matches!(it, '@' | '+' | '-'));
        !is_continued && top_level::is_known(&label[..*end])
    })
}

/// The length of a label in punycode. The full stops of East Asia separate labels like a dot.
fn punycode_len(label: &str) -> usize {
    let is_stop = |it| matches!(it, '。' | '．' | '｡');
    let lengths = label.split(is_stop).map(|it| {
        if it.is_ascii() {
            return it.len();
        }
        // Each character has at least one byte in punycode.
        let is_short = it.chars().count() <= LONGEST_LABEL;
        let encoded = is_short.then(|| idna::punycode::encode_str(it)).flatten();
        encoded.map_or(LONGEST_LABEL + 1, |it| "xn--".len() + it.len())
    });
    lengths.sum::<usize>() + label.matches(is_stop).count()
}
