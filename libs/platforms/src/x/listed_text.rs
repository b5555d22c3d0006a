//! Recognizes a text in the form in which X lists it.
//!
//! Facts: every link is `https://t.co/…`, and its target is in a separate field; a domain without a
//! scheme becomes a link to its HTTP URL; a link to the files of the post is added; `&`, `<` and
//! `>` are escaped; X normalizes to NFC. Source: fact sheet, "Text rules".

use icu_normalizer::ComposingNormalizerBorrowed;
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Entities {
    /// In the order of the text.
    urls: Vec<Link>,
}

#[derive(Deserialize)]
struct Link {
    url: String,
    expanded_url: Option<String>,
    /// Present if the link leads to a file of the post itself.
    media_key: Option<String>,
}

pub(super) fn is_same_text(ours: &str, listed: &str, entities: &Entities) -> bool {
    let form_c = |it: &str| ComposingNormalizerBorrowed::new_nfc().normalize(it.trim()).into_owned();
    let (ours, listed) = (form_c(ours), form_c(listed));
    let (added, links): (Vec<_>, Vec<_>) = entities.urls.iter().partition(|it| it.media_key.is_some());
    let without_added = added.iter().fold(listed, |it, link| it.replacen(&link.url, "", 1));
    let mut listed = without_added.trim();
    // The rest of our text after the compared part. A link can have several forms.
    let mut rests = vec![ours.as_str()];
    for link in links {
        let Some((before, after)) = listed.split_once(&link.url) else { return false };
        let before = unescape(before);
        let forms = link.forms();
        rests = rests.iter().filter_map(|it| it.strip_prefix(before.as_str())).collect();
        rests = rests.iter().flat_map(|rest| forms.iter().filter_map(|form| strip_link(rest, form))).collect();
        rests.dedup();
        listed = after;
    }
    rests.contains(&unescape(listed).as_str())
}

impl Link {
    /// The distinct forms in which we may have written the link.
    fn forms(&self) -> Vec<String> {
        let full = unescape(self.expanded_url.as_deref().unwrap_or(&self.url));
        let bare = full.strip_prefix("http://").unwrap_or(&full).to_owned();
        let mut forms = Vec::new();
        for form in [full, bare] {
            forms.extend(form.strip_suffix('/').map(str::to_owned));
            forms.push(form);
        }
        forms.sort_unstable();
        forms.dedup();
        forms
    }
}

/// The rest of a text that begins with a link. Hosts are compared without case.
fn strip_link<'a>(text: &'a str, link: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(link.len())?;
    start.eq_ignore_ascii_case(link).then_some(rest)
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entities(links: &[(&str, &str)]) -> Entities {
        let urls: Vec<_> = links.iter().map(|(url, to)| json!({ "url": url, "expanded_url": to })).collect();
        serde_json::from_value(json!({ "urls": urls })).unwrap()
    }

    #[test]
    fn listed_text_is_recognized_as_it_was_sent() {
        let (a, b) = ("https://t.co/a", "https://t.co/b");
        let full = [(a, "https://example.com/a?b=c&d=e")];
        let bare = [(a, "http://Example.com"), (b, "http://example.org/")];
        for (ours, listed, links) in [
            (" cafe\u{301} ", "caf\u{e9}", &[][..]),
            ("1 < 2 && done", "1 &lt; 2 &amp;&amp; done", &[]),
            ("see https://example.com/a?b=c&d=e, or", "see https://t.co/a, or", &full),
            ("see HTTPS://Example.com/a?b=c&d=e, or", "see https://t.co/a, or", &full),
            ("Example.com and example.org/", "https://t.co/a and https://t.co/b", &bare),
            ("http://example.com and example.org!", "https://t.co/a and https://t.co/b!", &bare),
        ] {
            assert!(is_same_text(ours, listed, &entities(links)), "{ours}");
        }
        for (ours, listed, links) in [
            ("see https://example.com/b", "see https://t.co/a", &full[..]),
            ("see example.com/a?b=c&d=e", "see https://t.co/a", &full),
            ("Example.com and example.net", "https://t.co/a and https://t.co/b", &bare),
            ("Example.com and example.org more", "https://t.co/a and https://t.co/b", &bare),
        ] {
            assert!(!is_same_text(ours, listed, &entities(links)), "{ours}");
        }
    }

    #[test]
    fn link_to_the_files_of_a_post_is_not_part_of_its_text() {
        let link =
            json!({ "url": "https://t.co/f", "expanded_url": "https://x.com/a/status/1/photo/1", "media_key": "3_7" });
        let entities: Entities = serde_json::from_value(json!({ "urls": [link] })).unwrap();
        assert!(is_same_text("a boat", "a boat https://t.co/f", &entities));
        assert!(is_same_text("", "https://t.co/f", &entities));
    }
}
