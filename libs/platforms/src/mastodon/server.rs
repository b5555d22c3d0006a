//! A server, as a user names it.

use serde::{Deserialize, Serialize};
use url::{Position, Url};

use crate::connect_flow::ConnectError;

pub(super) const FIELD: &str = "server";

pub(super) const EXAMPLE: &str = "mastodon.social";

/// More than any name of a server with a path after it, in bytes.
const MAX_TYPED: usize = 500;

pub(super) struct TypedServer {
    pub(super) server: Server,
    /// The username, if a handle was typed.
    pub(super) username: Option<String>,
}

/// A server: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Server(Url);

#[derive(Debug, thiserror::Error)]
#[error("not the name of a server")]
pub(super) struct InvalidServer;

impl TypedServer {
    /// Parses `mastodon.social`, a URL, or a handle. Accepts `http`; whether it may be called is
    /// decided elsewhere.
    pub(super) fn parse(typed: &str) -> Result<Self, ConnectError> {
        Self::read(typed.trim()).ok_or_else(|| refused(format!("Type the name of your server, such as {EXAMPLE}.")))
    }

    fn read(typed: &str) -> Option<Self> {
        if MAX_TYPED < typed.len() {
            return None;
        }
        if typed.contains("://") {
            let url = Url::parse(typed).ok()?;
            let page = url.path_segments().and_then(|mut it| it.next()).and_then(|it| it.strip_prefix('@'));
            return Some(Self { server: Server::from_url(&url)?, username: page.and_then(username) });
        }
        let (host, page) = typed.split_once('/').unwrap_or((typed, ""));
        let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
        let username = username(user.trim_start_matches('@'))
            .or_else(|| page.strip_prefix('@').and_then(|it| username(it.trim_end_matches('/'))));
        Some(Self { server: Server::from_url(&Url::parse(&format!("https://{host}")).ok()?)?, username })
    }
}

impl From<Server> for TypedServer {
    fn from(server: Server) -> Self {
        Self { server, username: None }
    }
}

fn username(raw: &str) -> Option<String> {
    let is_plain = raw.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.'));
    (is_plain && !raw.is_empty()).then(|| raw.to_owned())
}

impl Server {
    pub(super) fn from_url(url: &Url) -> Option<Self> {
        let is_web = matches!(url.scheme(), "http" | "https");
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        let has_host = url.host_str().is_some_and(|it| !it.is_empty());
        if !is_web || !is_anonymous || !has_host {
            return None;
        }
        Url::parse(&url[..Position::BeforePath]).ok().map(Self)
    }

    pub(super) fn named(issuer: &str) -> Option<Self> {
        Self::from_url(&Url::parse(issuer).ok()?)
    }

    /// The server that this one names by a domain or a URL.
    pub(super) fn called(&self, name: &str) -> Option<Self> {
        let url = if name.contains("://") { name.to_owned() } else { format!("{}://{name}", self.0.scheme()) };
        Self::named(&url).filter(|it| name.len() <= MAX_TYPED && it.0.scheme() == self.0.scheme())
    }

    /// Its host, with its port if that is not the default.
    pub(super) fn name(&self) -> &str {
        &self.0[Position::BeforeHost..Position::AfterPort]
    }

    /// Scheme, host and port, without a trailing slash.
    pub(super) fn origin(&self) -> &str {
        &self.0[..Position::BeforePath]
    }

    /// A URL on this server. An invalid path gives the URL of the server itself.
    pub(super) fn url(&self, path: &str) -> Url {
        let joined = format!("{}/{}", self.origin(), path.trim_start_matches('/'));
        Url::parse(&joined).unwrap_or_else(|_| self.0.clone())
    }

    /// The path and query of a URL on this server; `None` if the URL is on another one.
    pub(super) fn path_of(&self, address: &str) -> Option<String> {
        let url = Url::parse(address).ok()?;
        let is_same_server = Self::from_url(&url)? == *self;
        is_same_server.then(|| url[Position::BeforePath..Position::AfterQuery].to_owned())
    }
}

impl From<Server> for String {
    fn from(server: Server) -> Self {
        server.origin().to_owned()
    }
}

impl TryFrom<String> for Server {
    type Error = InvalidServer;

    fn try_from(origin: String) -> Result<Self, InvalidServer> {
        Self::named(&origin).ok_or(InvalidServer)
    }
}

