use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use reqwest::RequestBuilder;
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};
use serde::de::{DeserializeOwned, IgnoredAny};

use super::usage::Usage;
use super::version::Version;
use crate::app::AppSource;
use crate::caller::Caller;
use crate::http_clients::{self, HttpClients};
use crate::kit::{CallError, Effect, ErrorKind, ErrorTable};
use crate::publish_request::PublishRequest;
use crate::response;

/// A list of Pages has the token of each.
const MAX_ANSWER_BYTES: usize = 2 << 20;

#[derive(Clone)]
pub(crate) struct Graph {
    pub(crate) http: HttpClients,
    /// With the version, without a slash at the end.
    pub(super) base_url: String,
    /// For platforms on which calls have to prove the app.
    app: Option<Arc<dyn AppSource>>,
    errors: &'static ErrorTable,
    version: Version,
}

#[derive(Clone, Debug)]
pub(crate) struct WithUsage<T> {
    pub(crate) body: T,
    pub(crate) usage: Usage,
}

impl Graph {
    /// The API at this host, such as `https://graph.facebook.com`.
    pub(crate) fn new(http: HttpClients, host: &str, version: Version, errors: &'static ErrorTable) -> Self {
        let base_url = format!("{}/{}", host.trim_end_matches('/'), version.name);
        Self { http, base_url, app: None, errors, version }
    }

    pub(crate) fn title(&self) -> &'static str {
        self.errors.title
    }

    /// Adds a proof to every call that it is made by this app, and not by someone who found the
    /// token (`appsecret_proof`).
    #[must_use]
    pub(crate) fn with_app_proof(self, app: Arc<dyn AppSource>) -> Self {
        Self { app: Some(app), ..self }
    }

    /// `path` begins with a slash.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        caller: Caller<'_>,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<WithUsage<T>, CallError> {
        let request = self.request(caller, Method::GET, path).await?.query(query);
        self.json(request, caller, Effect::Read).await
    }

    /// `path` begins with a slash.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        effect: Effect,
        caller: Caller<'_>,
        path: &str,
        fields: &[(&str, &str)],
        timeout: Duration,
    ) -> Result<WithUsage<T>, CallError> {
        let request = self.request(caller, Method::POST, path).await?.form(fields).timeout(timeout);
        self.json(request, caller, effect).await
    }

    pub(crate) async fn request(
        &self,
        caller: Caller<'_>,
        method: Method,
        path: &str,
    ) -> Result<RequestBuilder, CallError> {
        if let Some(warning) = self.version.warning(caller.now) {
            tracing::warn!(platform = self.title(), "{warning}");
        }
        let request = self.http.request_known_host(method, format!("{}{path}", self.base_url))?;
        let request = request.bearer_auth(caller.token.expose_secret());
        let Some(app) = &self.app else { return Ok(request) };
        let proof = proof(&app.credentials().await?.client_secret, caller.token);
        Ok(request.query(&[("appsecret_proof", proof)]))
    }

    /// The meaning of an error of a call below the account's own node. If Meta cannot see the
    /// account (100/33), the account is read once more: if Meta cannot see it again, the grant does
    /// not cover it any more; otherwise the error is temporary.
    pub(crate) async fn confirmed(&self, request: &PublishRequest<'_>, mut error: CallError) -> CallError {
        if !error.is_missing() {
            return error;
        }
        let path = format!("/{}", request.profile.account_id);
        let read = self.get::<IgnoredAny>(Caller::for_request(request), &path, &[("fields", "id")]).await;
        let is_gone = read.is_err_and(|it| it.is_missing() || it.kind == ErrorKind::Unauthorized);
        error.kind = if is_gone { ErrorKind::Unauthorized } else { ErrorKind::Unavailable };
        error
    }

    /// The response as JSON. A success with `"success": false` or with an error in it counts as an
    /// error.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        caller: Caller<'_>,
        effect: Effect,
    ) -> Result<WithUsage<T>, CallError> {
        let response =
            http_clients::send(request).await.map_err(|it| CallError::from_transport(it, effect, self.title()))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response::body_up_to(response, MAX_ANSWER_BYTES).await;
        if !status.is_success() {
            return Err(self.errors.classify(effect, status, &headers, &body.unwrap_or_default(), caller.now));
        }
        let unreadable = || CallError::unreadable(self.title(), effect);
        let body = body.map_err(|_| unreadable())?;
        if self.errors.is_error_in_success(&body) {
            return Err(self.errors.classify(effect, status, &headers, &body, caller.now));
        }
        let body = serde_json::from_slice(&body).map_err(|_| unreadable())?;
        Ok(WithUsage { body, usage: Usage::from_headers(&headers) })
    }

    pub(super) fn errors(&self) -> &'static ErrorTable {
        self.errors
    }
}

/// `appsecret_proof`: HMAC-SHA256 of the token with the app's secret, in hexadecimal.
fn proof(secret: &SecretString, token: &SecretString) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
    let tag = hmac::sign(&key, token.expose_secret().as_bytes());
    tag.as_ref().iter().fold(String::new(), |mut written, byte| {
        let _ = write!(written, "{byte:02x}");
        written
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proof_is_the_token_signed_with_the_secret() {
        // From RFC 4231, test case 2.
        let (secret, token) = ("Jefe".into(), "what do ya want for nothing?".into());
        assert_eq!(proof(&secret, &token), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
