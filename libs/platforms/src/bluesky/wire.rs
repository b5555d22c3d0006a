//! How servers are called, and what they answered.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Setback;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use outbound::{Outbound, Refusal};
use reqwest::{Client, RequestBuilder};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::dpop::{Nonces, Prover};
use crate::answer;
use crate::handoff::RefreshRefusal;
use crate::http_client::HttpClient;
use crate::not_now::NotNow;

/// For calls that a person or the next step waits for.
pub(super) const SHORT: Duration = Duration::from_secs(10);

/// For a refresh, also one that is sent twice. An answer that comes later is
/// lost, and the grant with it; whoever asks waits for 30 seconds.
pub(super) const REFRESH: Duration = Duration::from_secs(28);

/// Calls servers and reads their answers, bounded in time and size.
#[derive(Debug)]
pub(super) struct Wire {
    http: HttpClient,
    nonces: Nonces,
}

/// An answer, read to its end.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Silence {
    /// We do not call this address.
    #[error("its server may not be called: {0}")]
    Refused(#[from] Refusal),
    /// Something of ours is missing.
    #[error(transparent)]
    NotNow(#[from] NotNow),
    /// No connection: nothing was done.
    #[error("its server could not be reached")]
    NotReached,
    #[error("its server did not answer in time")]
    TooSlow,
    #[error("its server's answer was cut off or far too long")]
    CutOff,
}

impl Wire {
    pub(super) fn new(http: HttpClient) -> Self {
        Self { http, nonces: Nonces::default() }
    }

    /// A request to an address that stands in the code or the settings.
    pub(super) fn to_known(&self, method: Method, url: Url) -> Result<RequestBuilder, Silence> {
        Ok(self.http.client()?.request(method, url).timeout(SHORT))
    }

    /// A request to an address that a user named, or that leads on from there.
    pub(super) fn to_named(&self, method: Method, url: Url) -> Result<RequestBuilder, Silence> {
        Ok(self.client_for(&url)?.request(method, url).timeout(SHORT))
    }

    /// The client for an address that a user named, if it may be called.
    pub(super) fn client_for(&self, url: &Url) -> Result<&Client, Silence> {
        Ok(self.http.client_for(url)?)
    }

    /// The client for a page that a text links, if it may be called.
    pub(super) fn client_for_page(&self, url: &Url) -> Result<&Client, Silence> {
        Ok(self.http.client_for_page(url)?)
    }

    /// Sends a request and reads the answer.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Reply, Silence> {
        let response = request.send().await.map_err(|error| silence(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = answer::body(response).await.map_err(|_| Silence::CutOff)?;
        Ok(Reply { status, headers, body })
    }

    /// Sends a request to a named server with a proof of who sends it, and with
    /// the access token if there is one. `shape` gives it its body, anew each
    /// time; `None` when it cannot.
    ///
    /// A server that wants another nonce has done nothing, so the request is
    /// sent once more with the one it gave.
    pub(super) async fn send_proven(
        &self,
        prover: Prover<'_>,
        method: Method,
        url: Url,
        mut shape: impl FnMut(RequestBuilder) -> Option<RequestBuilder> + Send,
    ) -> Result<Reply, Silence> {
        let mut request = |nonce: Option<&str>| -> Result<Option<RequestBuilder>, Silence> {
            let Some(request) = shape(self.to_named(method.clone(), url.clone())?) else { return Ok(None) };
            let request = request.header("DPoP", prover.proof(&method, &url, nonce)?);
            Ok(Some(match prover.token {
                Some(token) => {
                    let value = HeaderValue::try_from(format!("DPoP {}", token.expose_secret()));
                    let mut value = value.map_err(|_| NotNow)?;
                    value.set_sensitive(true);
                    request.header(AUTHORIZATION, value)
                }
                None => request,
            }))
        };
        let first = request(self.nonces.of(&url).as_deref())?.ok_or(NotNow)?;
        let reply = self.send(first).await?;
        let nonce = self.nonces.learn(&url, &reply.headers);
        if !reply.wants_another_nonce() || nonce.is_none() {
            return Ok(reply);
        }
        match request(nonce.as_deref())? {
            None => Ok(reply),
            Some(again) => {
                let reply = self.send(again).await?;
                self.nonces.learn(&url, &reply.headers);
                Ok(reply)
            }
        }
    }
}

#[derive(Deserialize)]
struct Refused {
    error: String,
}

impl Reply {
    /// The body, when it is what was asked for.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The name of what is wrong, for programs: XRPC and OAuth write it alike.
    /// `None` where what answered is none of these servers.
    pub(super) fn error(&self) -> Option<String> {
        let is_name = |it: &String| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        self.json::<Refused>().map(|it| it.error).filter(is_name)
    }

    /// Whether a 401 speaks of the token, and does not come from a proxy that
    /// wants a password of its own.
    pub(super) fn is_of_the_server(&self) -> bool {
        let challenge = self.headers.get(WWW_AUTHENTICATE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let scheme = challenge.split(' ').next().unwrap_or_default();
        self.error().is_some() || ["DPoP", "Bearer"].iter().any(|it| it.eq_ignore_ascii_case(scheme))
    }

    /// What is wrong, for people.
    pub(super) fn words(&self) -> String {
        answer::words_of(self.status, &self.body)
    }

    fn wants_another_nonce(&self) -> bool {
        self.status.is_client_error() && self.error().as_deref() == Some("use_dpop_nonce")
    }

    /// When the server wants to be asked again: `Retry-After`, or
    /// `RateLimit-Reset` in Unix seconds, which older ones send alone.
    pub(super) fn retry_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let reset = || {
            let seconds = self.headers.get("ratelimit-reset")?.to_str().ok()?.parse().ok()?;
            // Limits are per five minutes, hour and day.
            DateTime::from_timestamp(seconds, 0).filter(|it| *it <= now + TimeDelta::days(1))
        };
        answer::retry_at(&self.headers, now).or_else(reset)
    }
}

fn silence(error: &reqwest::Error) -> Silence {
    match Outbound::refusal(error) {
        Some(refusal) => Silence::Refused(refusal),
        None if error.is_connect() => Silence::NotReached,
        None if error.is_timeout() => Silence::TooSlow,
        None => Silence::CutOff,
    }
}

impl From<Silence> for Setback {
    fn from(silence: Silence) -> Self {
        let reason = silence.to_string();
        match silence {
            Silence::Refused(_) | Silence::NotNow(_) | Silence::NotReached => Self::Busy { retry_at: None, reason },
            Silence::TooSlow | Silence::CutOff => Self::Unknown { may_still_run: true, reason },
        }
    }
}

impl From<Silence> for RefreshRefusal {
    fn from(silence: Silence) -> Self {
        Self::Unreachable(silence.to_string())
    }
}
