//! Addresses that others name, as they may be shown to people.

use crate::name::is_mark;

/// The longest one, in bytes.
const MAX_BYTES: usize = 2048;

/// Whether this can be shown to people as the address of a page or a picture:
/// it leads to the web, has an end, and holds nothing that could be taken for
/// something else.
pub fn is_web_address(address: &str) -> bool {
    let host = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
    host.is_some_and(|it| it.starts_with(|first: char| first.is_alphanumeric() || first == '['))
        && address.len() <= MAX_BYTES
        && !address.chars().any(|it| it.is_whitespace() || is_mark(it) || matches!(it, '"' | '<' | '>' | '\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leads_to_the_web_and_has_an_end_is_shown_as_an_address() {
        for address in [
            "https://harbour.example/@boat/1",
            "http://harbour.example/avatar.png",
            "http://localhost:3000/sandbox/posts/1",
            "http://[::1]:3000/",
            "https://bücher.example/ä",
        ] {
            assert!(is_web_address(address), "{address}");
        }
        let endless = format!("https://harbour.example/{}", "x".repeat(2048));
        for address in [
            "javascript:alert(1)",
            "data:image/png;base64,AAAA",
            "/avatars/original/missing.png",
            "https://a.example/ b",
            "https://a.example/\u{202e}",
            "https://",
            "https:///x",
            "https://a.example/\"><b>",
            &endless,
            "",
        ] {
            assert!(!is_web_address(address), "{address}");
        }
    }
}
