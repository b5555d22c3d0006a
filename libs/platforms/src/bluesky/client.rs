//! This service as an OAuth client, and how it authenticates itself.
//!
//! Facts: a client is known by the address of a document that it serves, and
//! is registered nowhere. One at loopback, which nobody else can reach, is
//! known by `http://localhost` with its redirect and scope in the query, has no
//! key, and its redirect must name `127.0.0.1` or `[::1]`.

use chrono::{DateTime, TimeDelta, Utc};
use domain::token;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::{Host, Url, form_urlencoded};

use super::client_key::NamedKey;
use crate::handoff::OurAddresses;
use crate::not_now::NotNow;

/// What we ask to be allowed, as narrow as it can be said: records of posts
/// (putting one wants the right to create and to change), pictures and videos,
/// and the two calls by which the video service acts for the account: it stores
/// the finished video there, and says what may still be uploaded.
pub(super) const SCOPE: &str = "atproto repo:app.bsky.feed.post blob:image/* blob:video/* \
     rpc:com.atproto.repo.uploadBlob?aud=* rpc:app.bsky.video.getUploadLimits?aud=*";

/// This service as the client of one grant. The key with which the grant was asked
/// for has to be used for it ever after.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Client {
    /// The address of our document.
    pub(super) id: String,
    /// `None` for one at loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<NamedKey>,
}

impl Client {
    /// The one at loopback.
    pub(super) fn at_loopback(redirect_uri: &str) -> Self {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", SCOPE)
            .finish();
        Self { id: format!("http://localhost?{}", query.replace('+', "%20")), key: None }
    }

    /// The one that has a document.
    pub(super) fn of(here: &OurAddresses, key: NamedKey) -> Self {
        Self { id: here.client_document.clone(), key: Some(key) }
    }

    /// The fields of a form by which the client authenticates itself to the server
    /// with this issuer (RFC 7523).
    pub(super) fn said_to(&self, issuer: &str, now: DateTime<Utc>) -> Result<Vec<(&'static str, String)>, NotNow> {
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

/// Whether nobody but this machine can reach us.
pub(super) fn is_at_loopback(here: &OurAddresses) -> bool {
    let Ok(origin) = Url::parse(&here.origin) else { return false };
    let is_loopback = match origin.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    origin.scheme() == "http" && is_loopback
}

/// Where the person comes back to. For a client at loopback, servers accept an
/// address here, but not the name `localhost`.
pub(super) fn redirect_uri(here: &OurAddresses) -> String {
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

/// Our document, with these keys.
pub(super) fn document(here: &OurAddresses, name: &str, keys: &[NamedKey]) -> Value {
    let keys: Vec<Value> = keys.iter().map(NamedKey::public).collect();
    json!({
        "client_id": here.client_document,
        "client_name": name,
        "client_uri": here.origin,
        "application_type": "web",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "redirect_uris": [redirect_uri(here)],
        "scope": SCOPE,
        "dpop_bound_access_tokens": true,
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "ES256",
        "jwks": {"keys": keys},
    })
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;
    use crate::bluesky::signing_key::SigningKey;

    #[test]
    fn at_loopback_the_redirect_names_the_address_and_the_id_says_everything() {
        let here = OurAddresses::of("http://localhost:8080", "bluesky");
        assert!(is_at_loopback(&here));
        assert!(is_at_loopback(&OurAddresses::of("http://127.0.0.1:8080", "bluesky")));
        assert!(!is_at_loopback(&OurAddresses::of("https://localhost", "bluesky")));
        assert!(!is_at_loopback(&OurAddresses::of("https://social.example", "bluesky")));

        let redirect_uri = redirect_uri(&here);
        assert_eq!(redirect_uri, "http://127.0.0.1:8080/connect/callback/bluesky");
        let client = Client::at_loopback(&redirect_uri);
        assert!(client.id.starts_with("http://localhost?redirect_uri=http%3A%2F%2F127.0.0.1%3A8080%2Fconnect"));
        assert!(client.id.contains("&scope=atproto%20repo%3A"), "{}", client.id);
        assert_eq!(client.said_to("https://pds.example", noon()).unwrap().len(), 1);
    }

    #[test]
    fn elsewhere_it_signs_and_shows_only_public_halves() {
        let here = OurAddresses::of("https://social.example", "bluesky");
        let key = || NamedKey { kid: "k1".to_owned(), key: SigningKey::generate().unwrap() };

        let form = Client::of(&here, key()).said_to("https://pds.example", noon()).unwrap();
        let document = document(&here, "Ours", &[key()]);

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
