//! Signing in at an OpenID Connect issuer: authorization code, PKCE, nonce.
//!
//! The ID token comes directly from the issuer's token endpoint, over TLS or loopback. `OpenID` Connect
//! Core 1.0, section 3.1.3.7, item 6, permits the TLS check of that server instead of a check of the
//! token's signature, so no keys are fetched here. The claims `iss`, `aud`, `azp`, `exp` and `nonce` are
//! checked.

mod attempt;
mod claims;
mod client_secret;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::secrets::SecretError;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tokio::sync::RwLock;

pub(crate) use attempt::Attempt;
pub(crate) use claims::{Claims, IssuerUser};
pub use client_secret::ClientSecret;

#[derive(Clone, Debug)]
pub struct OidcConfig {
    /// The issuer's URL, exactly as the issuer writes it.
    pub issuer: String,
    /// Where the discovery document is, when it is not under the issuer's URL. An emulator has its
    /// own address, but returns the URL of the service that it emulates.
    pub discovery: Option<String>,
    pub client_id: String,
    /// `None` for a public client.
    pub client_secret: Option<ClientSecret>,
}

#[derive(Clone, Debug)]
pub struct Oidc {
    config: OidcConfig,
    redirect_uri: String,
    /// Where the issuer redirects to after signing out.
    start_page: String,
    /// Created by the first sign-in, because reading the machine's root certificates is slow.
    http: Arc<OnceLock<Client>>,
    discovered: Arc<RwLock<Option<CachedMetadata>>>,
}

#[derive(Clone, Debug)]
struct CachedMetadata {
    provider: Provider,
    at: DateTime<Utc>,
}

#[derive(Clone, Debug, Deserialize)]
struct Provider {
    issuer: String,
    #[serde(deserialize_with = "url")]
    authorization_endpoint: Url,
    #[serde(deserialize_with = "url")]
    token_endpoint: Url,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default, deserialize_with = "some_url")]
    end_session_endpoint: Option<Url>,
}

#[derive(Deserialize)]
struct TokenResponse {
    id_token: SecretString,
}

const METADATA_LIFETIME: TimeDelta = TimeDelta::hours(1);

const ISSUER_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) const CALLBACK: &str = "/sign-in/callback";

