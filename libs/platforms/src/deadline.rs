//! The time during a step that makes several calls.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{AttemptError, Resolution};
use tokio::time::{Instant, timeout_at};

use crate::platform::Step;
use crate::publish_request::PublishRequest;

/// The longest time for a question: less than [`STEP_LIMIT`](crate::platform::STEP_LIMIT),
/// so that its answer says whose fault it was.
pub(crate) const WITHIN: Duration = Duration::from_secs(38);

/// A step of preparation on the platform with this title, ended in time.
pub(crate) async fn step(
    title: &str,
    job: &PublishRequest<'_>,
    work: impl Future<Output = Result<Step, AttemptError>>,
) -> Result<Step, AttemptError> {
    let late = || AttemptError::RetryLater { retry_at: None, reason: format!("{title} did not take it in time") };
    Deadline::begin(job.now).within(WITHIN, work).await.ok_or_else(late).flatten()
}

/// A look at what became of a public call there, ended in time.
pub(crate) async fn look(title: &str, job: &PublishRequest<'_>, work: impl Future<Output = Resolution>) -> Resolution {
    let late = || Resolution::Pending { reason: format!("{title} did not answer in time") };
    Deadline::begin(job.now).within(WITHIN, work).await.unwrap_or_else(late)
}

/// A clock that was set when the step began and runs on from there.
pub(crate) struct Deadline {
    begun_at: DateTime<Utc>,
    begun: Instant,
}

impl Deadline {
    /// Starts it at the beginning of a step, where the time is `now`.
    pub(crate) fn begin(now: DateTime<Utc>) -> Self {
        Self { begun_at: now, begun: Instant::now() }
    }

    /// What our clock shows now.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.begun_at + TimeDelta::from_std(self.begun.elapsed()).unwrap_or_default()
    }

    /// The result of the work if it ends within `limit` of the beginning of the
    /// step, else `None`.
    pub(crate) async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.begun + limit, work).await.ok()
    }
}