pub(super) fn refused(message: String) -> ConnectError {
    ConnectError::Field { name: FIELD, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_is_parsed_from_typed_text() {
        for (typed, origin, name) in [
            ("mastodon.social", "https://mastodon.social", "mastodon.social"),
            ("  Mastodon.Social ", "https://mastodon.social", "mastodon.social"),
            ("https://mastodon.social/", "https://mastodon.social", "mastodon.social"),
            ("https://mastodon.social/@keeper", "https://mastodon.social", "mastodon.social"),
            ("mastodon.social/@keeper", "https://mastodon.social", "mastodon.social"),
            ("@keeper@mastodon.social", "https://mastodon.social", "mastodon.social"),
            ("keeper@mastodon.social", "https://mastodon.social", "mastodon.social"),
            ("harbour.example:8443", "https://harbour.example:8443", "harbour.example:8443"),
            ("https://harbour.example:443", "https://harbour.example", "harbour.example"),
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000", "127.0.0.1:3000"),
            ("münchen.example", "https://xn--mnchen-3ya.example", "xn--mnchen-3ya.example"),
        ] {
            let server = TypedServer::parse(typed).unwrap().server;
            assert_eq!((server.origin(), server.name()), (origin, name), "{typed}");
        }
    }

    #[test]
    fn username_is_parsed_from_handle_or_profile_url() {
        for (typed, username) in [
            ("@keeper@harbour.example", Some("keeper")),
            ("keeper@harbour.example", Some("keeper")),
            ("https://harbour.example/@keeper", Some("keeper")),
            ("https://harbour.example/@keeper/109348", Some("keeper")),
            ("harbour.example/@keeper/", Some("keeper")),
            ("harbour.example", None),
            ("https://harbour.example/about", None),
            ("https://harbour.example/@keeper@far.example", None),
            ("@a b@harbour.example", None),
        ] {
            let parsed = TypedServer::parse(typed).unwrap();
            assert_eq!(parsed.server.name(), "harbour.example", "{typed}");
            assert_eq!(parsed.username.as_deref(), username, "{typed}");
        }
    }

    #[test]
    fn server_domain_is_a_name_or_a_url() {
        let server = Server::named("https://social.harbour.example").unwrap();
        for (domain, name) in [
            ("harbour.example", Some("harbour.example")),
            ("https://harbour.example", Some("harbour.example")),
            ("http://harbour.example", None),
            ("ftp://harbour.example", None),
            ("user@harbour.example", None),
            ("two words", None),
            ("", None),
        ] {
            let server_of_domain = server.called(domain);
            assert_eq!(server_of_domain.as_ref().map(Server::name), name, "{domain}");
        }
    }

    #[test]
    fn invalid_server_name_is_a_field_error() {
        let long = format!("{}.example", "a".repeat(MAX_TYPED));
        for typed in ["", " ", "@", "@keeper@", "two words", "ftp://mastodon.social", "https://", &long, "a:b", "/x"] {
            let Err(ConnectError::Field { name: "server", message }) = TypedServer::parse(typed) else {
                panic!("{typed}")
            };
            assert_eq!(message, "Type the name of your server, such as mastodon.social.");
        }
        assert!(TypedServer::read("https://user:password@mastodon.social").is_none());
    }

    #[test]
    fn path_is_none_for_another_server() {
        let server = Server::named("https://harbour.example").unwrap();

        assert_eq!(server.path_of("https://harbour.example/oauth/token?x=1#y").as_deref(), Some("/oauth/token?x=1"));
        for other in [
            "https://other.example/oauth/token",
            "http://harbour.example/oauth/token",
            "https://harbour.example:8443/oauth/token",
            "https://user@harbour.example/oauth/token",
            "/oauth/token",
        ] {
            assert_eq!(server.path_of(other), None, "{other}");
        }
    }

    #[test]
    fn server_is_stored_as_its_origin() {
        let server = Server::named("https://harbour.example:8443").unwrap();
        let stored = serde_json::to_string(&server).unwrap();

        assert_eq!(stored, r#""https://harbour.example:8443""#);
        assert_eq!(serde_json::from_str::<Server>(&stored).unwrap(), server);
        assert_eq!(server.url("/api/v1/apps").as_str(), "https://harbour.example:8443/api/v1/apps");
    }
}
