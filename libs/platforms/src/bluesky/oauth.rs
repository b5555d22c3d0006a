//! OAuth of the AT Protocol: authorization requests are pushed first (RFC 9126), codes are bound to
//! a verifier, tokens to a key.
//!
//! Facts: the server sends `iss` with the redirect back; `sub` of a token is the account. Each
//! refresh token works for one exchange, and using it twice ends the whole session.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use http::{Method, StatusCode};
use reqwest::RequestBuilder;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use super::client;
use super::dpop::{DpopClient, Nonces};
use super::names::Did;
use super::reply::{Reply, ReplyError};
use super::session::{Grant, REFRESH_TIMEOUT};

use crate::connect_flow::{AuthorizationRequest, ConnectError, RefreshError};
use crate::http_clients::{ANSWER_WITHIN, HttpClients};

/// In bytes. The name of a pushed request becomes part of a URL.
const MAX_REQUEST_URI_BYTES: usize = 1024;

#[derive(Deserialize)]
pub(super) struct Pushed {
    pub(super) request_uri: String,
}

/// The token response to a code. Without some of the fields we cannot use the tokens; they are
/// still read, so that they can be revoked.
#[derive(Deserialize)]
pub(super) struct Tokens {
    pub(super) access_token: SecretString,
    pub(super) refresh_token: Option<SecretString>,
    #[serde(default)]
    token_type: String,
    #[serde(default)]
    expires_in: Lifetime,
    #[serde(default)]
    scope: String,
    /// The account's DID.
    #[serde(default)]
    pub(super) sub: String,
}

/// The token response to a refresh token, which is spent: everything usable is read from it.
#[derive(Deserialize)]
pub(super) struct RefreshedTokens {
    pub(super) access_token: SecretString,
    pub(super) refresh_token: Option<SecretString>,
    #[serde(default)]
    expires_in: Lifetime,
    sub: Option<Value>,
}

#[derive(Default)]
struct Lifetime(Option<u32>);

impl<'de> Deserialize<'de> for Lifetime {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = Value::deserialize(from)?.as_f64();
        let duration = seconds.and_then(|it| Duration::try_from_secs_f64(it).ok());
        Ok(Self(duration.map(|it| u32::try_from(it.as_secs()).unwrap_or(u32::MAX))))
    }
}

impl Lifetime {
    fn ends(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.0.map(|it| now + TimeDelta::seconds(it.into()))
    }
}

impl Tokens {
    pub(super) fn is_supported(&self) -> bool {
        self.token_type.eq_ignore_ascii_case("dpop") && self.scopes().any(|it| it == "atproto")
    }

    pub(super) fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scope.split_whitespace()
    }

    pub(super) fn expires_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.expires_in.ends(now)
    }
}

impl RefreshedTokens {
    pub(super) fn is_issued_for(&self, did: &Did) -> bool {
        self.sub.as_ref().is_none_or(|it| it == did.as_str())
    }

    pub(super) fn expires_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.expires_in.ends(now)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Page {
    At(Url),
    /// The server has no page for such a scope; its message.
    NotFor(String),
}

pub(super) struct Authorization<'a> {
    pub(super) http: &'a HttpClients,
    pub(super) nonces: &'a Nonces,
    pub(super) grant: &'a Grant,
    pub(super) now: DateTime<Utc>,
}

