//! The displayed text of a server that applies markup and smileys. This follows the source of snac
//! (`format.c`), though not exactly, because adapters must not rely on the details.

use serde_json::{Value, json};

const SMILEYS: [(&str, &str); 6] =
    [("<3", "❤️"), (";-)", "😉"), (":-)", "🙂"), (":-(", "🙁"), (":beer:", "🍺"), (":shrug:", "🤷")];

/// The text as HTML.
pub(crate) fn rewritten(text: &str) -> String {
    let text = text.trim();
    let mut html = String::new();
    for line in text.lines() {
        let (open, rest, close) = match line {
            it if it.starts_with("# ") => ("<h2>", &it[2..], "</h2>"),
            it if it.starts_with("> ") => ("<blockquote>", &it[2..], "</blockquote>"),
            it if it.starts_with("- ") || it.starts_with("* ") => ("<ul><li>", &it[2..], "</li></ul>"),
            it => ("", it, "<br>"),
        };
        html.push_str(open);
        html.push_str(&apply_markup(rest));
        html.push_str(close);
    }
    for (smiley, picture) in SMILEYS {
        html = html.replace(smiley, picture);
    }
    html
}

/// Encloses the text between two equal markers in a tag, and removes the markers.
fn apply_markup(line: &str) -> String {
    let mut line = line.to_owned();
    for (sign, tag) in [("**", "b"), ("*", "i"), ("__", "u"), ("~~", "s"), ("`", "code")] {
        while let Some((before, rest)) = line.split_once(sign)
            && let Some((inside, after)) = rest.split_once(sign)
        {
            line = format!("{before}<{tag}>{inside}</{tag}>{after}");
        }
    }
    line
}

/// A file for every image URL in the text.
pub(crate) fn find_linked_pictures(text: &str) -> Vec<Value> {
    let is_picture = |it: &&str| {
        let extension = it.rsplit_once('.').map(|(_, it)| it.to_ascii_lowercase());
        it.starts_with("https://") && matches!(extension.as_deref(), Some("png" | "jpg"))
    };
    let file = |url: &str| json!({"id": url, "type": "image", "url": url, "preview_url": url, "description": ""});
    text.split_whitespace().filter(is_picture).map(file).collect()
}
