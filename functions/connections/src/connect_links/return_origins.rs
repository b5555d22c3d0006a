//! The origins to which the browser of a customer may return.

use std::fmt;

use url::{Host, Origin, Url};

const MAX_BYTES: usize = 2048;

/// The parameter `ReturnOrigins`. Other origins are refused, because a link must not lead anywhere:
/// customers trust the operator's address.
#[derive(Clone, Debug, Default)]
pub struct ReturnOrigins(Vec<Origin>);

#[derive(Debug, thiserror::Error)]
#[error("{0} is not like https://product.example")]
pub struct InvalidReturnOrigin(String);

/// Continues the name of the field.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReturnUrlError {
    NoUrl,
    OtherOrigin,
}

impl fmt::Display for ReturnUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUrl => {
                write!(
                    f,
                    "must be an https URL of at most {MAX_BYTES} bytes, without a user name and a fragment; on this \
                     machine, http is permitted"
                )
            }
            Self::OtherOrigin => f.write_str(
                "must have one of the origins that the operator of this deployment has set as ReturnOrigins",
            ),
        }
    }
}

impl ReturnOrigins {
    /// Parses a comma list. Each origin is https, or http on the machine itself, for development.
    pub fn parse(list: &str) -> Result<Self, InvalidReturnOrigin> {
        let origin = |raw: &str| {
            let url = Url::parse(raw).ok().filter(is_permitted);
            let origin = url.map(|it| it.origin()).filter(|it| it.ascii_serialization() == raw.trim_end_matches('/'));
            origin.ok_or_else(|| InvalidReturnOrigin(raw.to_owned()))
        };
        let listed = list.split(',').map(str::trim).filter(|it| !it.is_empty());
        listed.map(origin).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The URL in the form in which browsers read it.
    pub(super) fn return_url(&self, raw: &str) -> Result<String, ReturnUrlError> {
        let url = Url::parse(raw).ok().filter(|_| raw.len() <= MAX_BYTES).filter(is_permitted);
        let url = url.ok_or(ReturnUrlError::NoUrl)?;
        if self.0.contains(&url.origin()) { Ok(url.into()) } else { Err(ReturnUrlError::OtherOrigin) }
    }
}

fn is_permitted(url: &Url) -> bool {
    let is_secure = match (url.scheme(), url.host()) {
        ("https", Some(_)) => true,
        ("http", Some(Host::Domain(domain))) => domain == "localhost",
        ("http", Some(Host::Ipv4(address))) => address.is_loopback(),
        ("http", Some(Host::Ipv6(address))) => address.is_loopback(),
        _ => false,
    };
    is_secure && url.username().is_empty() && url.password().is_none() && url.fragment().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browser_returns_only_to_a_listed_origin() {
        let origins = ReturnOrigins::parse("https://product.example, http://localhost:8080/").unwrap();
        let url = |raw: &str| origins.return_url(raw);

        assert_eq!(url("https://product.example/done?a=1").unwrap(), "https://product.example/done?a=1");
        assert_eq!(url("HTTPS://Product.example").unwrap(), "https://product.example/");
        assert_eq!(url("https:\\\\product.example\\x").unwrap(), "https://product.example/x");
        assert_eq!(url("http://localhost:8080/x").unwrap(), "http://localhost:8080/x");
        for other in [
            "https://product.example.evil.example/",
            "https://product.example:8443/",
            "http://localhost:8081/",
            "https://evil.example/https://product.example/",
            "https:evil.example/product.example",
            "https://product.example.",
        ] {
            assert_eq!(url(other), Err(ReturnUrlError::OtherOrigin), "{other}");
        }
        let endless = format!("https://product.example/{}", "x".repeat(MAX_BYTES));
        for wrong in [
            "http://product.example/",
            "https://product.example@evil.example/",
            "https://user:password@product.example/",
            "//product.example/",
            "/done",
            "javascript:alert(1)//https://product.example",
            "https://product.example/#done",
            &endless,
            "",
        ] {
            assert_eq!(url(wrong), Err(ReturnUrlError::NoUrl), "{wrong}");
        }
    }

    #[test]
    fn listed_origin_is_https_or_on_this_machine() {
        for wrong in ["http://product.example", "https://product.example/page", "product.example", "https://a.b@c.d"] {
            assert!(ReturnOrigins::parse(wrong).is_err(), "{wrong}");
        }
        assert!(ReturnOrigins::parse(" ,").unwrap().is_empty());
    }
}
