//! OAuth 2: authorization codes (RFC 6749) with PKCE (RFC 7636), refresh, and revocation (RFC
//! 7009).
//!
//! An adapter describes as data how its platform differs, in its [`Dialect`]. [`OAuth2`] makes the
//! calls. Where our app has a secret at a server that users name, an adapter uses the parts: the
//! dialect builds requests, and [`Tokens`] reads responses.
//!
//! The crate `oauth2` implements one reading of the RFCs only: its responses have a `token_type`
//! that it knows and scopes with blanks between them, its requests are forms with a `client_id`.

mod authorization;
mod call_error;
mod dialect;
mod error_body;
#[cfg(test)]
mod tests;
mod tokens;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::delivery::AttemptError;
use reqwest::Method;
use secrecy::ExposeSecret;
use url::Url;

pub use self::dialect::{ClientAuth, Dialect, ParameterLocation, TokenCall, TokenKind};
pub use self::tokens::{NoTokens, Tokens};

use self::call_error::TokenCallError;
pub(crate) use self::dialect::ClientCredentials;
use self::error_body::{TokenErrorBody, TokenErrorKind};
use crate::account::Credentials;
use crate::app::{AppCredentials, AppSource};
use crate::connect_flow::{AuthorizationRequest, Callback, ConnectError, RefreshError};
use crate::http_clients::{self, HttpClients};
use crate::response;

#[derive(Clone, Debug, Default)]
pub struct Endpoints {
    pub authorization: String,
    pub token: String,
    /// For [`Dialect::lengthening`], if it differs from `token`.
    pub lengthening: Option<String>,
    /// For [`Dialect::refresh`], if it differs from `token`.
    pub refresh: Option<String>,
    /// `None` where the platform has no revocation call: then only the user can end a grant, on the
    /// platform's own pages.
    pub revocation: Option<String>,
}

#[derive(Clone)]
pub struct OAuth2 {
    http: HttpClients,
    app: Arc<dyn AppSource>,
    dialect: &'static Dialect,
    endpoints: Endpoints,
    user_agent: Option<String>,
    /// Whether a user named the server; then no address inside our network is called.
    is_named: bool,
}

impl OAuth2 {
    pub(crate) fn new(
        http: HttpClients,
        app: Arc<dyn AppSource>,
        dialect: &'static Dialect,
        endpoints: Endpoints,
    ) -> Self {
        Self { http, app, dialect, endpoints, user_agent: None, is_named: false }
    }

    /// For a server that a user named, where our app has no secret.
    pub(crate) fn for_named_server(
        http: HttpClients,
        client_id: &str,
        dialect: &'static Dialect,
        endpoints: Endpoints,
    ) -> Self {
        let app = Arc::new(AppCredentials::new(client_id, ""));
        Self { is_named: true, ..Self::new(http, app, dialect, endpoints) }
    }

    pub(crate) fn app(&self) -> &dyn AppSource {
        self.app.as_ref()
    }

    /// For platforms that require a format of their own.
    #[must_use]
    pub fn named(self, user_agent: String) -> Self {
        Self { user_agent: Some(user_agent), ..self }
    }

    pub(crate) fn by(&self, app: Arc<dyn AppSource>, dialect: &'static Dialect) -> Self {
        Self { app, dialect, ..self.clone() }
    }

    /// `further` parameters are added to those of [`Dialect::page`].
    pub async fn authorization_url(
        &self,
        request: &AuthorizationRequest,
        scopes: &[&str],
        extra: &[(&str, &str)],
    ) -> Result<String, ConnectError> {
        let app = self.app.credentials().await?;
        let page = Url::parse(&self.endpoints.authorization).map_err(|_| ConnectError::Unreachable)?;
        Ok(self.dialect.authorization_url(page, &app.client_id, request, scopes, extra))
    }

