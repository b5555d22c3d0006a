//! Reads HTML of untrusted pages.

use crate::entity;

/// Visits each tag in the head of a page, with the text after the tag. The page may be cut off
/// anywhere.
pub(crate) fn visit_head_tags(page: &str, mut visit: impl FnMut(&Tag<'_>, &str)) {
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if rest.starts_with("<!--") {
            rest = rest.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let tag = Tag::read(rest);
        rest = &rest[tag.length..];
        visit(&tag, rest);
        match tag.name.as_str() {
            // Their content is not parsed.
            "script" | "style" | "noscript" => {
                let end = format!("</{}", tag.name);
                rest = &rest[find_ignoring_case(rest, &end).unwrap_or(rest.len())..];
            }
            "body" | "/head" => break,
            _ => {}
        }
    }
}

/// A tag. Its name is lower case, and begins with `/` for an end tag.
pub(crate) struct Tag<'a> {
    name: String,
    attributes: Vec<(String, &'a str)>,
    /// In bytes, with both brackets.
    length: usize,
}

impl<'a> Tag<'a> {
    fn read(text: &'a str) -> Self {
        let end_of_name = text[1..].find(|it: char| it.is_ascii_whitespace() || it == '>' || it == '<');
        let end_of_name = end_of_name.map_or(text.len(), |it| it + 1);
        let name = text[1..end_of_name].trim_end_matches('/').to_ascii_lowercase();
        let mut tag = Self { name, attributes: Vec::new(), length: text.len() };
        let mut at = end_of_name;
        loop {
            let skipped = text[at..].find(|it: char| !it.is_ascii_whitespace() && it != '/');
            at = skipped.map_or(text.len(), |it| at + it);
            let rest = &text[at..];
            if rest.is_empty() {
                return tag;
            }
            if rest.starts_with('>') || rest.starts_with('<') {
                tag.length = at + usize::from(rest.starts_with('>'));
                return tag;
            }
            let end =
                rest.find(|it: char| it.is_ascii_whitespace() || matches!(it, '=' | '>' | '<')).unwrap_or(rest.len());
            let (attribute, behind) = rest.split_at(end);
            let value = behind.trim_ascii_start().strip_prefix('=').map(str::trim_ascii_start);
            let (value, behind) = value.map_or(("", behind), split_value);
            tag.attributes.push((attribute.to_ascii_lowercase(), value));
            // A stray `=` is no attribute name.
            let behind = if end == 0 && behind.len() == rest.len() { &rest[1..] } else { behind };
            at = text.len() - behind.len();
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The value of an attribute, with its character references.
    pub(crate) fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(it, _)| it == name).map(|(_, value)| *value)
    }
}

fn split_value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote) {
            return inside.split_once(quote).unwrap_or((inside, ""));
        }
    }
    text.split_at(text.find(|it: char| it.is_ascii_whitespace() || it == '>').unwrap_or(text.len()))
}

fn find_ignoring_case(text: &str, ascii: &str) -> Option<usize> {
    text.as_bytes().windows(ascii.len()).position(|it| it.eq_ignore_ascii_case(ascii.as_bytes()))
}

pub(crate) fn plain(raw: &str) -> String {
    let mut plain = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|it| it == b';');
        if let Some((letter, end)) = end.and_then(|end| Some((entity::letter(&rest[1..end])?, end))) {
            plain.push(letter);
            rest = &rest[end + 1..];
        } else {
            plain.push('&');
            rest = &rest[1..];
        }
    }
    plain.push_str(rest);
    plain
}
