//! What the head of an HTML page says of the page: its title and the `meta`
//! tags of Open Graph, with the older ones where those are missing.

use crate::entity;

/// The most that is shown, in characters.
const MAX_TITLE: usize = 300;
const MAX_DESCRIPTION: usize = 1000;

/// What a page says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageHead {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    /// An address, perhaps relative to the page's.
    pub(super) picture: Option<String>,
}

/// Reads the start of a page, which may end anywhere.
pub(super) fn read(page: &str) -> PageHead {
    let mut found = Found::default();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if rest.starts_with("<!--") {
            rest = rest.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let tag = Tag::read(rest);
        rest = &rest[tag.length..];
        match tag.name.as_str() {
            "meta" => found.meta(&tag),
            "title" if found.title.is_none() => {
                found.title = Some(rest.split('<').next().unwrap_or_default().to_owned());
            }
            // Not read for tags.
            "script" | "style" | "noscript" => {
                let end = format!("</{}", tag.name);
                rest = &rest[find_ignoring_case(rest, &end).unwrap_or(rest.len())..];
            }
            "body" | "/head" => break,
            _ => {}
        }
    }
    found.into_head()
}

/// Values in the order in which they are preferred.
#[derive(Default)]
struct Found {
    title: Option<String>,
    titles: [Option<String>; 2],
    descriptions: [Option<String>; 3],
    pictures: [Option<String>; 3],
}

impl Found {
    fn meta(&mut self, tag: &Tag) {
        let name = tag.attribute("property").or_else(|| tag.attribute("name")).unwrap_or_default().to_ascii_lowercase();
        let place = match name.as_str() {
            "og:title" => &mut self.titles[0],
            "twitter:title" => &mut self.titles[1],
            "og:description" => &mut self.descriptions[0],
            "twitter:description" => &mut self.descriptions[1],
            "description" => &mut self.descriptions[2],
            "og:image:secure_url" => &mut self.pictures[0],
            "og:image" => &mut self.pictures[1],
            "twitter:image" => &mut self.pictures[2],
            _ => return,
        };
        if let Some(content) = tag.attribute("content").filter(|it| place.is_none() && !it.trim().is_empty()) {
            *place = Some(content.to_owned());
        }
    }

    fn into_head(self) -> PageHead {
        let first = |of: &[Option<String>]| of.iter().flatten().next().cloned();
        let title = first(&self.titles).or(self.title);
        PageHead {
            title: title.and_then(|it| shown(&it, MAX_TITLE)),
            description: first(&self.descriptions).and_then(|it| shown(&it, MAX_DESCRIPTION)),
            picture: first(&self.pictures).map(|it| plain(it.trim())),
        }
    }
}

/// A tag: its name in small letters, with the `/` of an end, and what follows.
struct Tag<'a> {
    name: String,
    attributes: Vec<(String, &'a str)>,
    /// In bytes, with both brackets.
    length: usize,
}

impl<'a> Tag<'a> {
    /// Reads the tag at the start, which is `<`.
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
            let (value, behind) = value.map_or(("", behind), quoted);
            tag.attributes.push((attribute.to_ascii_lowercase(), value));
            // A stray `=` is nobody's name.
            let behind = if end == 0 && behind.len() == rest.len() { &rest[1..] } else { behind };
            at = text.len() - behind.len();
        }
    }

    fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(it, _)| it == name).map(|(_, value)| *value)
    }
}

/// A value in quotes or without, and what is behind it.
fn quoted(text: &str) -> (&str, &str) {
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

/// On one line, not too long; `None` when nothing readable is left.
fn shown(raw: &str, max: usize) -> Option<String> {
    let words: Vec<String> = plain(raw).split_whitespace().map(str::to_owned).collect();
    let line: String = words.join(" ").chars().filter(|it| !it.is_control()).take(max).collect();
    let is_readable = !line.is_empty() && !line.contains(char::REPLACEMENT_CHARACTER);
    is_readable.then_some(line)
}

/// With the characters that its references stand for.
fn plain(raw: &str) -> String {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head(title: &str, description: &str, picture: &str) -> PageHead {
        let some = |it: &str| (!it.is_empty()).then(|| it.to_owned());
        PageHead { title: some(title), description: some(description), picture: some(picture) }
    }

    #[test]
    fn a_page_says_how_it_wants_to_be_shown() {
        let page = r#"<!doctype html><HTML><head><!-- <title>Old</title> -->
            <title>Plain</title><script>var s = '<meta property="og:title" content="Script">';</script>
            <meta property="og:title" content="Tea &amp; biscuits &#x2014; &#39;today&#39;">
            <META CONTENT='All
              about tea' NAME=Description />
            <meta content=/tea.jpg property=og:image></head><body><meta property="og:description" content="no">"#;
        assert_eq!(read(page), head("Tea & biscuits — 'today'", "All about tea", "/tea.jpg"));
    }

    #[test]
    fn the_title_is_taken_where_nothing_better_is_said() {
        assert_eq!(read("<title>\n Just\t this </title>"), head("Just this", "", ""));
        assert_eq!(read("<title></title><meta property='og:title' content=' '>"), head("", "", ""));
        assert_eq!(read("no page"), PageHead::default());
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        assert_eq!(read("<title>Caf\u{fffd}</title>"), PageHead::default());
        assert_eq!(read(&format!("<title>{}</title>", "x".repeat(1000))).title.map(|it| it.len()), Some(MAX_TITLE));
    }

    proptest! {
        #[test]
        fn reading_ends_whatever_it_reads(page in "(<|>|=|/|\"|'|&|;|#|<!--|-->|<meta |property=|content=|og:title|<script>|</|<title>|\\PC| ){0,60}") {
            read(&page);
        }
    }
}
