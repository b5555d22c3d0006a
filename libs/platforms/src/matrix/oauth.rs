//! Sign-in by OAuth 2.0, which homeservers have since version 1.15 of the specification, most of
//! them with Matrix Authentication Service.
//!
//! "Clients MUST perform a new client registration at the start of each" flow. A homeserver returns
//! an equal id for equal metadata, and may forget clients without a session, so the grant stores the
//! id.
//!
//! The specification binds an authorization server to no homeserver. Without such a bond, a hostile
//! homeserver could name the authorization server of an honest one, and would receive the token
//! that the honest one issues. So each URL has to belong to the homeserver, or to be at or below
//! the domain that the user typed.
//!
//! A hostile homeserver can also redirect users to the page of an honest one, where it has
//! registered our redirect URI as its own client, which any client can do. Only `iss` in the
//! response (RFC 9207) distinguishes the two. It is checked wherever it is sent. Matrix
//! Authentication Service does not send it as of August 2026.

use chrono::{DateTime, Utc};
use domain::token::random_token;
use http::Method;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::user::FoundHomeserver;
use crate::connect_flow::{AuthorizationRequest, Callback, ConnectError};
use crate::http_clients::HttpClients;
use crate::kit::{ApiClient, Auth, CallError, Effect, ErrorTable};
use crate::oauth2::{ClientAuth, Dialect, Endpoints, OAuth2};

/// Registered clients have no secret. A client that is no longer known has no session.
const DIALECT: Dialect = Dialect {
    page: &[("response_mode", "query")],
    gone: &["invalid_grant", "invalid_client", "unauthorized_client"],
    ours: &[],
    ..Dialect::STANDARD
}
.with_client(ClientAuth::Public);

/// The errors of RFC 7591.
const ERRORS: ErrorTable = ErrorTable {
    title: "its homeserver",
    code_at: &["/error"],
    message_at: &["/error_description", "/error"],
    ..ErrorTable::STANDARD
};

/// The scope of a device: there is no smaller one.
pub(super) const SCOPE: &str = "urn:matrix:client:api:*";

/// Requested together with [`SCOPE`]; the id of the device is appended.
const DEVICE_SCOPE: &str = "urn:matrix:client:device:";

/// Characters of a device id. Ten "are enough to stand a sufficient chance of being unique per
/// user".
const DEVICE_ID: usize = 16;

/// The longest client id that is accepted, in bytes. Those of Matrix Authentication Service have
/// 26.
const MAX_CLIENT_ID: usize = 500;

/// The metadata of a homeserver's authorization server (RFC 8414).
#[derive(Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    authorization_endpoint: Url,
    token_endpoint: Url,
    revocation_endpoint: Url,
    registration_endpoint: Url,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Client {
    id: String,
    issuer: String,
    /// Whether the server promises to send `iss` (RFC 9207).
    names_itself: bool,
    token_endpoint: Url,
    revocation_endpoint: Url,
}

impl Metadata {
    /// Whether every URL belongs to the operator of the homeserver, and may be called.
    pub(super) fn is_of(&self, home: &FoundHomeserver, http: &HttpClients) -> bool {
        let issuer = Url::parse(&self.issuer).ok().filter(|it| it.query().is_none() && it.fragment().is_none());
        let endpoints = [
            &self.authorization_endpoint,
            &self.token_endpoint,
            &self.revocation_endpoint,
            &self.registration_endpoint,
        ];
        issuer.as_ref().is_some_and(|issuer| {
            endpoints.into_iter().chain([issuer]).all(|it| home.owns(it) && http.check_named_host(it).is_ok())
        })
    }

