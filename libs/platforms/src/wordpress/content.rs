//! The blocks of a post, as WordPress's own editor writes them.
//!
//! A text contains no commands: neither HTML nor the shortcodes that a site's plugins know.

use domain::media::{Attachment, FileType};
use domain::rich_text::links;
use unicode_segmentation::UnicodeSegmentation;

/// The longest title that is derived from a text, in graphemes.
const MAX_TITLE: usize = 100;

/// A file of the media library, in a post.
pub(super) struct EmbeddedFile<'a> {
    pub(super) id: u64,
    pub(super) url: &'a str,
    pub(super) file: &'a Attachment,
}

/// The title of a post, as HTML, and the text below it.
///
/// Without the option, the first line is the title. It is removed from the text only if nothing is
/// lost: a title is neither cut nor a link.
pub(super) fn title_and_text<'a>(text: &'a str, title: Option<&str>) -> (String, &'a str) {
    if let Some(title) = title {
        return (escaped(title.trim()), text);
    }
    let text = text.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let first = first.trim();
    let cut = cut(first);
    let is_title_alone = cut == first && links(first).is_empty() && !rest.trim().is_empty();
    (escaped(&cut), if is_title_alone { rest } else { text })
}

/// A line, cut at the end of a word if it is long.
fn cut(line: &str) -> String {
    let Some((end, _)) = line.grapheme_indices(true).nth(MAX_TITLE) else { return line.to_owned() };
    let truncated = &line[..end];
    let whole_words = truncated.rsplit_once(char::is_whitespace).map(|(prefix, _)| prefix.trim_end());
    format!("{}…", whole_words.filter(|it| end / 2 < it.len()).unwrap_or(truncated))
}

pub(super) fn blocks<'a>(text: &str, files: impl Iterator<Item = EmbeddedFile<'a>>) -> String {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.lines().collect();
    let paragraphs = lines.split(|it| it.trim().is_empty()).filter(|it| !it.is_empty());
    let paragraphs = paragraphs.map(|it| {
        let html = link_urls(it.join("\n").trim()).replace('\n', "<br>");
        format!("<!-- wp:paragraph -->\n<p>{html}</p>\n<!-- /wp:paragraph -->")
    });
    let blocks: Vec<_> = paragraphs.chain(files.map(|it| it.block())).collect();
    blocks.join("\n\n")
}

impl EmbeddedFile<'_> {
    fn block(&self) -> String {
        let (id, url) = (self.id, escaped(self.url));
        if self.file.mime_type.file_type() == FileType::Video {
            return format!(
                "<!-- wp:video {{\"id\":{id}}} -->\n\
                 <figure class=\"wp-block-video\"><video controls src=\"{url}\"></video></figure>\n\
                 <!-- /wp:video -->"
            );
        }
        let alt = self.file.alt_text.as_ref().map_or_else(String::new, |it| escaped(it.as_str()));
        format!(
            "<!-- wp:image {{\"id\":{id},\"sizeSlug\":\"full\",\"linkDestination\":\"none\"}} -->\n\
             <figure class=\"wp-block-image size-full\"><img src=\"{url}\" alt=\"{alt}\" class=\"wp-image-{id}\"/></figure>\n\
             <!-- /wp:image -->"
        )
    }
}

fn link_urls(paragraph: &str) -> String {
    let (mut html, mut end) = (String::new(), 0);
    for link in links(paragraph) {
        html.push_str(&escape_lines(&paragraph[end..link.range.start]));
        end = link.range.end;
        let (address, text) = (escaped(&link.uri), escaped(&paragraph[link.range]));
        html.extend(["<a href=\"", &address, "\">", &text, "</a>"]);
    }
    html.push_str(&escape_lines(&paragraph[end..]));
    html
}

fn escape_lines(text: &str) -> String {
    text.split('\n').map(escaped).collect::<Vec<_>>().join("\n")
}

/// A text without markup, also safe in an attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            // It would begin a shortcode.
            '[' => html.push_str("&#91;"),
            '\r' => html.push_str("&#13;"),
            '\n' => html.push_str("&#10;"),
            letter => html.push(letter),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use domain::media::AltText;
    use domain::testing::an_attachment;

    use super::*;

    #[test]
    fn first_line_is_the_title_if_nothing_is_lost() {
        let long = "word ".repeat(40);
        let cut = format!("{}…", "word ".repeat(20).trim_end());
        for (text, title, below) in [
            ("Storm\n\nThe ferry stays in.", "Storm", "\nThe ferry stays in."),
            ("\n  Storm \r\nThe ferry stays in.", "Storm", "The ferry stays in."),
            ("Storm", "Storm", "Storm"),
            ("Storm\n \n", "Storm", "Storm"),
            ("See example.com/a\nand b", "See example.com/a", "See example.com/a\nand b"),
            ("1 < 2 [x]\ny", "1 &lt; 2 &#91;x]", "y"),
            (long.as_str(), &cut, long.trim()),
        ] {
            assert_eq!(title_and_text(text, None), (title.to_owned(), below), "{text:?}");
        }
        assert_eq!(title_and_text("Storm\nx", Some(" A & B ")), ("A &amp; B".to_owned(), "Storm\nx"));
        let (title, _) = title_and_text(&"👩‍👩‍👧‍👦".repeat(200), None);
        assert_eq!(title, format!("{}…", "👩‍👩‍👧‍👦".repeat(MAX_TITLE)));
    }

    #[test]
    fn text_becomes_paragraphs_with_links() {
        let text = " one\r\ntwo (https://example.com/?a=1&b=2)\n\n\n[gallery] <b>\"x\"</b>\n";
        let written = blocks(text, std::iter::empty());
        assert_eq!(
            written,
            "<!-- wp:paragraph -->\n<p>one<br>two (<a href=\"https://example.com/?a=1&amp;b=2\">\
             https://example.com/?a=1&amp;b=2</a>)</p>\n<!-- /wp:paragraph -->\n\n\
             <!-- wp:paragraph -->\n<p>&#91;gallery] &lt;b&gt;&quot;x&quot;&lt;/b&gt;</p>\n<!-- /wp:paragraph -->"
        );
    }

    #[test]
    fn picture_has_its_alternative_text() {
        let file = Attachment { alt_text: Some(AltText::parse("\"Zoë\" &\r\ncrew").unwrap()), ..an_attachment(1) };
        let written =
            blocks("", std::iter::once(EmbeddedFile { id: 7, url: "https://example.com/a.png", file: &file }));
        assert_eq!(
            written,
            "<!-- wp:image {\"id\":7,\"sizeSlug\":\"full\",\"linkDestination\":\"none\"} -->\n\
             <figure class=\"wp-block-image size-full\"><img src=\"https://example.com/a.png\" \
             alt=\"&quot;Zoë&quot; &amp;&#13;&#10;crew\" class=\"wp-image-7\"/></figure>\n<!-- /wp:image -->"
        );
    }
}
