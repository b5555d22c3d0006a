use crate::name::is_mark;

/// In bytes.
const MAX_BYTES: usize = 2048;

/// Whether this may be shown to users as the URL of a page or an image: http or https, bounded
/// length, and no characters that could disguise it.
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
    fn only_a_bounded_http_url_is_a_web_address() {
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
