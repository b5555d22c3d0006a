//! A failed call, and what follows for the protocol.

use std::fmt;

use chrono::{DateTime, Utc};
pub(crate) use domain::attempt::ErrorKind;
use domain::delivery::{AttemptError, Resolution};
use egress::EgressError;
use http::StatusCode;
use serde_json::Value;

use crate::account::UnreadableGrant;
use crate::connect_flow::ConnectError;
use crate::dependency_error::DependencyError;
use crate::last_call::record_error;
use crate::publish_request::MediaReadError;
use crate::transport_error::TransportError;

/// Determines the consequences of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing: an account, a list, a look-up.
    Read,
    /// Nothing that others see, and it may be repeated: an upload, a container.
    Private,
    /// It makes a post public: the publish call.
    Public,
}

#[derive(Clone)]
pub(crate) struct CallError {
    pub(crate) kind: ErrorKind,
    pub(crate) effect: Effect,
    pub(crate) status: Option<StatusCode>,
    /// The platform's codes, the most general first.
    pub(crate) codes: Vec<String>,
    pub(crate) message: String,
    pub(crate) retry_at: Option<DateTime<Utc>>,
    /// Whether the platform has certainly stopped working on the call.
    pub(crate) has_ended: bool,
    pub(super) can_look_up: bool,
    /// Whether an earlier publish call of the same post had an unknown outcome.
    pub(super) may_have_published: bool,
    pub(super) details: Details,
}

#[derive(Clone)]
pub(super) enum Details {
    /// The response, where it is JSON.
    Response(Value),
    /// The reference of [`CallError::accepted`].
    Accepted(Value),
}

/// Omits the body, which may repeat a token or the text.
impl fmt::Debug for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, effect, status, codes, .. } = self;
        formatter
            .debug_struct("CallError")
            .field("kind", kind)
            .field("effect", effect)
            .field("status", status)
            .field("codes", codes)
            .finish_non_exhaustive()
    }
}

impl CallError {
    pub(crate) fn new(kind: ErrorKind, effect: Effect, message: impl Into<String>) -> Self {
        Self {
            kind,
            effect,
            status: None,
            codes: Vec::new(),
            message: message.into(),
            retry_at: None,
            has_ended: false,
            can_look_up: true,
            may_have_published: false,
            details: Details::Response(Value::Null),
        }
    }

    /// The platform accepted the publish call, and decides later whether the post becomes public. Look-ups pass
    /// `reference` to [`PublishAdapter::find_accepted`](super::PublishAdapter::find_accepted).
    pub(crate) fn accepted(reference: Value, message: impl Into<String>) -> Self {
        let error = Self::new(ErrorKind::NoResponse, Effect::Public, message);
        Self { details: Details::Accepted(reference), ..error }
    }

    /// The post cannot be published as it is; nothing was sent.
    pub(crate) fn invalid_post(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidPost, Effect::Private, message)
    }

    /// A success that is not in the documented form.
    pub(crate) fn unreadable(title: &str, effect: Effect) -> Self {
        Self::new(ErrorKind::NoResponse, effect, format!("{title}'s response could not be read"))
    }

    pub(crate) fn from_transport(error: impl Into<TransportError>, effect: Effect, title: &str) -> Self {
        let error = error.into();
        let kind = if error.is_unsent() { ErrorKind::NotSent } else { ErrorKind::NoResponse };
        Self::new(kind, effect, error.message(title))
    }

    #[must_use]
    pub(crate) fn may_have_published(self, may_have_published: bool) -> Self {
        Self { may_have_published, ..self }
    }

    #[must_use]
    pub(crate) fn with_message(self, message: impl FnOnce(&str) -> String) -> Self {
        Self { message: message(&self.message), ..self }
    }

    pub(crate) fn has_code(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|it| codes.contains(&it.as_str()))
    }

    /// Whether the platform itself answered with this status. False for a page of an intermediary.
    pub(crate) fn is_status(&self, status: StatusCode) -> bool {
        self.kind != ErrorKind::Intermediary && self.status == Some(status)
    }

    pub(crate) fn value(&self, pointer: &str) -> Option<&Value> {
        match &self.details {
            Details::Response(body) => body.pointer(pointer),
            Details::Accepted(_) => None,
        }
    }

    /// The result of a look-up that failed with this error. Only the end of the grant is certain.
    pub(crate) fn resolution(self) -> Resolution {
        record_error(self.kind, self.status);
        match self.kind {
            ErrorKind::Unauthorized => Resolution::Unauthorized { reason: self.message },
            _ => Resolution::Pending { reason: self.message },
        }
    }
}

