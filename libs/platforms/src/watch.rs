//! The time during a step that makes several calls.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::{Instant, timeout_at};

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
