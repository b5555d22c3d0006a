//! A call that the platform answered with a lost grant.

use domain::delivery::AttemptError;
use platforms::Publish;
use storage::ConnectionRecord;

use super::AttemptContext;
use crate::Publishing;

impl Publishing {
    /// A grant that is gone is looked into before the delivery is told, by the
    /// next worker where there is no time for a renewal.
    pub(super) async fn check_lost_grant(
        &self,
        task: &AttemptContext<'_>,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        setback: AttemptError,
    ) -> AttemptError {
        match setback {
            AttemptError::Unauthorized { reason } if task.begin_until < self.clock.now() => {
                AttemptError::RetryLater { retry_at: None, reason }
            }
            AttemptError::Unauthorized { reason } => match task.used {
                Some(used) => self.custody().rejected(platform, record, used, reason).await,
                None => AttemptError::RetryLater { retry_at: None, reason },
            },
            other => other,
        }
    }
}
