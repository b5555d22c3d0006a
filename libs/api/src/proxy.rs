mod config;

use std::net::{IpAddr, SocketAddr};

use domain::oauth::Resource;
use http::header::InvalidHeaderValue;
use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

/// Proves by a secret in a header that a request came through it, and passes the client address in
/// another header.
#[derive(Clone, Debug)]
pub struct TrustedProxy {
    /// Such as `x-client-address`.
    pub address_header: HeaderName,
    /// Known only to the proxy and this service.
    pub secret: SecretString,
    /// The resource for which the tokens of its requests were issued: [`Resource::Mcp`] for the
    /// function `mcp`, else [`Resource::Api`].
    pub resource: Resource,
}

const PROOF: HeaderName = HeaderName::from_static("x-proxy-secret");

/// The header in which the function `mcp` passes the address of its caller.
const CLIENT_ADDRESS: HeaderName = HeaderName::from_static("x-client-address");

impl TrustedProxy {
    pub fn mcp(secret: SecretString) -> Self {
        Self { address_header: CLIENT_ADDRESS, secret, resource: Resource::Mcp }
    }

    /// The headers that pass on the address of a client, with the secret.
    ///
    /// # Errors
    /// If the secret has characters that a header may not contain.
    pub fn forwarding_headers(&self, address: IpAddr) -> Result<HeaderMap, InvalidHeaderValue> {
        let mut proof = HeaderValue::try_from(self.secret.expose_secret())?;
        proof.set_sensitive(true);
        let address = HeaderValue::try_from(address.to_string())?;
        Ok([(PROOF, proof), (self.address_header.clone(), address)].into_iter().collect())
    }

    pub(crate) fn is_proven_by(&self, headers: &HeaderMap) -> bool {
        let expected = self.secret.expose_secret().as_bytes();
        let mut sent = headers.get_all(PROOF).iter();
        !expected.is_empty() && sent.any(|it| bool::from(it.as_bytes().ct_eq(expected)))
    }

    /// `None` unless the request proves that this proxy wrote the address.
    pub(crate) fn client_address(&self, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.is_proven_by(headers) {
            return None;
        }
        // The last value was added last, so the proxy wrote it.
        let value = headers.get_all(&self.address_header).iter().next_back()?.to_str().ok()?;
        address(value.rsplit(',').next()?.trim())
    }
}

/// With or without a port.
fn address(raw: &str) -> Option<IpAddr> {
    let without_port = raw.parse().ok();
    let with_port = || raw.parse::<SocketAddr>().ok().map(|it| it.ip());
    // CloudFront writes no brackets around an IPv6 address before its port.
    let without_brackets = || raw.rsplit_once(':').and_then(|(address, _)| address.parse().ok());
    without_port.or_else(with_port).or_else(without_brackets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy() -> TrustedProxy {
        TrustedProxy {
            address_header: HeaderName::from_static("cloudfront-viewer-address"),
            secret: "a secret of the proxy".into(),
            resource: Resource::Api,
        }
    }

    fn client_address(headers: &[(&'static str, &'static str)]) -> Option<String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        proxy().client_address(&map).map(|it| it.to_string())
    }

    const PROVEN: (&str, &str) = ("x-proxy-secret", "a secret of the proxy");

    #[test]
    fn passed_on_address_is_trusted_and_secret_is_not_printed() {
        let mcp = TrustedProxy::mcp("a secret of two functions".into());
        for address in ["198.51.100.7", "2001:db8::7"] {
            let headers = mcp.forwarding_headers(address.parse().unwrap()).unwrap();
            assert_eq!(mcp.client_address(&headers).map(|it| it.to_string()).as_deref(), Some(address));
            assert_eq!(proxy().client_address(&headers), None, "another proxy's secret");
            assert!(!format!("{headers:?}").contains("a secret of"));
        }
    }

    #[test]
    fn only_the_proxy_sets_the_address() {
        let address = ("cloudfront-viewer-address", "198.51.100.7:46532");
        assert_eq!(client_address(&[PROVEN, address]).as_deref(), Some("198.51.100.7"));
        assert_eq!(client_address(&[address]), None);
        assert_eq!(client_address(&[("x-proxy-secret", "a guess"), address]), None);
        assert_eq!(client_address(&[("x-proxy-secret", ""), address]), None);
        assert_eq!(client_address(&[PROVEN]), None);
        assert_eq!(client_address(&[PROVEN, ("x-forwarded-for", "198.51.100.7")]), None);
    }

    #[test]
    fn proxy_without_a_secret_is_not_trusted() {
        let open = TrustedProxy { secret: "".into(), ..proxy() };
        let mut headers = HeaderMap::new();
        headers.insert(PROOF, "".parse().unwrap());
        headers.insert("cloudfront-viewer-address", "198.51.100.7".parse().unwrap());

        assert_eq!(open.client_address(&headers), None);
    }

    #[test]
    fn value_before_the_one_of_the_proxy_is_ignored() {
        let forged = ("cloudfront-viewer-address", "203.0.113.1");
        let listed = ("cloudfront-viewer-address", "203.0.113.1, 198.51.100.7");
        let address = ("cloudfront-viewer-address", "198.51.100.7");
        assert_eq!(client_address(&[PROVEN, forged, address]).as_deref(), Some("198.51.100.7"));
        assert_eq!(client_address(&[PROVEN, listed]).as_deref(), Some("198.51.100.7"));
    }

    #[test]
    fn addresses_are_read_as_proxies_write_them() {
        for (text, expected) in [
            ("198.51.100.7", Some("198.51.100.7")),
            ("2001:db8::7", Some("2001:db8::7")),
            ("[2001:db8::7]:443", Some("2001:db8::7")),
            ("2001:db8:85a3:0:0:8a2e:370:7334:443", Some("2001:db8:85a3::8a2e:370:7334")),
            ("unknown", None),
            ("", None),
        ] {
            assert_eq!(address(text).map(|it| it.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_proxy_does_not_print_its_secret() {
        assert!(!format!("{:?}", proxy()).contains("a secret of"));
    }
}
