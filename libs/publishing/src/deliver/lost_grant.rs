//! A call that the platform answered with a lost grant.

use domain::delivery::Setback;
use platforms::Publish;
use storage::ConnectionRecord;

use super::Task;
use crate::Publishing;

impl Publishing {
    /// A grant that is gone is looked into before the delivery is told, by the
    /// next worker where there is no time for a renewal.
    pub(super) async fn weighed(
        &self,
        task: &Task<'_>,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        setback: Setback,
    ) -> Setback {
        match setback {
            Setback::Disconnected { reason } if task.begin_until < self.clock.now() => {
                Setback::Busy { retry_at: None, reason }
            }
            Setback::Disconnected { reason } => match task.used {
                Some(used) => self.custody().rejected(platform, record, used, reason).await,
                None => Setback::Busy { retry_at: None, reason },
            },
            other => other,
        }
    }
}
