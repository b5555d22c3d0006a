//! How late it is while a call is being worked on.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::{Instant, timeout_at};

/// Goes on from the time at which a call was begun.
pub(super) struct Watch {
    begun_at: DateTime<Utc>,
    begun: Instant,
}

impl Watch {
    /// Of a call that begins now, which is `now`.
    pub(super) fn begin(now: DateTime<Utc>) -> Self {
        Self { begun_at: now, begun: Instant::now() }
    }

    /// What our clock shows now.
    pub(super) fn now(&self) -> DateTime<Utc> {
        self.begun_at + TimeDelta::from_std(self.begun.elapsed()).unwrap_or_default()
    }

    /// What comes of this before so much time has passed since the beginning;
    /// `None` when nothing does.
    pub(super) async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.begun + limit, work).await.ok()
    }
}
