use std::fmt;
use std::net::IpAddr;

use thiserror::Error;
use url::{Host, Url};

/// Ends in `/api/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Url);

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidBaseUrl {
    #[error("{0:?} is not a URL; use one such as https://social.example")]
    NotUrl(String),
    #[error("{0:?} must start with https://, or with http:// for this machine")]
    Scheme(String),
    #[error("{0:?} must be the URL of the deployment, with no path other than /api/v1")]
    NotOnlyOrigin(String),
}

const API: &str = "/api/v1";

impl BaseUrl {
    /// `raw` is an origin, with or without `/api/v1`.
    pub fn parse(raw: &str) -> Result<Self, InvalidBaseUrl> {
        let mut url = Url::parse(raw.trim()).map_err(|_| InvalidBaseUrl::NotUrl(raw.to_owned()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidBaseUrl::Scheme(raw.to_owned()));
        }
        let has_more = url.query().is_some() || url.fragment().is_some() || !url.username().is_empty();
        let path = url.path().trim_end_matches('/');
        if has_more || !(path.is_empty() || path.ends_with(API)) {
            return Err(InvalidBaseUrl::NotOnlyOrigin(raw.to_owned()));
        }
        url.set_path(API);
        Ok(Self(url))
    }

    /// Such as `https://social.example`.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    pub fn is_this_machine(&self) -> bool {
        match self.0.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
            Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
            None => false,
        }
    }

    /// Whether a token can be sent without being read on the way: https, or this machine.
    pub fn is_secure(&self) -> bool {
        self.0.scheme() == "https" || self.is_this_machine()
    }

    /// Percent-encodes each segment.
    pub(crate) fn join(&self, path: &[&str]) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.extend(path);
        }
        url
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_url_is_parsed_with_or_without_the_api_path() {
        for raw in ["http://localhost:3000", "http://localhost:3000/", " http://localhost:3000/api/v1/ "] {
            let base = BaseUrl::parse(raw).unwrap();
            assert_eq!(base.to_string(), "http://localhost:3000/api/v1");
            assert_eq!(base.origin(), "http://localhost:3000");
        }
        for raw in ["localhost", "ftp://social.example", "https://social.example/?a=b", "https://social.example/docs"] {
            assert!(BaseUrl::parse(raw).is_err(), "{raw}");
        }
    }

    #[test]
    fn path_segments_are_encoded() {
        let base = BaseUrl::parse("https://social.example").unwrap();
        let url = base.join(&["connections", "1/2", "choices", "a?b"]);
        assert_eq!(url.as_str(), "https://social.example/api/v1/connections/1%2F2/choices/a%3Fb");
    }

    #[test]
    fn only_https_and_loopback_keep_secrets() {
        let keeps = |raw| BaseUrl::parse(raw).unwrap().is_secure();
        assert!(keeps("https://social.example") && keeps("http://localhost:1") && keeps("http://[::1]:1"));
        assert!(!keeps("http://social.example") && !keeps("http://localhost.example"));
    }
}
