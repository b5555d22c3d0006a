use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use super::{is_loopback, plain};

/// The id of a client: the URL of the document that describes it. At most 1,024 bytes.
///
/// Only the normalized spelling is accepted, so that two ids are equal exactly when their texts
/// are.
///
/// Source: OAuth Client ID Metadata Document, section 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ClientId(Url);

impl ClientId {
    /// Accepts http for this machine only; whether it may be called is decided where calls are
    /// made.
    pub fn parse(raw: &str) -> Option<Self> {
        let url = plain(raw)?;
        let is_encrypted = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
        let is_id = is_encrypted && url.path() != "/" && url.as_str() == raw;
        is_id.then_some(Self(url))
    }

    pub fn url(&self) -> &Url {
        &self.0
    }

    /// The server that vouches for the client: the only part that users can trust.
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
        Self::parse(&raw).ok_or("not a valid client id")
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
    fn client_id_is_a_url_in_normalized_form() {
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
