//! HTML of a plain text, for platforms with articles.
//!
//! The text contains no commands: neither HTML nor the shortcodes that WordPress plugins know.

use domain::rich_text::links;
use unicode_segmentation::UnicodeSegmentation;

/// In graphemes, for a title that is derived from a text.
const MAX_TITLE: usize = 100;

/// The title of a post with at most `max` characters, and the text below it.
///
/// Without `title`, the first line is the title. It is removed from the text only if nothing is
/// lost: a title is neither cut nor a link.
pub(crate) fn title_and_text<'a>(text: &'a str, title: Option<&str>, max: usize) -> (String, &'a str) {
    if let Some(title) = title {
        return (title.trim().to_owned(), text);
    }
    let text = text.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let first = first.trim();
    let cut = cut(first, max);
    let is_title_alone = cut == first && links(first).is_empty() && !rest.trim().is_empty();
    let text = if is_title_alone { rest } else { text };
    (cut, text)
}

fn cut(line: &str, max: usize) -> String {
    if line.graphemes(true).count() <= MAX_TITLE && line.chars().count() <= max {
        return line.to_owned();
    }
    // With the ellipsis.
    let mut characters = 1;
    let fits = |(_, grapheme): &(usize, &str)| {
        characters += grapheme.chars().count();
        characters <= max
    };
    let last = line.grapheme_indices(true).take(MAX_TITLE).take_while(fits).last();
    let truncated = &line[..last.map_or(0, |(at, grapheme)| at + grapheme.len())];
    let whole_words = truncated.rsplit_once(char::is_whitespace).map(|(prefix, _)| prefix.trim_end());
    format!("{}…", whole_words.filter(|it| truncated.len() / 2 < it.len()).unwrap_or(truncated))
}

/// The paragraphs of a text, which empty lines separate, as HTML without `<p>`.
pub(crate) fn paragraphs(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.lines().collect();
    let paragraphs = lines.split(|it| it.trim().is_empty()).filter(|it| !it.is_empty());
    paragraphs.map(|it| link_urls(it.join("\n").trim()).replace('\n', "<br>")).collect()
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
pub(crate) fn escaped(text: &str) -> String {
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
            ("1 < 2 [x]\ny", "1 < 2 [x]", "y"),
            (long.as_str(), &cut, long.trim()),
        ] {
            assert_eq!(title_and_text(text, None, 500), (title.to_owned(), below), "{text:?}");
        }
        assert_eq!(title_and_text("Storm\nx", Some(" A & B "), 500), ("A & B".to_owned(), "Storm\nx"));
        let (title, _) = title_and_text(&"👩‍👩‍👧‍👦".repeat(200), None, 1_000);
        assert_eq!(title, format!("{}…", "👩‍👩‍👧‍👦".repeat(MAX_TITLE)));
        let (title, _) = title_and_text(&"👩‍👩‍👧‍👦".repeat(200), None, 21);
        assert_eq!(title, "👩‍👩‍👧‍👦👩‍👩‍👧‍👦…", "each has seven characters");
    }

    #[test]
    fn text_becomes_paragraphs_with_links() {
        let text = " one\r\ntwo (https://example.com/?a=1&b=2)\n\n\n[gallery] <b>\"x\"</b>\n";
        assert_eq!(
            paragraphs(text),
            [
                "one<br>two (<a href=\"https://example.com/?a=1&amp;b=2\">https://example.com/?a=1&amp;b=2</a>)",
                "&#91;gallery] &lt;b&gt;&quot;x&quot;&lt;/b&gt;",
            ]
        );
    }
}
