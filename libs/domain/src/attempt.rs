//! The record of one call to a platform, for its user and for operators. The protocol does not read
//! it: what decides is the delivery.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::delivery::{AttemptError, Delivery, Resolution};
use crate::id::{ConnectionId, PostId, TargetId, UserId};

pub const KEPT_FOR: TimeDelta = TimeDelta::days(90);

/// It has neither tokens nor the text of the post: an adapter redacts the messages of its platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub user_id: UserId,
    pub post_id: PostId,
    pub target_id: TargetId,
    pub connection_id: ConnectionId,
    pub provider: String,
    /// Index in the segments of the target.
    pub segment: u16,
    /// When the call began.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
    pub duration_ms: u64,
    pub step: AttemptStep,
    pub outcome: AttemptOutcome,
    /// `None` after a success, and where no call failed: the platform accepted a post and refused it later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<ErrorKind>,
    /// Of the last response of the platform; `None` where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// For the user; `None` after a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStep {
    Prepare,
    Publish,
    LookUp,
    /// A first comment, or what follows the publication.
    Comment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    Accepted,
    Refused,
    /// The call certainly made nothing public.
    RetryLater,
    /// Not known whether the call took effect, or, for a look-up, whether an earlier one did.
    Unknown,
    Found,
    NotFound,
}

/// The platform's error table says which response is which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Nothing was sent, or nothing arrived.
    NotSent,
    /// It was sent, and there is no response, or a success that cannot be read.
    NoResponse,
    RateLimited,
    Unavailable,
    /// The id, secret, version or plan of our app: only the operator can correct it.
    AppMisconfigured,
    NotReady,
    FetchFailed,
    /// A proxy, CDN or firewall answered instead of the platform.
    Intermediary,
    ServerError,
    Unauthorized,
    Forbidden,
    InvalidPost,
    Duplicate,
    PreparationExpired,
}

/// How the last HTTP call of a step ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallResult {
    pub http_status: Option<u16>,
    pub error_kind: Option<ErrorKind>,
}

impl AttemptStep {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Publish => "publish",
            Self::LookUp => "look_up",
            Self::Comment => "comment",
        }
    }

    pub const fn outcome_of(self, error: &AttemptError) -> AttemptOutcome {
        match (self, error) {
            (_, AttemptError::Refused { .. }) => AttemptOutcome::Refused,
            // A preparation call makes nothing public.
            (
                Self::Prepare,
                AttemptError::Unknown { .. } | AttemptError::Duplicate { .. } | AttemptError::Accepted { .. },
            )
            | (
                _,
                AttemptError::RetryLater { .. }
                | AttemptError::Unauthorized { .. }
                | AttemptError::PreparationExpired { .. },
            ) => AttemptOutcome::RetryLater,
            (_, AttemptError::Unknown { .. } | AttemptError::Duplicate { .. }) => AttemptOutcome::Unknown,
            (_, AttemptError::Accepted { .. }) => AttemptOutcome::Accepted,
        }
    }
}

impl AttemptOutcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::RetryLater => "retry_later",
            Self::Unknown => "unknown",
            Self::Found => "found",
            Self::NotFound => "not_found",
        }
    }

    /// A look-up that finds nothing succeeds, too.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Accepted | Self::Found | Self::NotFound)
    }
}

impl ErrorKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotSent => "not_sent",
            Self::NoResponse => "no_response",
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::AppMisconfigured => "app_misconfigured",
            Self::NotReady => "not_ready",
            Self::FetchFailed => "fetch_failed",
            Self::Intermediary => "intermediary",
            Self::ServerError => "server_error",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::InvalidPost => "invalid_post",
            Self::Duplicate => "duplicate",
            Self::PreparationExpired => "preparation_expired",
        }
    }
}

impl From<&Resolution> for AttemptOutcome {
    fn from(resolution: &Resolution) -> Self {
        match resolution {
            Resolution::Found(_) => Self::Found,
            Resolution::NotFound | Resolution::NotPublished => Self::NotFound,
            Resolution::Refused { .. } => Self::Refused,
            Resolution::Candidate(_)
            | Resolution::Pending { .. }
            | Resolution::Unauthorized { .. }
            | Resolution::Undeterminable { .. } => Self::Unknown,
        }
    }
}

impl Attempt {
    pub fn new(
        delivery: &Delivery,
        segment: usize,
        step: AttemptStep,
        (began_at, ended_at): (DateTime<Utc>, DateTime<Utc>),
        outcome: AttemptOutcome,
        message: Option<String>,
        call: CallResult,
    ) -> Self {
        Self {
            user_id: delivery.user_id,
            post_id: delivery.post_id,
            target_id: delivery.target_id,
            connection_id: delivery.connection_id,
            provider: delivery.provider.clone(),
            segment: u16::try_from(segment).unwrap_or(u16::MAX),
            at: began_at,
            duration_ms: u64::try_from((ended_at - began_at).num_milliseconds()).unwrap_or_default(),
            step,
            outcome,
            error_kind: call.error_kind.filter(|_| !outcome.is_success()),
            http_status: call.http_status,
            message,
        }
    }

    pub fn is_kept(&self, now: DateTime<Utc>) -> bool {
        now < self.at + KEPT_FOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::Published;
    use crate::testing::{a_delivery, noon};

    fn attempt(outcome: AttemptOutcome) -> Attempt {
        let call = CallResult { http_status: Some(404), error_kind: Some(ErrorKind::InvalidPost) };
        let times = (noon(), noon() + TimeDelta::milliseconds(321));
        Attempt::new(&a_delivery(), 0, AttemptStep::LookUp, times, outcome, None, call)
    }

    #[test]
    fn failed_call_of_an_adapter_that_went_on_is_no_error_of_the_attempt() {
        assert_eq!(attempt(AttemptOutcome::NotFound).error_kind, None);
        assert_eq!(attempt(AttemptOutcome::Unknown).error_kind, Some(ErrorKind::InvalidPost));
        assert_eq!(attempt(AttemptOutcome::Unknown).duration_ms, 321);
    }

    #[test]
    fn only_a_public_call_has_an_unknown_outcome() {
        let cut = AttemptError::Unknown { may_still_run: true, retry_at: None, reason: String::new() };
        assert_eq!(AttemptStep::Prepare.outcome_of(&cut), AttemptOutcome::RetryLater);
        assert_eq!(AttemptStep::Publish.outcome_of(&cut), AttemptOutcome::Unknown);
        assert_eq!(AttemptStep::Comment.outcome_of(&cut), AttemptOutcome::Unknown);
    }

    #[test]
    fn candidate_is_not_found_yet() {
        let candidate = Resolution::Candidate(Published::new("p1", noon()));
        assert_eq!(AttemptOutcome::from(&candidate), AttemptOutcome::Unknown);
    }

    #[test]
    fn attempt_is_kept_for_ninety_days() {
        let attempt = attempt(AttemptOutcome::Found);
        assert!(attempt.is_kept(noon() + TimeDelta::days(89)));
        assert!(!attempt.is_kept(noon() + KEPT_FOR));
    }
}
