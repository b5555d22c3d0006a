//! App passwords: how clients signed in before OAuth.
//!
//! Facts: a session is created with a handle or DID and the password; its access token lasts two
//! hours, its refresh token 90 days, and the old refresh token works for a while after a refresh. A
//! revoked password gives `ExpiredToken` at the next refresh.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use http::{Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::names::Did;
use super::pds::address;
use super::reply::{Reply, ReplyError};
use super::session::REFRESH_TIMEOUT;
use crate::account::Credentials;
use crate::connect_flow::{ConnectError, RefreshError};
use crate::http_clients::{ANSWER_WITHIN, HttpClients};

const LIFETIME: TimeDelta = TimeDelta::hours(2);

const MAIN_PASSWORD: &str = "com.atproto.access";

pub(super) const FIELD: &str = "app_password";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tokens {
    access_jwt: SecretString,
    refresh_jwt: SecretString,
    did: String,
    active: Option<bool>,
    status: Option<String>,
}

#[derive(Default, Deserialize)]
struct Claims {
    exp: Option<i64>,
    scope: Option<String>,
}

impl Tokens {
    pub(super) fn into_credentials(self, extra: Option<SecretString>, now: DateTime<Utc>) -> Credentials {
        let expires_at = Some(self.expires_at(now));
        Credentials { refresh_token: Some(self.refresh_jwt), expires_at, extra, ..Credentials::new(self.access_jwt) }
    }

    fn expires_at(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        self.claims().exp.and_then(|it| DateTime::from_timestamp(it, 0)).unwrap_or(now + LIFETIME)
    }

    /// The claims of the access token. The token is meant for the server, not for us, so its form
    /// may differ.
    fn claims(&self) -> Claims {
        let read = || {
            let claims = URL_SAFE_NO_PAD.decode(self.access_jwt.expose_secret().split('.').nth(1)?).ok()?;
            serde_json::from_slice(&claims).ok()
        };
        read().unwrap_or_default()
    }
}

pub(super) async fn sign_in(
    http: &HttpClients,
    pds: &Url,
    did: &Did,
    password: &SecretString,
) -> Result<Tokens, ConnectError> {
    let url = address(pds, "com.atproto.server.createSession");
    let body = json!({"identifier": did, "password": password.expose_secret().trim()});
    let reply = Reply::to(http.request_named_host(Method::POST, url).map_err(ReplyError::from)?.json(&body)).await?;
    let wrong = |message: &str| ConnectError::Field { name: FIELD, message: message.to_owned() };
    match (reply.status, reply.error().as_deref()) {
        (it, _) if it.is_success() => {}
        (_, Some("AuthFactorTokenRequired")) => return Err(wrong(OWN_PASSWORD)),
        (_, Some("AccountTakedown")) => return Err(ConnectError::Refused(reply.message())),
        (StatusCode::UNAUTHORIZED, Some(_)) => {
            return Err(wrong(
                "This app password is not valid. Create a new one under Settings, Privacy and security, App passwords.",
            ));
        }
        (it, Some(_)) if it.is_client_error() && it != StatusCode::TOO_MANY_REQUESTS => {
            return Err(ConnectError::Refused(reply.message()));
        }
        _ => return Err(ConnectError::Unreachable),
    }
    let tokens: Tokens = reply.json().ok_or(ConnectError::Unreachable)?;
    if tokens.did != did.as_str() {
        end(http, pds, &tokens.refresh_jwt).await.ok();
        return Err(ConnectError::Refused("the server signed in another account".to_owned()));
    }
    let is_main_password = tokens.claims().scope.as_deref() == Some(MAIN_PASSWORD);
    if is_main_password || tokens.active == Some(false) {
        // The session will not be used. Whether this call succeeds does not matter.
        end(http, pds, &tokens.refresh_jwt).await.ok();
    }
    match &tokens.status {
        _ if is_main_password => Err(wrong(OWN_PASSWORD)),
        Some(status) if tokens.active == Some(false) => {
            Err(ConnectError::Refused(format!("this account is not active ({status})")))
        }
        _ => Ok(tokens),
    }
}

const OWN_PASSWORD: &str = "This is your account's main password. Keep it to yourself: create an app password under \
                            Settings, Privacy and security, App passwords, and type that one.";

pub(super) async fn refresh(http: &HttpClients, pds: &Url, token: &SecretString) -> Result<Tokens, RefreshError> {
    let reply = post_with_token(http, pds, "com.atproto.server.refreshSession", token, REFRESH_TIMEOUT).await?;
    if reply.status.is_success() {
        let unreadable = || RefreshError::Unreachable("its response is not valid".to_owned());
        return reply.json().ok_or_else(unreadable);
    }
    Err(refresh_error(&reply))
}

fn refresh_error(reply: &Reply) -> RefreshError {
    match (reply.status, reply.error().as_deref()) {
        (
            _,
            Some(
                "ExpiredToken"
                | "InvalidToken"
                | "AuthMissing"
                | "AuthenticationRequired"
                | "AccountNotFound"
                | "AccountDeactivated"
                | "AccountTakedown",
            ),
        )
        // The request contains only the token, so only the token can be invalid.
        | (StatusCode::BAD_REQUEST, Some("InvalidRequest")) => RefreshError::Gone(reply.message()),
        _ => RefreshError::Unreachable(reply.message()),
    }
}

pub(super) async fn end(http: &HttpClients, pds: &Url, token: &SecretString) -> Result<Reply, ReplyError> {
    post_with_token(http, pds, "com.atproto.server.deleteSession", token, ANSWER_WITHIN).await
}

async fn post_with_token(
    http: &HttpClients,
    pds: &Url,
    method: &str,
    token: &SecretString,
    within: Duration,
) -> Result<Reply, ReplyError> {
    let request = http.request_named_host(Method::POST, address(pds, method))?;
    Reply::to(request.bearer_auth(token.expose_secret()).timeout(within)).await
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[test]
    fn refused_refresh_token_ends_the_session() {
        let refusal = |status: u16, body: String| {
            let status = StatusCode::from_u16(status).unwrap();
            refresh_error(&Reply { status, headers: HeaderMap::new(), body: body.into_bytes() })
        };
        for (status, error) in [
            (400, "ExpiredToken"),
            (400, "InvalidRequest"),
            (400, "AccountNotFound"),
            (403, "AccountDeactivated"),
            (400, "AccountTakedown"),
        ] {
            let refusal = refusal(status, json!({"error": error}).to_string());
            assert!(matches!(refusal, RefreshError::Gone(_)), "{status} {error}");
        }
        for (status, body) in [(400, "<html>"), (429, r#"{"error":"RateLimitExceeded"}"#), (502, "")] {
            assert!(matches!(refusal(status, body.to_owned()), RefreshError::Unreachable(_)), "{status} {body}");
        }
    }
}
