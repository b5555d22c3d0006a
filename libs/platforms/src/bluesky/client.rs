//! This service as an OAuth client, and how it authenticates itself.
//!
//! Facts: a client is identified by the URL of a document that it serves, and is registered
//! nowhere. A client at loopback, which no other machine can reach, is identified by
//! `http://localhost` with its redirect URI and scope in the query, has no key, and its redirect
//! URI must name `127.0.0.1` or `[::1]`.

use chrono::{DateTime, TimeDelta, Utc};
use domain::token;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::{Host, Url, form_urlencoded};

use super::client_key::NamedKey;
use crate::connect_flow::CallbackUrls;
use crate::dependency_error::DependencyError;

/// The access that a grant requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Extent {
    /// The narrowest possible: records of posts (a put needs the right to create and to update),
    /// pictures and videos, and the two calls by which the video service acts for the account: it
    /// stores the finished video there, and reports how much may still be uploaded.
    #[default]
    Posts,
    /// The access of an app password. Servers from before August 2025 know nothing narrower, and
    /// refuse a client whose document names anything else. A server's metadata does not tell which
    /// scopes it knows.
    Everything,
}

impl Extent {
    pub(super) const fn scope(self) -> &'static str {
        match self {
            Self::Posts => {
                "atproto repo:app.bsky.feed.post blob:image/* blob:video/* rpc:com.atproto.repo.uploadBlob?aud=* \
                 rpc:app.bsky.video.getUploadLimits?aud=*"
            }
            Self::Everything => "atproto transition:generic",
        }
    }

    /// The URL of the document that names this scope.
    fn document(self, here: &CallbackUrls) -> String {
        match self {
            Self::Posts => here.client_document.clone(),
            Self::Everything => format!("{}?{EVERYTHING}", here.client_document),
        }
    }
}

/// The query of our document's URL for [`Extent::Everything`].
const EVERYTHING: &str = "scope=everything";

/// This service as the client of one grant. The key that requested the grant has to be used for it
/// forever.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Client {
    /// The URL of our document.
    pub(super) id: String,
    #[serde(default)]
    extent: Extent,
    /// `None` for a client at loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<NamedKey>,
}

impl Client {
    pub(super) fn at_loopback(redirect_uri: &str, extent: Extent) -> Self {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", extent.scope())
            .finish();
        Self { id: format!("http://localhost?{}", query.replace('+', "%20")), extent, key: None }
    }

    /// A client that has a document.
    pub(super) fn new(here: &CallbackUrls, key: NamedKey, extent: Extent) -> Self {
        Self { id: extent.document(here), extent, key: Some(key) }
    }

    pub(super) const fn scope(&self) -> &'static str {
        self.extent.scope()
    }

    /// The form fields by which the client authenticates itself to the server with this issuer (RFC
    /// 7523).
    pub(super) fn assertion_fields(
        &self,
        issuer: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<(&'static str, String)>, DependencyError> {
        let mut form = vec![("client_id", self.id.clone())];
        if let Some(NamedKey { kid, key }) = &self.key {
            let claims = json!({
                "iss": self.id,
                "sub": self.id,
                "aud": issuer,
                "jti": token::random_token().expose_secret(),
                "iat": now.timestamp(),
                "exp": (now + TimeDelta::minutes(1)).timestamp(),
            });
            let assertion = key.sign(&json!({"alg": "ES256", "kid": kid}), &claims)?;
            form.push(("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer".to_owned()));
            form.push(("client_assertion", assertion));
        }
        Ok(form)
    }
}

/// Whether only this machine can reach us.
pub(super) fn is_at_loopback(here: &CallbackUrls) -> bool {
    let Ok(origin) = Url::parse(&here.origin) else { return false };
    let is_loopback = match origin.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    origin.scheme() == "http" && is_loopback
}

