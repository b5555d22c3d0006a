//! What servers answer, and why there may be no answer.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Setback;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};
use outbound::{Outbound, Refusal};
use reqwest::RequestBuilder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::answer;
use crate::handoff::RefreshRefusal;
use crate::not_now::NotNow;

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

#[derive(Deserialize)]
struct Refused {
    error: String,
}

impl Reply {
    /// Sends a request and reads the answer, bounded in time and size.
    pub(super) async fn to(request: RequestBuilder) -> Result<Self, Silence> {
        let response = request.send().await.map_err(|error| silence(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = answer::body(response).await.map_err(|_| Silence::CutOff)?;
        Ok(Self { status, headers, body })
    }

    /// The body, where it has this form.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The name of the error, which XRPC and OAuth have in the same place. `None`
    /// where the answer comes from something else, such as a proxy.
    pub(super) fn error(&self) -> Option<String> {
        let is_name = |it: &String| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        self.json::<Refused>().map(|it| it.error).filter(is_name)
    }

    /// Whether a 401 comes from the server and is about the token, and not from a
    /// proxy that wants a password of its own.
    pub(super) fn is_of_the_server(&self) -> bool {
        let challenge = self.headers.get(WWW_AUTHENTICATE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let scheme = challenge.split(' ').next().unwrap_or_default();
        self.error().is_some() || ["DPoP", "Bearer"].iter().any(|it| it.eq_ignore_ascii_case(scheme))
    }

    /// What is wrong, for people.
    pub(super) fn words(&self) -> String {
        answer::words_of(self.status, &self.body)
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
