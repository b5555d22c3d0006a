//! Admission of a request: the API counts it and verifies its token first.

use std::net::{IpAddr, Ipv4Addr};

use api::{ApiError, ClientIp};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{AUTHORIZATION, CACHE_CONTROL, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use crate::App;
use crate::error::McpError;
use crate::timeouts::VERIFY_TIMEOUT;

const FIGURES: [&str; 3] = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

/// Stored as a request extension.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    pub(crate) verdict: Verdict,
    pub(crate) ends: Instant,
}

#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    Admitted(Caller),
    Unauthenticated,
    /// The rate limit is reached, or the API does not respond.
    Refused(ApiError),
}

#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) token: SecretString,
    /// The assistant's IP address, with the proof.
    pub(crate) headers: HeaderMap,
}

/// Verifies the token at the API and forwards the rate limit headers. Without a valid token, the API
/// counts the request for the caller's IP address.
pub(crate) async fn admit(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let deadline = Instant::now() + app.within;
    let address = request.extensions().get().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |it: &ClientIp| it.0);
    let (verdict, rate_limit) = app.verify(bearer_token(request.headers()), address).await;
    request.extensions_mut().insert(Admission { verdict, ends: deadline });
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.extend(rate_limit);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl App {
    async fn verify(&self, token: Option<SecretString>, address: IpAddr) -> (Verdict, HeaderMap) {
        match self.call_api(token, address).await {
            Ok(verified) => verified,
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the API could not verify a token");
                (Verdict::Refused(ApiError::Unavailable), HeaderMap::new())
            }
        }
    }

    async fn call_api(&self, token: Option<SecretString>, address: IpAddr) -> Result<(Verdict, HeaderMap), McpError> {
        let headers = self.proof.forwarding_headers(address).map_err(McpError::Proof)?;
        let mut request = self.http()?.get(format!("{}/user", self.base)).headers(headers.clone());
        if let Some(token) = &token {
            request = request.bearer_auth(token.expose_secret());
        }
        let response = request.timeout(VERIFY_TIMEOUT.min(self.within)).send().await?;
        let header = |name: &'static str| Some((name.parse().ok()?, response.headers().get(name)?.clone()));
        let rate_limit = FIGURES.iter().filter_map(|it| header(it)).collect();
        let verdict = match (response.status(), token) {
            (StatusCode::TOO_MANY_REQUESTS, _) => {
                let wait = response.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok()?.parse().ok());
                Verdict::Refused(ApiError::TooMany { wait: wait.unwrap_or(1) })
            }
            (status, _) if status.is_server_error() => Verdict::Refused(ApiError::Unavailable),
            (StatusCode::UNAUTHORIZED, _) | (_, None) => Verdict::Unauthenticated,
            // 403 means that the token is valid and lacks the scope of this call.
            (_, Some(token)) => Verdict::Admitted(Caller { token, headers }),
        };
        Ok((verdict, rate_limit))
    }
}

fn bearer_token(headers: &HeaderMap) -> Option<SecretString> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.into())
}
