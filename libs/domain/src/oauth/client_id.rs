//! The id of a client: the address of the document that describes it.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use super::{is_loopback, plain};

/// The id of a client: the address of the document that describes it.
///
/// Written in the one way that its parts can be written in, so that two are the
/// same client exactly when they are the same text. At most 1,024 bytes.
///
/// Source: OAuth Client ID Metadata Document, section 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ClientId(Url);

impl ClientId {
    /// Reads one. http is an address of this very machine: whether it may be
    /// called at all is decided where calls are made.
    pub fn parse(raw: &str) -> Option<Self> {
        let url = plain(raw)?;
        let is_encrypted = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
        let is_id = is_encrypted && url.path() != "/" && url.as_str() == raw;
        is_id.then_some(Self(url))
    }

    /// Where the document is.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// The server that vouches for the client: what can be believed of it.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }
}

impl From<ClientId> for String {
    fn from(id: ClientId) -> Self {
        id.0.into()
    }
}

impl TryFrom<String> for ClientId {
    type Error = &'static str;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        Self::parse(&raw).ok_or("not the address of a client's document")
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_address_of_a_document_written_in_one_way() {
        for id in ["https://app.example/oauth/client.json", "https://app.example:8443/c", "http://127.0.0.1:9/c"] {
            assert_eq!(ClientId::parse(id).unwrap().to_string(), id);
        }
        let endless = format!("https://app.example/{}", "x".repeat(1024));
        for raw in [
            "app",
            "https://app.example",
            "https://app.example/",
            "http://app.example/c",
            "http://localhost.evil.example/c",
            "https://App.example/c",
            "https://app.example:443/c",
            "https://app.example/a/../c",
            "https://app.example/a/%2e%2e/c",
            "https://app.example/c#x",
            "https://me@app.example/c",
            "https://app.exa\tmple/c",
            "https://äpp.example/c",
            "javascript:alert(1)",
            &endless,
        ] {
            assert_eq!(ClientId::parse(raw), None, "{raw}");
        }
    }
}
