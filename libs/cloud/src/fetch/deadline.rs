//! One time limit for all steps of a fetch.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::FetchError;

/// The end of a fetch, shared by all its steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    at: Instant,
    timeout: Duration,
}

impl Deadline {
    pub(super) fn after(timeout: Duration) -> Self {
        Self { at: Instant::now() + timeout, timeout }
    }

    /// A step's outcome, or the end of the fetch if that comes first.
    pub(super) async fn within<T>(self, step: impl Future<Output = Result<T, FetchError>>) -> Result<T, FetchError> {
        timeout_at(self.at, step).await.map_err(|_| FetchError::TooSlow { timeout: self.timeout })?
    }
}
