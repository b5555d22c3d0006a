//! Time limits of platform calls while a user waits.

use std::time::Duration;

use platforms::ConnectError;
use tokio::time::timeout;

/// For the calls that one submission of a form makes.
pub(crate) const SUBMIT_TIMEOUT: Duration = Duration::from_secs(18);

/// For the exchange of a callback's code, which can be exchanged once. It is well below the 29
/// seconds after which the function is stopped.
pub const CALLBACK_TIMEOUT: Duration = Duration::from_secs(23);

/// For the list of an option's values.
pub(crate) const CHOICES_TIMEOUT: Duration = Duration::from_secs(12);

/// The platform's response, or `Unreachable` after this time.
pub(crate) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, ConnectError>>,
) -> Result<T, ConnectError> {
    timeout(limit, call).await.unwrap_or(Err(ConnectError::Unreachable))
}