    /// Exchanges the code of a callback, which is valid once, for tokens, and these for long-lived
    /// ones, where the platform has them.
    pub async fn complete(&self, callback: &Callback) -> Result<Tokens, ConnectError> {
        callback.check_redirect_uri(&callback.urls)?;
        let code = self.dialect.read_code(callback)?;
        let mut extra = vec![("redirect_uri", callback.urls.redirect_uri.as_str())];
        if self.dialect.pkce {
            extra.push(("code_verifier", callback.verifier.expose_secret()));
        }
        let tokens = self.request_tokens(&self.dialect.code, &self.endpoints.token, code, &extra).await?;
        let Some(lengthening) = &self.dialect.lengthening else { return Ok(tokens) };
        let url = self.endpoints.lengthening.as_ref().unwrap_or(&self.endpoints.token);
        let longer = self.request_tokens(lengthening, url, tokens.access_token.expose_secret(), &[]).await?;
        Ok(longer.merged_with(tokens))
    }

    /// Fields that the response omits keep their old values.
    pub async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let call = &self.dialect.refresh;
        let Some(token) = call.token.token(old) else {
            return Err(RefreshError::Gone("there is no refresh token".to_owned()));
        };
        let url = self.endpoints.refresh.as_ref().unwrap_or(&self.endpoints.token);
        let tokens = self.request_tokens(call, url, token.expose_secret(), &[]).await?;
        Ok(tokens.refreshed(old, now))
    }

    /// A grant that has already ended counts as revoked.
    pub async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        let Some(url) = &self.endpoints.revocation else { return Ok(()) };
        let call = &self.dialect.revocation;
        let token = call.token.token(credentials).unwrap_or(&credentials.access_token);
        match self.answered(call, url, token.expose_secret(), &[], Some(now)).await {
            Ok(_) => Ok(()),
            Err(TokenCallError::Refused(refused)) if refused.is_grant_ended() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn request_tokens(
        &self,
        call: &TokenCall,
        url: &str,
        token: &str,
        extra: &[(&str, &str)],
    ) -> Result<Tokens, TokenCallError> {
        let body = self.answered(call, url, token, extra, None).await?.ok_or(TokenCallError::Unreadable)?;
        Tokens::read(&body).map_err(|NoTokens| TokenCallError::Unreadable)
    }

    /// The body of a success; `None` if it cannot be read.
    async fn answered(
        &self,
        call: &TokenCall,
        url: &str,
        token: &str,
        extra: &[(&str, &str)],
        now: Option<DateTime<Utc>>,
    ) -> Result<Option<Vec<u8>>, TokenCallError> {
        let method = if call.carried == ParameterLocation::Query { Method::GET } else { Method::POST };
        let request = if self.is_named {
            let url = Url::parse(url).map_err(|_| TokenCallError::NotReached)?;
            self.http.request_named_host(method, url).map_err(|_| TokenCallError::NotReached)?
        } else {
            self.http.request_known_host(method, url)?
        };
        let mut request = request.header(http::header::ACCEPT, "application/json");
        if let Some(user_agent) = &self.user_agent {
            request = request.header(http::header::USER_AGENT, user_agent);
        }
        let app = if call.client == ClientAuth::None { None } else { Some(self.app.credentials().await?) };
        let client =
            app.as_ref().map(|it| ClientCredentials { client_id: &it.client_id, client_secret: &it.client_secret });
        let request = self.dialect.fill(request, call, client, token, extra);
        let response = http_clients::send(request).await.map_err(|error| TokenCallError::from_reqwest(&error))?;
        let (status, retry_at) = (response.status(), now.and_then(|it| response::retry_at(response.headers(), it)));
        let body = response::body(response).await.ok();
        let Some(refused) = TokenErrorBody::read(self.dialect, status, retry_at, body.as_deref()) else {
            return Ok(body);
        };
        // An operator cannot correct what a user's server does not know.
        if refused.kind == TokenErrorKind::Us
            && !self.is_named
            && let Some(app) = &app
        {
            self.app.report_refused(app);
        }
        Err(TokenCallError::Refused(refused))
    }
}
