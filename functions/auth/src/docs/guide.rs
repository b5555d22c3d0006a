//! The chapters of `docs/api.md`, for the reader's own service.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

const GUIDE: &str = include_str!("../../../../docs/api.md");

pub(crate) struct Chapter {
    pub(crate) anchor: String,
    pub(crate) title: String,
    pub(crate) html: String,
}

/// The examples call the service at `origin`.
///
/// Omits the introduction, which tells readers of the file where to find this page.
pub(crate) fn chapters(origin: &str) -> Vec<Chapter> {
    let mut adapter = Adapter { api: format!("{origin}/api/v1/"), is_link_kept: false };
    let (mut chapters, mut title, mut events) = (Vec::new(), None::<String>, Vec::new());
    for event in Parser::new_ext(GUIDE, Options::ENABLE_TABLES) {
        match (event, &mut title) {
            (Event::Start(Tag::Heading { level: HeadingLevel::H2, .. }), _) => {
                chapters.extend(Chapter::new(title.replace(String::new()), &mut events));
            }
            (Event::Text(text), Some(title)) if title.is_empty() => text.as_ref().clone_into(title),
            (Event::End(TagEnd::Heading(HeadingLevel::H2)), _) | (_, None) => {}
            (event, Some(title)) => events.extend(adapter.adapt(event, title)),
        }
    }
    chapters.extend(Chapter::new(title, &mut events));
    chapters
}

impl Chapter {
    fn new(title: Option<String>, events: &mut Vec<Event<'_>>) -> Option<Self> {
        let title = title?;
        let mut html = String::new();
        html::push_html(&mut html, events.drain(..));
        let letters = title.to_lowercase();
        let words: Vec<_> = letters.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty()).collect();
        Some(Self { anchor: format!("guide-{}", words.join("-")), title, html })
    }
}

/// Adapts the text to this page: tables and code can be scrolled with the keyboard, examples have the
/// address of the service, and links into the repository become text.
struct Adapter {
    api: String,
    is_link_kept: bool,
}

impl Adapter {
    fn adapt<'a>(&mut self, event: Event<'a>, chapter: &str) -> Option<Event<'a>> {
        let html = |it: &'static str| Event::Html(CowStr::Borrowed(it));
        Some(match event {
            Event::Start(Tag::Table(_)) => {
                let label = chapter.replace('"', "");
                let table =
                    format!(r#"<div class="scroll" tabindex="0" role="group" aria-label="{label}, table"><table>"#);
                Event::Html(table.into())
            }
            Event::End(TagEnd::Table) => html("</tbody></table></div>"),
            Event::Start(Tag::CodeBlock(_)) => html("<pre tabindex=\"0\">"),
            Event::End(TagEnd::CodeBlock) => html("</pre>"),
            Event::Text(text) if text.contains('$') => {
                Event::Text(text.replace("$B/", &self.api).replace("Bearer $T\"", "Bearer $TOKEN\"").into())
            }
            Event::Start(Tag::Link { ref dest_url, .. }) => {
                self.is_link_kept = dest_url.starts_with("https://");
                return self.is_link_kept.then_some(event);
            }
            Event::End(TagEnd::Link) => return self.is_link_kept.then_some(event),
            event => event,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_have_examples_of_the_service() {
        let chapters = chapters("https://social.example");
        let titles: Vec<_> = chapters.iter().map(|it| it.title.as_str()).collect();
        for title in ["Idempotency keys", "Rate limits", "Errors", "Webhooks", "Lists and pages"] {
            assert!(titles.contains(&title), "{titles:?}");
        }
        let html: String = chapters.iter().map(|it| it.html.as_str()).collect();
        assert!(html.contains("curl -s -X POST https://social.example/api/v1/auth/device/code"), "{html}");
        assert!(html.contains("Bearer $TOKEN\"") && !html.contains("Bearer $T\""), "{html}");
        assert!(!html.contains("$B/") && !html.contains(".md"), "{html}");
        assert_eq!(html.matches("<table>").count(), html.matches("</table></div>").count());
        assert!(html.contains(r#"aria-label="Errors, table""#), "{html}");
        assert!(chapters.iter().all(|it| it.anchor.starts_with("guide-")), "{titles:?}");
    }
}