#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    /// No response from the issuer, or an invalid one.
    #[error("the issuer did not respond: {0}")]
    Unreachable(#[from] reqwest::Error),
    /// The discovery document names another issuer, or an endpoint without TLS.
    #[error("the issuer's discovery document is not valid: {0}")]
    Discovery(&'static str),
    #[error("the issuer refused the code with status {0}")]
    Refused(u16),
    #[error("our client secret is not available: {0}")]
    Secret(#[from] SecretError),
    #[error("the ID token is not valid: {0}")]
    Token(&'static str),
}

impl Oidc {
    pub fn new(config: OidcConfig, origin: &str) -> Self {
        let redirect_uri = format!("{origin}{CALLBACK}");
        let start_page = format!("{origin}/");
        Self { config, redirect_uri, start_page, http: Arc::default(), discovered: Arc::default() }
    }

    fn http(&self) -> Result<&Client, reqwest::Error> {
        if let Some(client) = self.http.get() {
            return Ok(client);
        }
        let client = Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(ISSUER_TIMEOUT).build()?;
        // If another request has created a client in the meantime, that one is used; its configuration is
        // equal.
        Ok(self.http.get_or_init(|| client))
    }

    /// Issuer and subject together identify a user.
    pub(crate) fn issuer(&self) -> &str {
        &self.config.issuer
    }

    pub(crate) async fn authorization_url(&self, attempt: &Attempt, now: DateTime<Utc>) -> Result<Url, OidcError> {
        let provider = self.provider(now).await?;
        let mut url = provider.authorization_endpoint;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.config.client_id)
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("scope", "openid email profile")
            .append_pair("state", &attempt.state())
            .append_pair("nonce", &attempt.nonce())
            .append_pair("code_challenge", &attempt.challenge())
            .append_pair("code_challenge_method", "S256");
        Ok(url)
    }

    /// The URL that signs the browser out at the issuer, if it has one (OpenID Connect RP-Initiated
    /// Logout 1.0). Amazon Cognito names the return URL `logout_uri`; others ignore unknown parameters.
    pub(crate) async fn sign_out_url(&self, now: DateTime<Utc>) -> Result<Option<Url>, OidcError> {
        let provider = self.provider(now).await?;
        Ok(provider.end_session_endpoint.map(|mut url| {
            url.query_pairs_mut()
                .append_pair("client_id", &self.config.client_id)
                .append_pair("post_logout_redirect_uri", &self.start_page)
                .append_pair("logout_uri", &self.start_page);
            url
        }))
    }

    /// Exchanges the issuer's code for the claims of the user.
    pub(crate) async fn person(
        &self,
        code: &str,
        attempt: &Attempt,
        now: DateTime<Utc>,
    ) -> Result<IssuerUser, OidcError> {
        let provider = self.provider(now).await?;
        let verifier = attempt.verifier();
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("code_verifier", verifier.expose_secret()),
        ];
        let mut request = self.http()?.post(provider.token_endpoint.clone());
        let secret = match &self.config.client_secret {
            Some(secret) => Some(secret.get().await?),
            None => None,
        };
        match &secret {
            Some(secret) if provider.supports_basic_auth() => {
                request = basic(request, &self.config.client_id, secret);
            }
            Some(secret) => {
                form.push(("client_id", &self.config.client_id));
                form.push(("client_secret", secret.expose_secret()));
            }
            None => form.push(("client_id", &self.config.client_id)),
        }
        let response = request.form(&form).send().await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(secret) = &self.config.client_secret
        {
            secret.refused().await;
        }
        if !response.status().is_success() {
            return Err(OidcError::Refused(response.status().as_u16()));
        }
        let tokens: TokenResponse = response.json().await?;
        let claims = Claims::read(tokens.id_token.expose_secret())?;
        claims.check(&provider.issuer, &self.config.client_id, &attempt.nonce(), now)?;
        claims.person()
    }

    async fn provider(&self, now: DateTime<Utc>) -> Result<Provider, OidcError> {
        if let Some(cached) = self.discovered.read().await.as_ref()
            && now - cached.at < METADATA_LIFETIME
        {
            return Ok(cached.provider.clone());
        }
        let base = self.config.discovery.as_ref().unwrap_or(&self.config.issuer);
        let url = format!("{}/.well-known/openid-configuration", base.trim_end_matches('/'));
        let provider: Provider = self.http()?.get(url).send().await?.error_for_status()?.json().await?;
        provider.check(&self.config.issuer)?;
        *self.discovered.write().await = Some(CachedMetadata { provider: provider.clone(), at: now });
        Ok(provider)
    }
}

impl Provider {
    fn check(&self, issuer: &str) -> Result<(), OidcError> {
        if self.issuer != issuer {
            return Err(OidcError::Discovery("it names another issuer"));
        }
        let endpoints = [&self.authorization_endpoint, &self.token_endpoint].into_iter();
        if endpoints.chain(&self.end_session_endpoint).all(is_private) {
            return Ok(());
        }
        Err(OidcError::Discovery("an endpoint has neither https nor a loopback address"))
    }

    /// Whether the issuer accepts HTTP Basic authentication, the default if it names no method (OpenID
    /// Connect Discovery 1.0, section 3).
    fn supports_basic_auth(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_ref();
        methods.is_none_or(|it| it.iter().any(|it| it == "client_secret_basic"))
    }
}

/// Whether the URL uses TLS or is on loopback.
pub fn is_private(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback)
}

fn some_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let raw = Option::<String>::deserialize(deserializer)?;
    raw.map(|it| it.parse().map_err(D::Error::custom)).transpose()
}

fn url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Url, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// HTTP Basic authentication with form-encoded id and secret (RFC 6749, section 2.3.1).
fn basic(request: RequestBuilder, id: &str, secret: &SecretString) -> RequestBuilder {
    let encode = |raw: &str| url::form_urlencoded::byte_serialize(raw.as_bytes()).collect::<String>();
    request.basic_auth(encode(id), Some(encode(secret.expose_secret())))
}

#[cfg(test)]
mod tests;
