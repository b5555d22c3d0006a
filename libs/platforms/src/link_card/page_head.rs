//! Title and Open Graph tags in the head of an HTML page, with older tags where those are missing.

use crate::html::{self, Tag, plain};

/// In characters.
const MAX_TITLE: usize = 300;
const MAX_DESCRIPTION: usize = 1000;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageHead {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    /// A URL, possibly relative to the page.
    pub(super) picture: Option<String>,
}

/// `page` may be cut off anywhere.
pub(super) fn read(page: &str) -> PageHead {
    let mut found = Candidates::default();
    html::visit_head_tags(page, |tag, rest| match tag.name() {
        "meta" => found.meta(tag),
        "title" if found.title.is_none() => {
            found.title = Some(rest.split('<').next().unwrap_or_default().to_owned());
        }
        _ => {}
    });
    found.into_head()
}

/// Each list is in order of preference.
#[derive(Default)]
struct Candidates {
    title: Option<String>,
    titles: [Option<String>; 2],
    descriptions: [Option<String>; 3],
    pictures: [Option<String>; 3],
}

impl Candidates {
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
        let first = |platform: &[Option<String>]| platform.iter().flatten().next().cloned();
        let title = first(&self.titles).or(self.title);
        PageHead {
            title: title.and_then(|it| display_text(&it, MAX_TITLE)),
            description: first(&self.descriptions).and_then(|it| display_text(&it, MAX_DESCRIPTION)),
            picture: first(&self.pictures).map(|it| plain(it.trim())),
        }
    }
}

/// On one line and shortened; `None` if nothing readable is left.
fn display_text(raw: &str, max: usize) -> Option<String> {
    let message: Vec<String> = plain(raw).split_whitespace().map(str::to_owned).collect();
    let line: String = message.join(" ").chars().filter(|it| !it.is_control()).take(max).collect();
    let is_readable = !line.is_empty() && !line.contains(char::REPLACEMENT_CHARACTER);
    is_readable.then_some(line)
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
    fn open_graph_tags_are_read() {
        let page = r#"<!doctype html><HTML><head><!-- <title>Old</title> -->
            <title>Plain</title><script>var s = '<meta property="og:title" content="Script">';</script>
            <meta property="og:title" content="Tea &amp; biscuits &#x2014; &#39;today&#39;">
            <META CONTENT='All
              about tea' NAME=Description />
            <meta content=/tea.jpg property=og:image></head><body><meta property="og:description" content="no">"#;
        assert_eq!(read(page), head("Tea & biscuits — 'today'", "All about tea", "/tea.jpg"));
    }

    #[test]
    fn title_is_used_without_open_graph_tags() {
        assert_eq!(read("<title>\n Just\t this </title>"), head("Just this", "", ""));
        assert_eq!(read("<title></title><meta property='og:title' content=' '>"), head("", "", ""));
        assert_eq!(read("no page"), PageHead::default());
    }

    #[test]
    fn unreadable_values_are_omitted() {
        assert_eq!(read("<title>Caf\u{fffd}</title>"), PageHead::default());
        assert_eq!(read(&format!("<title>{}</title>", "x".repeat(1000))).title.map(|it| it.len()), Some(MAX_TITLE));
    }

    proptest! {
        #[test]
        fn reading_ends_for_any_input(page in "(<|>|=|/|\"|'|&|;|#|<!--|-->|<meta |property=|content=|og:title|<script>|</|<title>|\\PC| ){0,60}") {
            read(&page);
        }
    }
}