/// Whether an intermediary that answers with this 4xx has judged the request itself: by its address, size, fields or
/// sender. It normally does so before it forwards the request, so that the platform never got the call. Where no look-up
/// can tell, such a call is repeated; otherwise each false alarm of a firewall would end a post. (A firewall that
/// inspects responses may replace one by a 403. None is known in front of the platforms without a look-up.)
///
/// Every other status leaves open whether the request was forwarded. That of 408, 502 and 504 even says that the
/// intermediary waited for the rest of the request, or for the platform (RFC 9110, sections 15.5.9, 15.6.3 and 15.6.5);
/// they and all 5xx are [`ErrorKind::ServerError`]. 409, 410, 422 and codes outside the RFC, such as nginx's 499 for a
/// client that did not wait, may come from behind the intermediary.
fn is_judged_by_request(status: Option<StatusCode>) -> bool {
    const OF_REQUEST: [u16; 13] = [400, 401, 403, 404, 405, 407, 411, 413, 414, 415, 421, 431, 451];
    status.is_some_and(|it| OF_REQUEST.contains(&it.as_u16()))
}

/// The meaning of each kind for each effect. docs/adding-a-platform.md has it as a table.
impl From<CallError> for AttemptError {
    fn from(error: CallError) -> Self {
        use ErrorKind as K;
        let CallError { kind, effect, status, message: reason, retry_at, has_ended, can_look_up, .. } = error;
        record_error(kind, status);
        let is_public = effect == Effect::Public;
        match kind {
            K::Unauthorized => Self::Unauthorized { reason },
            K::PreparationExpired if effect != Effect::Read => Self::PreparationExpired { reason },
            K::NoResponse if is_public => Self::Unknown { may_still_run: true, retry_at, reason },
            K::ServerError if is_public => Self::Unknown { may_still_run: !has_ended, retry_at, reason },
            // A proxy may replace the response of a call that was accepted, and a list may not show the post yet.
            K::Intermediary if is_public && (can_look_up || !is_judged_by_request(status)) => {
                Self::Unknown { may_still_run: true, retry_at, reason }
            }
            // The earlier call published it.
            K::Duplicate if is_public && error.may_have_published => Self::Duplicate { reason },
            K::Forbidden | K::InvalidPost | K::Duplicate if effect != Effect::Read => Self::Refused { reason },
            K::NotSent
            | K::NoResponse
            | K::RateLimited
            | K::Unavailable
            | K::AppMisconfigured
            | K::NotReady
            | K::FetchFailed
            | K::Intermediary
            | K::ServerError
            | K::Forbidden
            | K::InvalidPost
            | K::Duplicate
            | K::PreparationExpired => Self::RetryLater { retry_at, reason },
        }
    }
}

/// Shows a reason that the next attempt would not change. Otherwise asks the user to try again.
impl From<CallError> for ConnectError {
    fn from(error: CallError) -> Self {
        match error.kind {
            ErrorKind::Unauthorized
            | ErrorKind::Forbidden
            | ErrorKind::InvalidPost
            | ErrorKind::Duplicate
            | ErrorKind::PreparationExpired => Self::Refused(error.message),
            ErrorKind::NotSent
            | ErrorKind::NoResponse
            | ErrorKind::RateLimited
            | ErrorKind::Unavailable
            | ErrorKind::AppMisconfigured
            | ErrorKind::NotReady
            | ErrorKind::FetchFailed
            | ErrorKind::Intermediary
            | ErrorKind::ServerError => Self::Unreachable,
        }
    }
}

impl From<DependencyError> for CallError {
    fn from(error: DependencyError) -> Self {
        Self::new(ErrorKind::NotSent, Effect::Read, error.to_string())
    }
}

impl From<UnreadableGrant> for CallError {
    fn from(error: UnreadableGrant) -> Self {
        Self::new(ErrorKind::Unauthorized, Effect::Private, error.to_string())
    }
}

/// The cause is our own storage, not the platform.
impl From<MediaReadError> for CallError {
    fn from(error: MediaReadError) -> Self {
        Self::new(ErrorKind::NotSent, Effect::Private, error.to_string())
    }
}

impl From<EgressError> for CallError {
    fn from(refusal: EgressError) -> Self {
        Self::new(ErrorKind::NotSent, Effect::Read, refusal.to_string())
    }
}