/// The redirect URI. For a client at loopback, servers accept an IP address here, but not the name
/// `localhost`.
pub(super) fn redirect_uri(here: &CallbackUrls) -> String {
    match Url::parse(&here.redirect_uri) {
        Ok(mut url) if is_at_loopback(here) && url.host_str() == Some("localhost") => {
            match url.set_host(Some("127.0.0.1")) {
                Ok(()) => url.into(),
                Err(_) => here.redirect_uri.clone(),
            }
        }
        _ => here.redirect_uri.clone(),
    }
}

/// Our document at the URL that `here` names, with these keys; `None` for any other URL.
pub(super) fn document(here: &CallbackUrls, name: &str, keys: &[NamedKey]) -> Option<Value> {
    let extent = match here.client_document.split_once('?') {
        None => Extent::Posts,
        Some((_, query)) if query == EVERYTHING => Extent::Everything,
        Some(_) => return None,
    };
    let keys: Vec<Value> = keys.iter().map(NamedKey::public).collect();
    Some(json!({
        "client_id": here.client_document,
        "client_name": name,
        "client_uri": here.origin,
        "application_type": "web",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "redirect_uris": [redirect_uri(here)],
        "scope": extent.scope(),
        "dpop_bound_access_tokens": true,
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "ES256",
        "jwks": {"keys": keys},
    }))
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;
    use crate::bluesky::signing_key::SigningKey;

    #[test]
    fn loopback_client_has_its_scope_in_the_id() {
        let here = CallbackUrls::of("http://localhost:8080", "bluesky");
        assert!(is_at_loopback(&here));
        assert!(is_at_loopback(&CallbackUrls::of("http://127.0.0.1:8080", "bluesky")));
        assert!(!is_at_loopback(&CallbackUrls::of("https://localhost", "bluesky")));
        assert!(!is_at_loopback(&CallbackUrls::of("https://social.example", "bluesky")));

        let redirect_uri = redirect_uri(&here);
        assert_eq!(redirect_uri, "http://127.0.0.1:8080/connect/callback/bluesky");
        let client = Client::at_loopback(&redirect_uri, Extent::Posts);
        assert!(client.id.starts_with("http://localhost?redirect_uri=http%3A%2F%2F127.0.0.1%3A8080%2Fconnect"));
        assert!(client.id.contains("&scope=atproto%20repo%3A"), "{}", client.id);
        assert_eq!(client.assertion_fields("https://pds.example", noon()).unwrap().len(), 1);
        let everything = Client::at_loopback(&redirect_uri, Extent::Everything);
        assert!(everything.id.ends_with("&scope=atproto%20transition%3Ageneric"), "{}", everything.id);
    }

    #[test]
    fn client_document_exists_for_each_extent_only() {
        let here = CallbackUrls::of("https://social.example", "bluesky");
        for extent in [Extent::Posts, Extent::Everything] {
            let here = CallbackUrls { client_document: extent.document(&here), ..here.clone() };
            let document = document(&here, "Ours", &[]).unwrap();
            assert_eq!(document["client_id"], here.client_document);
            assert_eq!(document["scope"], extent.scope());
        }
        let client_document = format!("{}?scope=nothing", here.client_document);
        assert_eq!(document(&CallbackUrls { client_document, ..here }, "Ours", &[]), None);
    }

    #[test]
    fn client_document_shows_only_public_keys() {
        let here = CallbackUrls::of("https://social.example", "bluesky");
        let key = || NamedKey { kid: "k1".to_owned(), key: SigningKey::generate().unwrap() };

        let form = Client::new(&here, key(), Extent::Posts).assertion_fields("https://pds.example", noon()).unwrap();
        let document = document(&here, "Ours", &[key()]).unwrap();

        assert_eq!(
            form.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["client_id", "client_assertion_type", "client_assertion"]
        );
        assert_eq!(form[0].1, document["client_id"].as_str().unwrap());
        assert_eq!(document["jwks"]["keys"][0]["kid"], "k1");
        assert!(document["jwks"]["keys"][0].get("d").is_none());
        assert_eq!(document["redirect_uris"], json!(["https://social.example/connect/callback/bluesky"]));
    }
}
