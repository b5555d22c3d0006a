//! Time limits of a step that makes several calls.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, Resolution};
use tokio::time::{Instant, timeout_at};

use crate::platform::Step;
use crate::publish_request::PublishRequest;

/// Less than [`STEP_LIMIT`](crate::platform::STEP_LIMIT), so that the error names the platform that
/// was slow.
pub(crate) const WITHIN: Duration = Duration::from_secs(38);

/// `title` is the platform's name.
pub(crate) async fn step(
    title: &str,
    request: &PublishRequest<'_>,
    work: impl Future<Output = Result<Step, AttemptError>>,
) -> Result<Step, AttemptError> {
    let timeout_error =
        || AttemptError::RetryLater { retry_at: None, reason: format!("{title} did not finish the step in time") };
    Deadline::begin(request.now).within(WITHIN, work).await.ok_or_else(timeout_error).flatten()
}

pub(crate) async fn look_up(
    title: &str,
    request: &PublishRequest<'_>,
    work: impl Future<Output = Resolution>,
) -> Resolution {
    let pending = || Resolution::Pending { reason: format!("{title} did not respond in time") };
    Deadline::begin(request.now).within(WITHIN, work).await.unwrap_or_else(pending)
}

pub(crate) struct Deadline {
    begun_at: DateTime<Utc>,
    begun: Instant,
}

impl Deadline {
    pub(crate) fn begin(now: DateTime<Utc>) -> Self {
        Self { begun_at: now, begun: Instant::now() }
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.begun_at + TimeDelta::from_std(self.begun.elapsed()).unwrap_or_default()
    }

    pub(crate) async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.begun + limit, work).await.ok()
    }
}
