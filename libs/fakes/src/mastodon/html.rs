//! HTML of a displayed text.

use super::account;
use super::entities::{Entity, entities};

/// The text as HTML: paragraphs, and a link for each entity.
///
/// All remote accounts are known, and the one local account.
pub(crate) fn content(text: &str, base_url: &str) -> String {
    let text = text.trim().replace("\r\n", "\n").replace('\r', "\n");
    if text.is_empty() {
        return String::new();
    }
    let mut html = String::new();
    let mut last = 0;
    for (range, entity) in entities(&text) {
        html.push_str(&escape(&text[last..range.start]));
        html.push_str(&link(&text[range.clone()], &entity, base_url));
        last = range.end;
    }
    html.push_str(&escape(&text[last..]));
    paragraphs(&html)
}

/// A single line break is kept; several begin a new paragraph.
fn paragraphs(html: &str) -> String {
    let paragraphs = html.split("\n\n").map(|it| it.trim_matches('\n')).filter(|it| !it.is_empty());
    let paragraphs: Vec<String> = paragraphs.map(|it| format!("<p>{}</p>", it.replace('\n', "<br />"))).collect();
    paragraphs.concat()
}

fn link(piece: &str, entity: &Entity, base_url: &str) -> String {
    match entity {
        Entity::Url => url(piece),
        Entity::Hashtag => {
            let name = &piece[1..];
            let href = format!("{base_url}/tags/{}", name.to_lowercase());
            format!(
                r#"<a href="{}" class="mention hashtag" rel="tag">#<span>{}</span></a>"#,
                escape(&href),
                escape(name)
            )
        }
        Entity::Mention { username, host } => {
            let href = match host {
                Some(host) => format!("https://{host}/@{username}"),
                None if username.eq_ignore_ascii_case(account::USERNAME) => format!("{base_url}/@{username}"),
                None => return escape(piece),
            };
            format!(
                r#"<span class="h-card" translate="no"><a href="{}" class="u-url mention">@<span>{}</span></a></span>"#,
                escape(&href),
                escape(username)
            )
        }
    }
}

/// A link that shows 30 characters; the scheme and the rest are hidden.
fn url(url: &str) -> String {
    const SHOWN: usize = 30;

    let scheme = url.find("://").map_or(0, |it| it + 3);
    let www = if url[scheme..].to_ascii_lowercase().starts_with("www.") { 4 } else { 0 };
    let (prefix, rest) = url.split_at(scheme + www);
    let cut = rest.char_indices().nth(SHOWN).map_or(rest.len(), |(at, _)| at);
    let (shown, suffix) = rest.split_at(cut);
    let class = if suffix.is_empty() { "" } else { "ellipsis" };
    format!(
        r#"<a href="{}" target="_blank" rel="nofollow noopener noreferrer" translate="no"><span class="invisible">{}</span><span class="{class}">{}</span><span class="invisible">{}</span></a>"#,
        escape(url),
        escape(prefix),
        escape(shown),
        escape(suffix)
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}