    pub(super) async fn register(
        self,
        http: &HttpClients,
        client_name: &str,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<(Client, String), CallError> {
        let url = self.registration_endpoint;
        let client_metadata = json!({
            "client_name": client_name,
            "client_uri": request.urls.origin,
            "redirect_uris": [request.urls.redirect_uri],
            "token_endpoint_auth_method": "none",
            "response_types": ["code"],
            "grant_types": ["authorization_code", "refresh_token"],
            "application_type": "web",
        });
        let call =
            ApiClient::named(http.clone(), url.clone(), &ERRORS).call_url(Auth::anonymous(now), Method::POST, url);
        let Registered { client_id } = call.effect(Effect::Private).json(&client_metadata).read().await?;
        if MAX_CLIENT_ID < client_id.len() {
            return Err(CallError::unreadable(ERRORS.title, Effect::Private));
        }
        let id: String = random_token().expose_secret().chars().take(DEVICE_ID).collect();
        let device = format!("{DEVICE_SCOPE}{id}");
        let page = DIALECT.authorization_url(self.authorization_endpoint, &client_id, request, &[SCOPE, &device], &[]);
        let client = Client {
            id: client_id,
            issuer: self.issuer,
            names_itself: self.authorization_response_iss_parameter_supported,
            token_endpoint: self.token_endpoint,
            revocation_endpoint: self.revocation_endpoint,
        };
        Ok((client, page))
    }
}

impl Client {
    pub(super) fn oauth(&self, http: &HttpClients) -> OAuth2 {
        let endpoints = Endpoints {
            token: self.token_endpoint.to_string(),
            revocation: Some(self.revocation_endpoint.to_string()),
            ..Endpoints::default()
        };
        OAuth2::for_named_server(http.clone(), &self.id, &DIALECT, endpoints)
    }

    /// Refuses the response of another authorization server (RFC 9207).
    pub(super) fn check_issuer(&self, callback: &Callback) -> Result<(), ConnectError> {
        let is_its_own = callback.query.get("iss").map_or(!self.names_itself, |it| *it == self.issuer);
        if is_its_own { Ok(()) } else { Err(ConnectError::from_another_server()) }
    }
}

#[cfg(test)]
mod tests {
    use egress::AddressPolicy;

    use super::*;
    use crate::matrix::user::{Homeserver, UserId};

    fn metadata(issuer: &str, token_endpoint: &str) -> Metadata {
        serde_json::from_value(json!({
            "issuer": issuer,
            "authorization_endpoint": "https://account.example.org/authorize",
            "token_endpoint": token_endpoint,
            "revocation_endpoint": "https://account.example.org/oauth2/revoke",
            "registration_endpoint": "https://account.example.org/oauth2/registration",
        }))
        .unwrap()
    }

    #[test]
    fn authorization_server_of_another_host_is_refused() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = HttpClients::new(AddressPolicy::PublicOnly);
        let user = UserId::parse("@alice:example.org").unwrap();
        let server = Homeserver::parse("https://matrix.hosting.example/of/alice/").unwrap();
        let home = FoundHomeserver { server, found_at: user.origin().unwrap() };
        let is_accepted = |issuer, token_endpoint| metadata(issuer, token_endpoint).is_of(&home, &http);

        for (issuer, token_endpoint) in [
            ("https://account.example.org/", "https://account.example.org/oauth2/token"),
            ("https://example.org/", "https://example.org/token"),
            ("https://matrix.hosting.example/", "https://matrix.hosting.example/token"),
        ] {
            assert!(is_accepted(issuer, token_endpoint), "{issuer} {token_endpoint}");
        }
        let own = "https://account.example.org/oauth2/token";
        let long = format!("https://account.example.org/{}", "a".repeat(500));
        for (issuer, token_endpoint) in [
            ("https://account.example.org/", "https://evil.example/token"),
            ("https://account.example.org/", "https://evilexample.org/token"),
            ("https://account.example.org/", "https://other.hosting.example/token"),
            ("https://account.example.org/", "http://account.example.org/token"),
            ("https://account.example.org/", "https://a:b@account.example.org/token"),
            ("https://account.example.org/", &long),
            (&long, own),
            ("https://evil.example/", own),
            ("http://account.example.org/", own),
            ("https://account.example.org/?a", own),
            ("account.example.org", own),
        ] {
            assert!(!is_accepted(issuer, token_endpoint), "{issuer} {token_endpoint}");
        }
    }
}
