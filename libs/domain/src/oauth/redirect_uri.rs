use serde::{Deserialize, Serialize};
use url::Url;

use super::{is_loopback, plain};

/// An https page, or a program on the user's own machine. Stored as written, because it is compared
/// as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RedirectUri(String);

impl RedirectUri {
    pub fn parse(raw: &str) -> Option<Self> {
        let url = plain(raw)?;
        let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
        is_safe.then(|| Self(raw.to_owned()))
    }

    /// Whether a client that registered this URI may use `asked`. A program on the user's machine
    /// uses any free port (RFC 8252, section 7.3); everything else has to be equal.
    pub fn permits(&self, asked: &Self) -> bool {
        if self == asked {
            return true;
        }
        match (self.without_port(), asked.without_port()) {
            (Some(registered), Some(asked)) => registered == asked,
            _ => false,
        }
    }

    pub fn is_loopback(&self) -> bool {
        Url::parse(&self.0).is_ok_and(|it| is_loopback(&it))
    }

    pub fn host(&self) -> String {
        Url::parse(&self.0).ok().and_then(|it| it.host_str().map(str::to_owned)).unwrap_or_default()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Adds query parameters to those that it has.
    pub fn with(&self, parameters: &[(&str, &str)]) -> String {
        match Url::parse(&self.0) {
            Ok(mut url) => {
                url.query_pairs_mut().extend_pairs(parameters);
                url.into()
            }
            // It was parsed before, so it is valid.
            Err(_) => self.0.clone(),
        }
    }

    fn without_port(&self) -> Option<String> {
        Url::parse(&self.0).ok().filter(|it| it.scheme() == "http" && is_loopback(it))?;
        let rest = self.0.strip_prefix("http://")?;
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let is_port = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
        let host = authority.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(authority, |it| it.0);
        Some(format!("{host}{path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(raw: &str) -> RedirectUri {
        RedirectUri::parse(raw).unwrap()
    }

    #[test]
    fn redirect_uri_is_https_or_loopback() {
        for raw in ["https://app.example/back", "http://127.0.0.1:33418/", "http://[::1]/x", "http://localhost:1/x"] {
            assert_eq!(uri(raw).as_str(), raw);
        }
        for raw in [
            "http://app.example/back",
            "http://localhost.evil.example/",
            "https://app.example/back#x",
            "https://app.example@evil.example/",
            "javascript:alert(1)",
            "app.example:/back",
            "https://app.example/\r\nset-cookie: a",
            "",
        ] {
            assert_eq!(RedirectUri::parse(raw), None, "{raw}");
        }
    }

    #[test]
    fn only_the_port_of_a_loopback_uri_may_differ() {
        assert!(uri("http://127.0.0.1/back").permits(&uri("http://127.0.0.1:50000/back")));
        assert!(uri("http://localhost:1/back?a=1").permits(&uri("http://localhost:2/back?a=1")));
        assert!(uri("http://[::1]/back").permits(&uri("http://[::1]:2/back")));
        assert!(uri("http://localhost?a=1").permits(&uri("http://localhost:2?a=1")));
        for (registered, requested) in [
            ("http://127.0.0.1/back", "http://localhost/back"),
            ("http://127.0.0.1/back", "http://127.0.0.1:1/other"),
            ("http://127.0.0.1/back", "http://127.0.0.1:1/back?x=1"),
            ("http://127.0.0.1/a/b", "http://127.0.0.1:1/a/x/../b"),
            ("http://127.0.0.1/back", "http://127.1:1/back"),
            ("http://127.0.0.1/back", "https://127.0.0.1/back"),
            ("https://127.0.0.1/back", "https://127.0.0.1:1/back"),
            ("https://app.example/back", "https://app.example:8443/back"),
            ("https://app.example/back", "https://app.example/back/"),
            ("https://app.example/back", "https://app.example/back?x=1"),
            ("https://app.example/a/b", "https://app.example/a/x/../b"),
        ] {
            assert!(!uri(registered).permits(&uri(requested)), "{registered} {requested}");
        }
    }

    #[test]
    fn existing_query_parameters_are_kept() {
        let redirect = uri("https://app.example/back?a=1").with(&[("code", "x y"), ("iss", "https://b.example")]);
        assert_eq!(redirect, "https://app.example/back?a=1&code=x+y&iss=https%3A%2F%2Fb.example");
    }
}
