//! The deadline of a fetch, shared by all its steps.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::FetchError;

#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    at: Instant,
    timeout: Duration,
}

impl Deadline {
    pub(super) fn after(timeout: Duration) -> Self {
        Self { at: Instant::now() + timeout, timeout }
    }

    /// [`FetchError::Timeout`] if the deadline passes first.
    pub(super) async fn within<T>(self, step: impl Future<Output = Result<T, FetchError>>) -> Result<T, FetchError> {
        timeout_at(self.at, step).await.map_err(|_| FetchError::Timeout { timeout: self.timeout })?
    }
}
