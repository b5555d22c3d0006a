//! The official client's changes to a typed text.

use url::{Position, Url};

/// The text of the record, with each link that has a scheme shortened. Only links
/// at the start of a word are found.
///
/// Source: `detectFacets` of `@atproto/api`, `shortenLinks` and `toShortUrl` of
/// `social-app`.
pub fn shortened(text: &str) -> String {
    text.split_inclusive(char::is_whitespace).map(shorten_word).collect()
}

fn shorten_word(word: &str) -> String {
    let bare = word.trim_end_matches(char::is_whitespace);
    let open = usize::from(bare.starts_with('('));
    let mut link = &bare[open..];
    if !link.starts_with("http://") && !link.starts_with("https://") {
        return word.to_owned();
    }
    link = link.strip_suffix(['.', ',', ';', ':', '!', '?']).unwrap_or(link);
    if !link.contains('(') {
        link = link.strip_suffix(')').unwrap_or(link);
    }
    format!("{}{}{}", &word[..open], shorten_link(link), &word[open + link.len()..])
}

fn shorten_link(link: &str) -> String {
    let Ok(url) = Url::parse(link) else { return link.to_owned() };
    let host = &url[Position::BeforeHost..Position::BeforePath];
    let path = &url[Position::BeforePath..];
    let path = if url.path() == "/" { &path[1..] } else { path };
    if 15 < path.len() { format!("{host}{}...", &path[..13]) } else { format!("{host}{path}") }
}
