//! A server, as a person names it.

use serde::{Deserialize, Serialize};
use url::{Position, Url};

use crate::handoff::HandOffRefusal;

/// The name of the field in which the person names it.
pub(super) const FIELD: &str = "server";

/// What an answer to it looks like.
pub(super) const EXAMPLE: &str = "mastodon.social";

/// More than any name of a server with a path behind it.
const MAX_TYPED: usize = 500;

/// A server: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Server(Url);

/// This names no server.
#[derive(Debug, thiserror::Error)]
#[error("this names no server")]
pub(super) struct NoServer;

impl Server {
    /// Reads what a person typed: `mastodon.social`, its address, or a handle
    /// of an account there. `http` is taken as typed; whether it may be called
    /// is not decided here.
    pub(super) fn parse(typed: &str) -> Result<Self, HandOffRefusal> {
        Self::read(typed.trim()).ok_or_else(|| refused(format!("Type the name of your server, such as {EXAMPLE}.")))
    }

    fn read(typed: &str) -> Option<Self> {
        if MAX_TYPED < typed.len() {
            return None;
        }
        if typed.contains("://") {
            return Self::of(&Url::parse(typed).ok()?);
        }
        let before_path = typed.split('/').next()?;
        let host = before_path.rsplit('@').next()?;
        Self::of(&Url::parse(&format!("https://{host}")).ok()?)
    }

    /// The server of an address.
    pub(super) fn of(url: &Url) -> Option<Self> {
        let is_web = matches!(url.scheme(), "http" | "https");
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        let has_host = url.host_str().is_some_and(|it| !it.is_empty());
        if !is_web || !is_anonymous || !has_host {
            return None;
        }
        Url::parse(&url[..Position::BeforePath]).ok().map(Self)
    }

    /// The server of an address in writing.
    pub(super) fn named(issuer: &str) -> Option<Self> {
        Self::of(&Url::parse(issuer).ok()?)
    }

    /// Its host, and its port where that is not the usual one.
    pub(super) fn name(&self) -> &str {
        &self.0[Position::BeforeHost..Position::AfterPort]
    }

    /// Scheme, host and port, without a slash at the end.
    pub(super) fn origin(&self) -> &str {
        &self.0[..Position::BeforePath]
    }

    /// An address on this server. A path that cannot be part of one leads to the
    /// server itself.
    pub(super) fn url(&self, path: &str) -> Url {
        let joined = format!("{}/{}", self.origin(), path.trim_start_matches('/'));
        Url::parse(&joined).unwrap_or_else(|_| self.0.clone())
    }

    /// The path and query of an address of this server; `None` when it is
    /// another's.
    pub(super) fn path_of(&self, address: &str) -> Option<String> {
        let url = Url::parse(address).ok()?;
        let is_here = Self::of(&url)? == *self;
        is_here.then(|| url[Position::BeforePath..Position::AfterQuery].to_owned())
    }
}

impl From<Server> for String {
    fn from(server: Server) -> Self {
        server.origin().to_owned()
    }
}

impl TryFrom<String> for Server {
    type Error = NoServer;

    fn try_from(origin: String) -> Result<Self, NoServer> {
        Self::named(&origin).ok_or(NoServer)
    }
}

/// The answer to a person whose input names no server that can be used.
pub(super) fn refused(message: String) -> HandOffRefusal {
    HandOffRefusal::Field { name: FIELD, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_in_what_people_type() {
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
            let server = Server::parse(typed).unwrap();
            assert_eq!((server.origin(), server.name()), (origin, name), "{typed}");
        }
    }

    #[test]
    fn what_names_no_server_is_asked_for_again() {
        let long = format!("{}.example", "a".repeat(MAX_TYPED));
        for typed in ["", " ", "@", "@keeper@", "two words", "ftp://mastodon.social", "https://", &long, "a:b", "/x"] {
            let Err(HandOffRefusal::Field { name: "server", message }) = Server::parse(typed) else {
                panic!("{typed}")
            };
            assert_eq!(message, "Type the name of your server, such as mastodon.social.");
        }
        assert!(Server::read("https://user:password@mastodon.social").is_none());
    }

    #[test]
    fn only_addresses_of_the_same_server_have_a_path_there() {
        let server = Server::parse("harbour.example").unwrap();

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
    fn a_server_is_stored_as_its_origin() {
        let server = Server::parse("harbour.example:8443").unwrap();
        let stored = serde_json::to_string(&server).unwrap();

        assert_eq!(stored, r#""https://harbour.example:8443""#);
        assert_eq!(serde_json::from_str::<Server>(&stored).unwrap(), server);
        assert_eq!(server.url("/api/v1/apps").as_str(), "https://harbour.example:8443/api/v1/apps");
    }
}
