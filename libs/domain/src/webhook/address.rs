use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use url::Url;

/// The URL of an endpoint: http or https, with a host, without credentials and fragment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct EndpointUrl(Url);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidUrl {
    #[error("must be a URL such as https://example.com/webhooks")]
    NotAUrl,
    #[error("may have at most 2,048 characters")]
    TooLong,
    #[error("may not contain a username or password; requests are signed instead")]
    Credentials,
    #[error("may not contain a fragment (# and what follows), because servers never receive it")]
    Fragment,
}

const MAX_BYTES: usize = 2048;

impl EndpointUrl {
    pub fn parse(raw: &str) -> Result<Self, InvalidUrl> {
        if MAX_BYTES < raw.len() {
            return Err(InvalidUrl::TooLong);
        }
        let url = Url::parse(raw).map_err(|_| InvalidUrl::NotAUrl)?;
        if !matches!(url.scheme(), "https" | "http") || !url.has_host() {
            return Err(InvalidUrl::NotAUrl);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidUrl::Credentials);
        }
        if url.fragment().is_some() {
            return Err(InvalidUrl::Fragment);
        }
        // In the stored form, each letter of other scripts takes several characters.
        if MAX_BYTES < url.as_str().len() {
            return Err(InvalidUrl::TooLong);
        }
        Ok(Self(url))
    }

    pub fn url(&self) -> &Url {
        &self.0
    }
}

impl From<EndpointUrl> for String {
    fn from(url: EndpointUrl) -> Self {
        url.0.into()
    }
}

impl TryFrom<String> for EndpointUrl {
    type Error = InvalidUrl;

    fn try_from(raw: String) -> Result<Self, InvalidUrl> {
        Self::parse(&raw)
    }
}

impl fmt::Display for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_http_url_is_an_endpoint() {
        assert_eq!(EndpointUrl::parse("https://a.example/x?y=1").unwrap().to_string(), "https://a.example/x?y=1");
        let long = format!("https://a.example/{}", "x".repeat(2048));
        for (raw, expected) in [
            ("a.example", InvalidUrl::NotAUrl),
            ("ftp://a.example", InvalidUrl::NotAUrl),
            ("javascript:alert(1)", InvalidUrl::NotAUrl),
            ("https://me:pw@a.example", InvalidUrl::Credentials),
            ("https://a.example/#x", InvalidUrl::Fragment),
            (&long, InvalidUrl::TooLong),
        ] {
            assert_eq!(EndpointUrl::parse(raw), Err(expected), "{raw}");
        }
    }
    #[test]
    fn accepted_url_parses_back() {
        let letters = |number| format!("https://a.example/{}", "ä".repeat(number));
        let parsed = EndpointUrl::parse(&letters(330)).unwrap();
        let read = serde_json::from_str::<EndpointUrl>(&serde_json::to_string(&parsed).unwrap()).unwrap();
        assert_eq!(read, parsed);
        assert_eq!(EndpointUrl::parse(&letters(1_000)), Err(InvalidUrl::TooLong), "six characters each, as it is kept");
    }
}
