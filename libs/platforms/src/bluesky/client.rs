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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScopeSet {
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

impl ScopeSet {
    pub(super) const fn scope(self) -> &'static str {
        match self {
            Self::Posts => {
                "atproto repo:app.bsky.feed.post blob:image/* blob:video/* rpc:com.atproto.repo.uploadBlob?aud=* \
                 rpc:app.bsky.video.getUploadLimits?aud=*"
            }
            Self::Everything => "atproto transition:generic",
        }
    }

    fn document(self, urls: &CallbackUrls) -> String {
        match self {
            Self::Posts => urls.client_document.clone(),
            Self::Everything => format!("{}?{EVERYTHING}", urls.client_document),
        }
    }
}

const EVERYTHING: &str = "scope=everything";

/// This service as the client of one grant. The key that requested the grant has to be used for it
/// forever.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    extent: ScopeSet,
    /// `None` for a client at loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<NamedKey>,
}

impl Client {
    pub(super) fn for_loopback(redirect_uri: &str, extent: ScopeSet) -> Self {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", extent.scope())
            .finish();
        Self { id: format!("http://localhost?{}", query.replace('+', "%20")), extent, key: None }
    }

    pub(super) fn new(urls: &CallbackUrls, key: NamedKey, extent: ScopeSet) -> Self {
        Self { id: extent.document(urls), extent, key: Some(key) }
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

pub(super) fn is_loopback_origin(urls: &CallbackUrls) -> bool {
    let Ok(origin) = Url::parse(&urls.origin) else { return false };
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
pub(super) fn redirect_uri(urls: &CallbackUrls) -> String {
    match Url::parse(&urls.redirect_uri) {
        Ok(mut url) if is_loopback_origin(urls) && url.host_str() == Some("localhost") => {
            match url.set_host(Some("127.0.0.1")) {
                Ok(()) => url.into(),
                Err(_) => urls.redirect_uri.clone(),
            }
        }
        _ => urls.redirect_uri.clone(),
    }
}

/// Our document at the URL that `here` names, with these keys; `None` for any other URL.
pub(super) fn document(urls: &CallbackUrls, name: &str, keys: &[NamedKey]) -> Option<Value> {
    let extent = match urls.client_document.split_once('?') {
        None => ScopeSet::Posts,
        Some((_, query)) if query == EVERYTHING => ScopeSet::Everything,
        Some(_) => return None,
    };
    let keys: Vec<Value> = keys.iter().map(NamedKey::public).collect();
    Some(json!({
        "client_id": urls.client_document,
        "client_name": name,
        "client_uri": urls.origin,
        "application_type": "web",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "redirect_uris": [redirect_uri(urls)],
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
        let urls = CallbackUrls::new("http://localhost:8080", "bluesky");
        assert!(is_loopback_origin(&urls));
        assert!(is_loopback_origin(&CallbackUrls::new("http://127.0.0.1:8080", "bluesky")));
        assert!(!is_loopback_origin(&CallbackUrls::new("https://localhost", "bluesky")));
        assert!(!is_loopback_origin(&CallbackUrls::new("https://social.example", "bluesky")));

        let redirect_uri = redirect_uri(&urls);
        assert_eq!(redirect_uri, "http://127.0.0.1:8080/connect/callback/bluesky");
        let client = Client::for_loopback(&redirect_uri, ScopeSet::Posts);
        assert!(client.id.starts_with("http://localhost?redirect_uri=http%3A%2F%2F127.0.0.1%3A8080%2Fconnect"));
        assert!(client.id.contains("&scope=atproto%20repo%3A"), "{}", client.id);
        assert_eq!(client.assertion_fields("https://pds.example", noon()).unwrap().len(), 1);
        let everything = Client::for_loopback(&redirect_uri, ScopeSet::Everything);
        assert!(everything.id.ends_with("&scope=atproto%20transition%3Ageneric"), "{}", everything.id);
    }

    #[test]
    fn client_document_exists_for_each_extent_only() {
        let urls = CallbackUrls::new("https://social.example", "bluesky");
        for extent in [ScopeSet::Posts, ScopeSet::Everything] {
            let urls = CallbackUrls { client_document: extent.document(&urls), ..urls.clone() };
            let document = document(&urls, "Ours", &[]).unwrap();
            assert_eq!(document["client_id"], urls.client_document);
            assert_eq!(document["scope"], extent.scope());
        }
        let client_document = format!("{}?scope=nothing", urls.client_document);
        assert_eq!(document(&CallbackUrls { client_document, ..urls }, "Ours", &[]), None);
    }

    #[test]
    fn client_document_shows_only_public_keys() {
        let urls = CallbackUrls::new("https://social.example", "bluesky");
        let key = || NamedKey { kid: "k1".to_owned(), key: SigningKey::generate().unwrap() };

        let form = Client::new(&urls, key(), ScopeSet::Posts).assertion_fields("https://pds.example", noon()).unwrap();
        let document = document(&urls, "Ours", &[key()]).unwrap();

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
