//! How long platforms may take to answer while a person waits.

use std::time::Duration;

use platforms::ConnectError;
use tokio::time::timeout;

/// How long what was sent to a connect flow may be worked on.
pub(crate) const ANSWERED_WITHIN: Duration = Duration::from_secs(18);

/// The same for the answer of a platform, whose code is good for one exchange.
/// It is well below the 29 seconds after which the function is stopped.
pub(crate) const COMPLETED_WITHIN: Duration = Duration::from_secs(23);

/// What a platform says within a time, or that it did not answer.
pub(crate) async fn within<T>(
    time: Duration,
    asked: impl Future<Output = Result<T, ConnectError>>,
) -> Result<T, ConnectError> {
    timeout(time, asked).await.unwrap_or(Err(ConnectError::Unreachable))
}
