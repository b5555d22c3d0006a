//! Handles a call that the platform answered with `Unauthorized`.

use domain::delivery::AttemptError;
use platforms::Publish;
use storage::ConnectionRecord;

use super::AttemptContext;
use crate::Publishing;

impl Publishing {
    /// Checks before the delivery waits for its user. If there is no time for a refresh, the next
    /// worker does it.
    pub(super) async fn check_lost_grant(
        &self,
        context: &AttemptContext<'_>,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        error: AttemptError,
    ) -> AttemptError {
        match error {
            AttemptError::Unauthorized { reason } if context.begin_until < self.clock.now() => {
                AttemptError::RetryLater { retry_at: None, reason }
            }
            AttemptError::Unauthorized { reason } => match context.used {
                Some(used) => self.credentials.rejected(platform, record, used, reason).await,
                None => AttemptError::RetryLater { retry_at: None, reason },
            },
            other => other,
        }
    }
}
