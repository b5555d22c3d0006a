//! The time during a step that makes several calls.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{Resolution, Setback};
use tokio::time::{Instant, timeout_at};

use crate::job::Job;
use crate::platform::Step;

/// The longest time for a question: less than [`STEP_LIMIT`](crate::platform::STEP_LIMIT),
/// so that its answer says whose fault it was.
pub(crate) const WITHIN: Duration = Duration::from_secs(38);

/// A step of preparation on the platform with this title, ended in time.
pub(crate) async fn step(
    title: &str,
    job: &Job<'_>,
    work: impl Future<Output = Result<Step, Setback>>,
) -> Result<Step, Setback> {
    let late = || Setback::Busy { retry_at: None, reason: format!("{title} did not take it in time") };
    Watch::begin(job.now).within(WITHIN, work).await.ok_or_else(late).flatten()
}

/// A look at what became of a public call there, ended in time.
pub(crate) async fn look(title: &str, job: &Job<'_>, work: impl Future<Output = Resolution>) -> Resolution {
    let late = || Resolution::Unclear { reason: format!("{title} did not answer in time") };
    Watch::begin(job.now).within(WITHIN, work).await.unwrap_or_else(late)
}

/// A clock that was set when the step began and runs on from there.
pub(crate) struct Watch {
    begun_at: DateTime<Utc>,
    begun: Instant,
}

impl Watch {
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
