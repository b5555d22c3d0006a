//! OAuth: registering this service, its tokens, and their account.

use chrono::DateTime;
use http::StatusCode;
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::discovery::Discovered;
use super::{Api, Context, SHORT, id};
use crate::connect_flow::{CallbackUrls, ConnectError};
use crate::kit::{CallError, Effect, ErrorKind};
use crate::mastodon::errors::may_be_unknown_app;
use crate::mastodon::grant::{App, DIALECT, Grant};
use crate::mastodon::server::Server;
use crate::oauth2::{ClientCredentials, TokenCall, Tokens};

pub(crate) enum AppStatus {
    /// The server knows it, or cannot be asked now.
    Known,
    /// The server may have removed it.
    Gone,
    /// Unknown, because the server issues tokens for any code. They were revoked, and some servers
    /// remove the app with its token.
    TakesAnyCode,
}

#[derive(Serialize)]
pub(crate) struct NewApp<'a> {
    pub(crate) client_name: &'a str,
    pub(crate) redirect_uris: &'a str,
    pub(crate) scopes: &'a str,
    pub(crate) website: &'a str,
}

#[derive(Deserialize)]
pub(crate) struct Me {
    #[serde(deserialize_with = "id")]
    pub(crate) id: String,
    pub(crate) username: String,
    pub(crate) display_name: Option<String>,
    pub(crate) avatar: Option<String>,
    pub(crate) url: Option<String>,
    #[serde(default)]
    source: Value,
}

impl Me {
    /// The visibility of a post that states none; `None` if the server does not report it, or
    /// reports a value that no post can have.
    pub(crate) fn own_visibility(&self) -> Option<&'static str> {
        let privacy = self.source["privacy"].as_str()?;
        ["public", "unlisted", "private"].into_iter().find(|it| *it == privacy)
    }
}

#[derive(Deserialize)]
pub(crate) struct Registered {
    client_id: String,
    client_secret: SecretString,
}

impl Api {
    pub(crate) async fn register(&self, found: &Discovered, new: &NewApp<'_>) -> Result<App, ConnectError> {
        let url = found.server.url(&found.endpoints.registration);
        let registered =
            self.read(&url, Method::POST, context(Effect::Private), |it| it.json(new).timeout(SHORT)).await;
        let Registered { client_id, client_secret } = registered.map_err(|error| match error.kind {
            // Mastodon accepts five registrations from one IP address in ten minutes.
            ErrorKind::RateLimited => ConnectError::Refused(format!(
                "{} received too many registrations from this service. Connect the account again after 10 minutes",
                found.server.name()
            )),
            _ => error.into(),
        })?;
        Ok(App { client_id, client_secret, scopes: new.scopes.to_owned(), any_code: false })
    }

    /// Whether a server shows the authorization page. Some return an error there if they do not
    /// know the app.
    pub(crate) async fn shows_page(&self, page: &str) -> bool {
        const PASSING: [StatusCode; 2] = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
        let Ok(url) = Url::parse(page) else { return false };
        match self.send(&url, Method::GET, |it| it.timeout(SHORT)).await {
            Ok(response) => !response.status().is_client_error() || PASSING.contains(&response.status()),
            Err(_) => true,
        }
    }

    /// Whether a server still knows our app. There is no call for that, so tokens are requested
    /// with an invalid code: servers check the app before the code, and name the one that they
    /// refuse. Servers that refuse both with the same message are asked for a token without an
    /// account, which depends on the app only. Tokens from either call are revoked.
    pub(crate) async fn knows(&self, grant: &Grant, urls: &CallbackUrls) -> AppStatus {
        let redirect_uri = [("redirect_uri", urls.redirect_uri.as_str())];
        let hides_why = grant.software.hides_why_tokens_fail();
        let without_account = TokenCall { grant_type: None, parameter: "grant_type", ..DIALECT.code };
        let (call, value, extra_fields) = if hides_why {
            (&without_account, "client_credentials", [].as_slice())
        } else {
            (&DIALECT.code, "0", redirect_uri.as_slice())
        };
        match self.read_json::<Tokens>(grant, call, value, extra_fields).await {
            Err(error) if may_be_unknown_app(&error) => AppStatus::Gone,
            Err(_) => AppStatus::Known,
            Ok(Tokens { access_token, .. }) => {
                // The server's message is not logged: it may contain the token.
                if self.revoke(grant, &access_token).await.is_err() {
                    tracing::warn!(server = grant.server.name(), "an unwanted token was not revoked");
                }
                if hides_why { AppStatus::Known } else { AppStatus::TakesAnyCode }
            }
        }
    }

    pub(crate) async fn exchange(
        &self,
        grant: &Grant,
        code: &str,
        verifier: &SecretString,
        urls: &CallbackUrls,
    ) -> Result<Tokens, CallError> {
        let extra_fields = [("code_verifier", verifier.expose_secret()), ("redirect_uri", &urls.redirect_uri)];
        self.read_json(grant, &DIALECT.code, code, &extra_fields).await
    }

    /// The refresh token may work only this once.
    pub(crate) async fn refresh(&self, grant: &Grant, token: &SecretString) -> Result<Tokens, CallError> {
        self.read_json(grant, &DIALECT.refresh, token.expose_secret(), &[]).await
    }

    pub(crate) async fn revoke(&self, grant: &Grant, token: &SecretString) -> Result<(), CallError> {
        let result = self.read_json(grant, &DIALECT.revocation, token.expose_secret(), &[]).await;
        result.map(|IgnoredAny| ())
    }

    pub(crate) async fn me(&self, server: &Server, token: &SecretString) -> Result<Me, CallError> {
        let url = server.url("/api/v1/accounts/verify_credentials");
        let with_token = |it: RequestBuilder| it.bearer_auth(token.expose_secret()).timeout(SHORT);
        self.read(&url, Method::GET, context(Effect::Read), with_token).await
    }

    /// Makes a call with the app's own id and secret.
    async fn read_json<T: DeserializeOwned>(
        &self,
        grant: &Grant,
        call: &TokenCall,
        value: &str,
        extra_fields: &[(&str, &str)],
    ) -> Result<T, CallError> {
        let is_revocation = call.parameter == DIALECT.revocation.parameter;
        let path = if is_revocation { &grant.endpoints.revocation } else { &grant.endpoints.token };
        let app = ClientCredentials { client_id: &grant.app.client_id, client_secret: &grant.app.client_secret };
        let fill = |it| DIALECT.fill(it, call, Some(app), value, extra_fields).timeout(SHORT);
        self.read(&grant.server.url(path), Method::POST, context(Effect::Private), fill).await
    }
}

/// The time of these calls does not matter, because no caller uses `retry_at`.
fn context(effect: Effect) -> Context {
    Context::new(effect, DateTime::UNIX_EPOCH)
}
