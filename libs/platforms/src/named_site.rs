use url::{Position, Url};

/// In bytes.
const MAX_TYPED: usize = 500;

/// Parses the URL of a site, or of any of its pages below one of `pages`, such as `/wp-admin/`. The path ends with a
/// slash. Accepts `http`; whether it may be called is decided elsewhere.
pub(crate) fn parse(typed: &str, pages: &[&str]) -> Option<Url> {
    let typed = typed.trim();
    if MAX_TYPED < typed.len() {
        return None;
    }
    let address = if typed.contains("://") { typed.to_owned() } else { format!("https://{typed}") };
    let mut url = Url::parse(&address).ok()?;
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    if !matches!(url.scheme(), "http" | "https") || !is_anonymous || !url.has_host() {
        return None;
    }
    let path = format!("{}/", url.path().trim_end_matches('/'));
    let page = pages.iter().find_map(|it| path.find(it));
    url.set_path(&format!("{}/", path[..page.unwrap_or(path.len())].trim_end_matches('/')));
    url.set_query(None);
    url.set_fragment(None);
    Some(url)
}

/// The host, with its port if that is not the usual one.
pub(crate) fn host_of(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_is_parsed_from_typed_text() {
        let pages = ["/wp-admin/", "/ghost/", "/index.php"];
        for (typed, address) in [
            ("blog.example.com", "https://blog.example.com/"),
            (" Example.com/blog ", "https://example.com/blog/"),
            ("https://example.com/blog/wp-admin/profile.php?x=1#y", "https://example.com/blog/"),
            ("https://example.com/ghostwriter/ghost", "https://example.com/ghostwriter/"),
            ("https://example.com/ghost/#/settings/integrations", "https://example.com/"),
            ("http://127.0.0.1:8081/index.php", "http://127.0.0.1:8081/"),
        ] {
            assert_eq!(parse(typed, &pages).unwrap().as_str(), address, "{typed}");
        }
        let long = format!("{}.example", "a".repeat(MAX_TYPED));
        for typed in ["", "two words", "ftp://example.com", "https://a:b@example.com", "https://", &long] {
            assert_eq!(parse(typed, &pages), None, "{typed}");
        }
    }
}
