//! The text of articles in HTML, as readers see it.

/// The text of a paragraph with line breaks and links, and the linked texts; `None` for any other HTML.
pub fn paragraph(html: &str) -> Option<(String, Vec<String>)> {
    let (mut text, mut links, mut rest) = (String::new(), Vec::new(), html);
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(&plain(before));
        if let Some(after) = tag.strip_prefix("br>") {
            text.push('\n');
            rest = after;
        } else {
            let (_, after) = tag.strip_prefix("a href=\"")?.split_once("\">")?;
            let (link_text, after) = after.split_once("</a>")?;
            text.push_str(&plain(link_text));
            links.push(plain(link_text));
            rest = after;
        }
    }
    text.push_str(&plain(rest));
    (!rest.contains('>')).then_some((text, links))
}

/// Text with decoded character references.
pub fn plain(html: &str) -> String {
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#91;", "["), ("&#13;", "\r"), ("&#10;", "\n")];
    // WordPress pads the numbers if the author may not write HTML.
    let plain = named.iter().fold(html.replace("&#0", "&#"), |text, (name, letter)| text.replace(name, letter));
    // Last, because the other references begin with `&`.
    plain.replace("&amp;", "&")
}

/// A title with the paragraphs below it. A title that is repeated at the beginning of the text appears once.
pub fn whole_text(title: &str, paragraphs: &[String]) -> String {
    let content = paragraphs.join("\n\n");
    let is_repeated = content.starts_with(title.trim_end_matches('…'));
    if is_repeated { content } else { format!("{title}\n{content}") }
}

/// A text in paragraphs, separated by one empty line.
pub fn paragraphs(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let paragraphs = lines.split(|it| it.trim().is_empty()).filter(|it| !it.is_empty());
    paragraphs.map(|it| it.join("\n").trim().to_owned()).collect::<Vec<_>>().join("\n\n")
}
