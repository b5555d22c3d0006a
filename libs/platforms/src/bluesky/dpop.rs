//! Proofs that a request comes from the holder of a grant's key (RFC 9449).
//!
//! Facts: a proof is an ES256 token for one request, with the method and the URL without its query;
//! calls with an access token add its SHA-256; each server requires the nonce that it sent last,
//! and returns `use_dpop_nonce` for any other, without executing the request.

use std::collections::BTreeMap;
use std::sync::Mutex;

use chrono::{DateTime, Utc};
use domain::token;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method};
use reqwest::RequestBuilder;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;

use super::reply::{Reply, ReplyError};
use super::signing_key::SigningKey;
use crate::dependency_error::DependencyError;
use crate::http_clients::HttpClients;

/// How many servers' nonces are remembered at most. Without a bound, a caller who names one server
/// after the other could fill the memory.
const MAX_SERVERS: usize = 256;

/// In bytes. A longer nonce is not remembered.
const MAX_NONCE_BYTES: usize = 512;

/// Sends requests with a proof, signed by the grant's key and bound to the access token if there is
/// one.
#[derive(Clone, Copy)]
pub(super) struct DpopClient<'a> {
    pub(super) key: &'a SigningKey,
    pub(super) token: Option<&'a SecretString>,
    pub(super) nonces: &'a Nonces,
    pub(super) now: DateTime<Utc>,
}

impl DpopClient<'_> {
    /// Sends a request to a named server with a proof, and with the access token if there is one.
    /// `shape` adds the body, also to a request that is sent again; it returns `None` if it cannot.
    ///
    /// A server that requires another nonce has not executed the request, so the request is sent
    /// once more with the nonce of the response.
    pub(super) async fn send(
        &self,
        http: &HttpClients,
        method: Method,
        url: Url,
        mut shape: impl FnMut(RequestBuilder) -> Option<RequestBuilder> + Send,
    ) -> Result<Reply, ReplyError> {
        let mut request = |nonce: Option<&str>| -> Result<Option<RequestBuilder>, ReplyError> {
            let Some(request) = shape(http.request_named_host(method.clone(), url.clone())?) else { return Ok(None) };
            let request = request.header("DPoP", self.proof(&method, &url, nonce)?);
            Ok(Some(match self.token {
                Some(token) => {
                    let value = HeaderValue::try_from(format!("DPoP {}", token.expose_secret()));
                    let mut value = value.map_err(|_| DependencyError)?;
                    value.set_sensitive(true);
                    request.header(AUTHORIZATION, value)
                }
                None => request,
            }))
        };
        let first = request(self.nonces.get(&url).as_deref())?.ok_or(DependencyError)?;
        let reply = Reply::to(first).await?;
        let nonce = self.nonces.update(&url, &reply.headers);
        if !needs_new_nonce(&reply) || nonce.is_none() {
            return Ok(reply);
        }
        match request(nonce.as_deref())? {
            None => Ok(reply),
            Some(again) => {
                let reply = Reply::to(again).await?;
                self.nonces.update(&url, &reply.headers);
                Ok(reply)
            }
        }
    }

    fn proof(&self, method: &Method, url: &Url, nonce: Option<&str>) -> Result<String, DependencyError> {
        let header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": self.key.public()});
        let mut htu = url.clone();
        htu.set_query(None);
        htu.set_fragment(None);
        let mut claims = json!({
            "jti": token::random_token().expose_secret(),
            "htm": method.as_str(),
            "htu": htu.as_str(),
            "iat": self.now.timestamp(),
        });
        if let Some(nonce) = nonce {
            claims["nonce"] = nonce.into();
        }
        if let Some(token) = self.token {
            claims["ath"] = token::hash(token.expose_secret()).into();
        }
        self.key.sign(&header, &claims)
    }
}

fn needs_new_nonce(reply: &Reply) -> bool {
    reply.status.is_client_error() && reply.error().as_deref() == Some("use_dpop_nonce")
}

/// The latest nonce of each server. It saves the call that would only return the nonce; if one is
/// forgotten, that call is made again.
#[derive(Debug, Default)]
pub(super) struct Nonces(Mutex<BTreeMap<String, String>>);

impl Nonces {
    fn get(&self, url: &Url) -> Option<String> {
        self.0.lock().ok()?.get(&server(url)).cloned()
    }

    fn update(&self, url: &Url, headers: &HeaderMap) -> Option<String> {
        let nonce = headers.get("dpop-nonce")?.to_str().ok()?;
        let mut known = self.0.lock().ok()?;
        if MAX_SERVERS <= known.len() {
            known.clear();
        }
        if nonce.len() <= MAX_NONCE_BYTES {
            known.insert(server(url), nonce.to_owned());
        }
        Some(nonce.to_owned())
    }
}

fn server(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use domain::testing::noon;
    use serde_json::Value;

    use super::*;

    fn part(token: &str, index: usize) -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(index).unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn proof_is_bound_to_one_request_and_token() {
        let key = SigningKey::generate().unwrap();
        let token = SecretString::from("access");
        let nonces = Nonces::default();
        let prover = DpopClient { key: &key, token: Some(&token), nonces: &nonces, now: noon() };
        let url = Url::parse("https://pds.example/xrpc/get?a=b").unwrap();

        let one = prover.proof(&Method::GET, &url, Some("n1")).unwrap();
        let other = prover.proof(&Method::GET, &url, None).unwrap();

        assert_eq!(part(&one, 0)["typ"], "dpop+jwt");
        assert!(part(&one, 0)["jwk"].get("d").is_none());
        let claims = part(&one, 1);
        assert_eq!(claims["htu"], "https://pds.example/xrpc/get");
        assert_eq!(
            (&claims["htm"], &claims["nonce"], &claims["iat"]),
            (&json!("GET"), &json!("n1"), &json!(noon().timestamp()))
        );
        assert_eq!(claims["ath"], token::hash("access"));
        assert_ne!(claims["jti"], part(&other, 1)["jti"]);
        assert!(part(&other, 1).get("nonce").is_none());
    }

    #[test]
    fn nonces_are_kept_per_server_and_bounded() {
        let nonces = Nonces::default();
        let url = |host: usize| Url::parse(&format!("https://s{host}.example/x")).unwrap();
        let headers =
            |nonce: &str| HeaderMap::from_iter([(http::HeaderName::from_static("dpop-nonce"), nonce.parse().unwrap())]);

        nonces.update(&url(1), &headers("one"));
        nonces.update(&url(2), &headers("two"));
        assert_eq!((nonces.get(&url(1)).as_deref(), nonces.get(&url(2)).as_deref()), (Some("one"), Some("two")));
        assert_eq!(nonces.get(&url(3)), None);

        for host in 0..2 * MAX_SERVERS {
            nonces.update(&url(host), &headers("many"));
        }
        assert!(nonces.0.lock().unwrap().len() <= MAX_SERVERS);
    }
}