impl Authorization<'_> {
    pub(super) async fn push(
        &self,
        request: &AuthorizationRequest,
        login_hint: Option<&str>,
    ) -> Result<Page, ConnectError> {
        let Grant { server, client, .. } = self.grant;
        // The browser is redirected only to addresses that we would call ourselves.
        self.http.check_named_host(&server.authorization_endpoint).map_err(ReplyError::from)?;
        let redirect_uri = client::redirect_uri(&request.urls);
        let mut form = vec![
            ("response_type", "code"),
            ("redirect_uri", &redirect_uri),
            ("scope", client.scope()),
            ("state", request.state.expose_secret()),
            ("code_challenge", &request.challenge),
            ("code_challenge_method", "S256"),
        ];
        form.extend(login_hint.map(|it| ("login_hint", it)));
        let reply = self.send(&server.pushed_authorization_request_endpoint, &form).await?;
        if is_scope_error(&reply) {
            return Ok(Page::NotFor(reply.message()));
        }
        let pushed: Pushed = read_reply(&reply)?;
        if MAX_REQUEST_URI_BYTES < pushed.request_uri.len() {
            return Err(ConnectError::Unreachable);
        }
        let mut page = server.authorization_endpoint.clone();
        page.query_pairs_mut().append_pair("client_id", &client.id).append_pair("request_uri", &pushed.request_uri);
        Ok(Page::At(page))
    }

    pub(super) async fn exchange(
        &self,
        code: &str,
        verifier: &SecretString,
        redirect_uri: &str,
    ) -> Result<Tokens, ConnectError> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier.expose_secret()),
        ];
        read_reply(&self.send(&self.grant.server.token_endpoint, &form).await?)
    }

    pub(super) async fn refresh(&self, token: &SecretString) -> Result<RefreshedTokens, RefreshError> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token.expose_secret())];
        let sending = self.send_with_timeout(REFRESH_TIMEOUT, &self.grant.server.token_endpoint, &form);
        let reply = tokio::time::timeout(REFRESH_TIMEOUT, sending).await.map_err(|_| ReplyError::Timeout)??;
        if reply.status.is_success() {
            let unreadable = || RefreshError::Unreachable("its response is not valid".to_owned());
            return reply.json().ok_or_else(unreadable);
        }
        // Only this code is about the grant. `invalid_client` is about our document and its keys,
        // which may be unreachable for a moment.
        match reply.error().as_deref() {
            Some("invalid_grant") => Err(RefreshError::Gone(reply.message())),
            _ => Err(RefreshError::Unreachable(reply.message())),
        }
    }

    /// `None` if the server has no revocation endpoint.
    pub(super) async fn revoke(&self, token: &SecretString) -> Result<Option<Reply>, ReplyError> {
        let Some(endpoint) = &self.grant.server.revocation_endpoint else { return Ok(None) };
        self.send(endpoint, &[("token", token.expose_secret())]).await.map(Some)
    }

    async fn send(&self, url: &Url, form: &[(&'static str, &str)]) -> Result<Reply, ReplyError> {
        self.send_with_timeout(ANSWER_WITHIN, url, form).await
    }

    async fn send_with_timeout(
        &self,
        within: Duration,
        url: &Url,
        form: &[(&'static str, &str)],
    ) -> Result<Reply, ReplyError> {
        let Grant { server, client, key } = self.grant;
        let prover = DpopClient { key, token: None, nonces: self.nonces, now: self.now };
        let shape = |request: RequestBuilder| {
            // Signed again each time: servers do not accept the same signature twice.
            let ours = client.assertion_fields(&server.issuer, self.now).ok()?;
            let ours = ours.iter().map(|(name, value)| (*name, value.as_str()));
            Some(request.timeout(within).form(&form.iter().copied().chain(ours).collect::<Vec<_>>()))
        };
        prover.send(self.http, Method::POST, url.clone(), shape).await
    }
}

/// Whether a pushed request is refused for its scope. A server that knows no narrow scope finds one
/// in the client's document, calls it unsupported there, and returns `invalid_client_metadata`; it
/// returns the same code if it cannot read the document, where no other scope would help. Source:
/// `ClientManager.validateClientMetadata` of `@atproto/oauth-provider`, before commit 1899b1fc1 of
/// `bluesky-social/atproto`.
fn is_scope_error(reply: &Reply) -> bool {
    match reply.error().as_deref() {
        Some("invalid_scope") => true,
        Some("invalid_client_metadata") => reply.message().to_lowercase().contains("unsupported scope"),
        _ => false,
    }
}

/// Parses a response of the connect flow. The user reads the reason of a refusal; for anything that
/// may pass, the message is "try again".
fn read_reply<T: serde::de::DeserializeOwned>(reply: &Reply) -> Result<T, ConnectError> {
    match reply.status {
        it if it.is_success() => reply.json().ok_or(ConnectError::Unreachable),
        it if it.is_client_error() && it != StatusCode::TOO_MANY_REQUESTS => {
            Err(ConnectError::Refused(reply.message()))
        }
        _ => Err(ConnectError::Unreachable),
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn new_tokens_are_read_with_missing_fields() {
        let did: Did = "did:plc:ewvi7nxzyoun6zhxrhs64oiz".parse().unwrap();
        let expires_at = |expires_in: Value| {
            let tokens: RefreshedTokens = from_value(json!({"access_token": "a", "expires_in": expires_in})).unwrap();
            tokens.expires_at(noon())
        };
        assert_eq!(expires_at(json!(3599)), Some(noon() + TimeDelta::seconds(3599)));
        assert_eq!(expires_at(json!(3599.9)), Some(noon() + TimeDelta::seconds(3599)));
        for unclear in [json!(null), json!(-1), json!("soon"), json!({})] {
            assert_eq!(expires_at(unclear), None);
        }

        let is_issued_for = |sub: Value| {
            let tokens: RefreshedTokens = from_value(json!({"access_token": "a", "sub": sub, "scope": 1})).unwrap();
            tokens.is_issued_for(&did)
        };
        assert!(is_issued_for(json!(null)) && is_issued_for(json!(did.as_str())));
        assert!(!is_issued_for(json!("did:plc:aaaaaaaaaaaaaaaaaaaaaaaa")) && !is_issued_for(json!(1)));
        assert!(from_value::<RefreshedTokens>(json!({"refresh_token": "r"})).is_err());
    }

    #[test]
    fn tokens_of_another_type_are_read_and_revocable() {
        let tokens = |response: Value| from_value::<Tokens>(response).unwrap();
        assert!(!tokens(json!({"access_token": "a"})).is_supported());
        assert!(!tokens(json!({"access_token": "a", "token_type": "Bearer", "scope": "atproto"})).is_supported());
        assert!(tokens(json!({"access_token": "a", "token_type": "DPoP", "scope": "atproto"})).is_supported());
    }
}
