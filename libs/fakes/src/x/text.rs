//! Length and displayed form of a text.
//!
//! Source: `fundamentals/counting-characters`, and `twitter-text`, configuration v3.

use icu_normalizer::ComposingNormalizerBorrowed;
use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;

/// Length of any link.
const LINK: usize = 23;

/// Weighted length, after normalization to NFC.
pub(super) fn weighted(text: &str) -> usize {
    let text = &ComposingNormalizerBorrowed::new_nfc().normalize(text);
    let mut length = 0;
    let mut at = 0;
    for link in find_links(text) {
        length += letter_weights(&text[at..link.start]) + LINK;
        at = link.end;
    }
    length + letter_weights(&text[at..])
}

fn letter_weights(text: &str) -> usize {
    text.graphemes(true).map(|it| if is_emoji(it) { 2 } else { it.chars().map(weight).sum() }).sum()
}

fn weight(letter: char) -> usize {
    match u32::from(letter) {
        0..=4351 | 8192..=8205 | 8208..=8223 | 8242..=8247 => 1,
        _ => 2,
    }
}

fn is_emoji(cluster: &str) -> bool {
    cluster.chars().next().is_some_and(|it| 0x1_F000 <= u32::from(it)) || cluster.contains(['\u{fe0f}', '\u{20e3}'])
}

/// The positions of links: with a scheme, or with a well-known top-level domain.
fn find_links(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let (start, bare) = (at, word.trim_end());
        at += word.len();
        let lower = bare.to_ascii_lowercase();
        let scheme = lower.find("https://").or_else(|| lower.find("http://"));
        if let Some(scheme) = scheme {
            let end = bare.trim_end_matches(['.', ',', '!', '?', ')', ':', ';', '"', '\'']).len();
            found.push(start + scheme..start + end);
            continue;
        }
        let host = lower.split('/').next().unwrap_or_default();
        let is_host =
            host.split('.').all(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-'));
        if is_host && [".com", ".org", ".net"].iter().any(|it| host.ends_with(it)) {
            found.push(start..start + bare.len());
        }
    }
    found
}

/// The text in listings (normalized to NFC, shortened, escaped), and its links. A post with files
/// ends with a link to them.
pub(super) fn displayed(text: &str, media_keys: &[String], id: &str) -> (String, Value) {
    let text = &ComposingNormalizerBorrowed::new_nfc().normalize(text);
    let (mut shown, mut urls) = (String::new(), Vec::new());
    let mut at = 0;
    for (number, link) in find_links(text).into_iter().enumerate() {
        let short = format!("https://t.co/{number:010}");
        shown += &escape(&text[at..link.start]);
        shown += &short;
        let link_text = &text[link.clone()];
        // A bare domain is a link with the scheme http.
        let has_scheme = link_text.to_ascii_lowercase().starts_with("http");
        let expanded = if has_scheme { link_text.to_owned() } else { format!("http://{link_text}") };
        urls.push(json!({ "url": short, "expanded_url": expanded }));
        at = link.end;
    }
    shown += &escape(&text[at..]);
    if let Some(key) = media_keys.first() {
        let short = "https://t.co/ofthefiles";
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(short);
        let expanded = format!("https://x.com/keeper_ada/status/{id}/photo/1");
        urls.push(json!({ "url": short, "expanded_url": expanded, "media_key": key }));
    }
    (shown, json!(urls))
}

/// The text of a long post (over 280) in listings: its beginning, and a link to the whole. `None`
/// for other posts.
pub(super) fn beginning(text: &str) -> Option<String> {
    if weighted(text) <= 280 {
        return None;
    }
    let mut end = text.floor_char_boundary(250);
    while 250 < weighted(&text[..end]) {
        end = text[..end].char_indices().next_back().map_or(0, |(at, _)| at);
    }
    Some(format!("{}… ", &text[..end]))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
