//! A user and their homeserver, as users name them.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

/// The longest id of a user, in bytes, with `@` and domain.
const MAX_ID: usize = 255;

/// In bytes; more than any URL of a homeserver.
const MAX_ADDRESS: usize = 500;

/// A user: `@alice:example.org`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct UserId(String);

#[derive(Debug, thiserror::Error)]
#[error("not a valid Matrix identifier")]
pub(super) struct InvalidName;

impl UserId {
    /// Parses an id. The name may have any character except spaces and control characters, because
    /// old servers allowed many.
    pub(super) fn parse(typed: &str) -> Option<Self> {
        let (name, domain) = typed.strip_prefix('@')?.split_once(':')?;
        let is_name = !name.is_empty() && !name.contains(|it: char| it.is_whitespace() || it.is_control());
        let is_id = typed.len() <= MAX_ID && is_name && domain_url(domain).is_some();
        is_id.then(|| Self(typed.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn name(&self) -> &str {
        &self.0[1..]
    }

    /// The user's domain, with its port if it has one.
    pub(super) fn domain(&self) -> &str {
        self.0.split_once(':').map_or("", |(_, domain)| domain)
    }

    /// The origin that names the domain's homeserver. Without the port, which is another server's.
    pub(super) fn origin(&self) -> Option<Homeserver> {
        let mut url = domain_url(self.domain())?;
        url.set_port(None).ok()?;
        Some(Homeserver(url))
    }

    /// The homeserver of a domain that names none.
    pub(super) fn itself(&self) -> Option<Homeserver> {
        domain_url(self.domain()).map(Homeserver)
    }
}

fn domain_url(domain: &str) -> Option<Url> {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-' | b':' | b'[' | b']');
    let url = Url::parse(&format!("https://{domain}")).ok()?;
    (!domain.is_empty() && domain.bytes().all(is_plain) && url.has_host()).then_some(url)
}

impl TryFrom<String> for UserId {
    type Error = InvalidName;

    fn try_from(id: String) -> Result<Self, InvalidName> {
        Self::parse(&id).ok_or(InvalidName)
    }
}

impl From<UserId> for String {
    fn from(id: UserId) -> Self {
        id.0
    }
}

/// A homeserver: the base URL of its API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Homeserver(Url);

impl Homeserver {
    /// Parses a URL or a domain. Accepts `http`; whether it may be called is decided elsewhere.
    pub(super) fn parse(typed: &str) -> Option<Self> {
        if MAX_ADDRESS < typed.len() {
            return None;
        }
        if !typed.contains("://") {
            return domain_url(&typed.to_ascii_lowercase()).map(Self);
        }
        let mut url = Url::parse(typed).ok()?;
        let is_web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|it| !it.is_empty());
        if !is_web || !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        url.set_query(None);
        url.set_fragment(None);
        Some(Self(url))
    }

    pub(super) fn base(&self) -> &Url {
        &self.0
    }

    pub(super) fn url(&self, parts: &[&str]) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        url
    }

    /// Its host, with its port if that is not the default.
    pub(super) fn name(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

/// A homeserver, and the URL, typed or derived from the user's domain, where it was found.
pub(super) struct FoundHomeserver {
    pub(super) server: Homeserver,
    pub(super) found_at: Homeserver,
}

impl FoundHomeserver {
    /// Whether a URL belongs to the operator of this homeserver: at its origin, or by https at or
    /// below the domain where it was found.
    pub(super) fn owns(&self, address: &Url) -> bool {
        let is_same_or_subdomain =
            |host: &str, domain: &str| host.strip_suffix(domain).is_some_and(|it| it.is_empty() || it.ends_with('.'));
        let is_at_domain = match (address.domain(), self.found_at.0.domain()) {
            (Some(host), Some(domain)) => address.scheme() == "https" && is_same_or_subdomain(host, domain),
            _ => false,
        };
        address.as_str().len() <= MAX_ADDRESS && (is_at_domain || address.origin() == self.server.0.origin())
    }
}

impl fmt::Display for Homeserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl TryFrom<String> for Homeserver {
    type Error = InvalidName;

    fn try_from(address: String) -> Result<Self, InvalidName> {
        Self::parse(&address).ok_or(InvalidName)
    }
}

impl From<Homeserver> for String {
    fn from(server: Homeserver) -> Self {
        server.0.into()
    }
}

/// A matrix.to link to a user or an event, which opens in the reader's own client.
pub(super) fn link(parts: &[&str]) -> Option<String> {
    let mut url = Url::parse("https://matrix.to/").ok()?;
    url.path_segments_mut().ok()?.pop_if_empty().extend(parts);
    Some(format!("https://matrix.to/#{}", url.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_id_needs_a_domain() {
        for (id, domain) in [
            ("@alice:example.org", "example.org"),
            ("@Old Name:example.org", ""),
            ("@a.b_c=d-e/f:example.org", "example.org"),
            ("@alice:example.org:8448", "example.org:8448"),
            ("@alice:[2001:db8::1]", "[2001:db8::1]"),
            ("@alice:127.0.0.1:8008", "127.0.0.1:8008"),
            ("alice:example.org", ""),
            ("@alice", ""),
            ("@:example.org", ""),
            ("@alice:", ""),
            ("@alice:exa mple.org", ""),
            ("@alice:example.org/path", ""),
            ("@alice:user@example.org", ""),
        ] {
            let user = UserId::parse(id);
            assert_eq!(user.as_ref().map_or("", UserId::domain), domain, "{id}");
        }
        assert!(UserId::parse(&format!("@{}:example.org", "a".repeat(250))).is_none());
    }

    #[test]
    fn origin_of_a_domain_has_no_port() {
        let user = UserId::parse("@alice:example.org:8448").unwrap();
        assert_eq!(user.origin().unwrap().to_string(), "https://example.org/");
        assert_eq!(user.itself().unwrap().to_string(), "https://example.org:8448/");
    }

    #[test]
    fn homeserver_is_parsed_from_url_or_domain() {
        for (typed, read) in [
            ("Example.org", "https://example.org/"),
            ("example.org:8443", "https://example.org:8443/"),
            ("https://example.org/matrix/?a#b", "https://example.org/matrix/"),
            ("http://127.0.0.1:8008", "http://127.0.0.1:8008/"),
        ] {
            assert_eq!(Homeserver::parse(typed).unwrap().to_string(), read, "{typed}");
        }
        for typed in ["", "ftp://example.org", "https://a:b@example.org/", "two words", "@alice:example.org", "a/b"] {
            assert!(Homeserver::parse(typed).is_none(), "{typed}");
        }
    }

    #[test]
    fn path_segments_are_encoded_in_urls() {
        let server = Homeserver::parse("https://example.org/matrix/").unwrap();
        let url = server.url(&["_matrix", "client", "v3", "rooms", "!a/../b?c#d%:e", "send"]);
        assert_eq!(url.as_str(), "https://example.org/matrix/_matrix/client/v3/rooms/!a%2F..%2Fb%3Fc%23d%25:e/send");
        let link = link(&["!room:example.org", "$event/with+slash"]).unwrap();
        assert_eq!(link, "https://matrix.to/#/!room:example.org/$event%2Fwith+slash");
    }
}
