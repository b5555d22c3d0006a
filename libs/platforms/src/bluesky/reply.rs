//! Responses of servers, and why there may be none.

use chrono::{DateTime, Utc};
use domain::delivery::AttemptError;
use egress::{Egress, EgressError};
use http::{HeaderMap, StatusCode};
use reqwest::RequestBuilder;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::errors;
use crate::connect_flow::RefreshError;
use crate::dependency_error::DependencyError;
use crate::http_clients;
use crate::kit::{CallError, Effect, ErrorTable};
use crate::response;

pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReplyError {
    #[error("this service may not call its server: {0}")]
    Refused(#[from] EgressError),
    #[error(transparent)]
    NotNow(#[from] DependencyError),
    /// No connection: nothing was executed.
    #[error("its server could not be reached")]
    NotReached,
    #[error("its server did not respond in time")]
    Timeout,
    #[error("its server's response was cut off or too long")]
    CutOff,
}

impl Reply {
    pub(super) async fn to(request: RequestBuilder) -> Result<Self, ReplyError> {
        let response = http_clients::send(request).await.map_err(|error| reply_error(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response::body(response).await.map_err(|_| ReplyError::CutOff)?;
        Ok(Self { status, headers, body })
    }

    pub(super) fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    pub(super) fn error(&self) -> Option<String> {
        self.json::<Value>().as_ref().and_then(errors::name_of).map(str::to_owned)
    }

    pub(super) fn failure(&self, errors: &ErrorTable, effect: Effect, now: DateTime<Utc>) -> CallError {
        errors.classify(effect, self.status, &self.headers, &self.body, now)
    }

    pub(super) fn message(&self) -> String {
        response::message_from(self.status, &self.body)
    }

    pub(super) fn retry_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        response::retry_at(&self.headers, now).or_else(|| errors::limit_ends_at(&self.headers, now))
    }
}

fn reply_error(error: &reqwest::Error) -> ReplyError {
    match Egress::refusal(error) {
        Some(refusal) => ReplyError::Refused(refusal),
        None if error.is_connect() => ReplyError::NotReached,
        None if error.is_timeout() => ReplyError::Timeout,
        None => ReplyError::CutOff,
    }
}

impl From<ReplyError> for AttemptError {
    fn from(reply_error: ReplyError) -> Self {
        let reason = reply_error.to_string();
        match reply_error {
            ReplyError::Refused(_) | ReplyError::NotNow(_) | ReplyError::NotReached => {
                Self::RetryLater { retry_at: None, reason }
            }
            ReplyError::Timeout | ReplyError::CutOff => Self::Unknown { may_still_run: true, retry_at: None, reason },
        }
    }
}

impl From<ReplyError> for RefreshError {
    fn from(reply_error: ReplyError) -> Self {
        Self::Unreachable(reply_error.to_string())
    }
}
