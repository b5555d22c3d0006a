//! A delivery whose platform cannot be called.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{Delivery, Resolution, Setback};
use domain::token::random_u32;
use platforms::Publish;
use storage::ConnectionRecord;

use super::Task;
use crate::Publishing;

/// The longest time between two attempts to renew credentials for a delivery.
const LONGEST_PAUSE: TimeDelta = TimeDelta::minutes(5);

/// What follows when the platform cannot even be called. An open intent stays
/// open: that nobody can be asked says nothing of how the last call ended.
pub(super) fn not_callable(delivery: &Delivery, setback: Setback, now: DateTime<Utc>) -> Delivery {
    let delivery = delivery.clone();
    // No call is counted, so the wait grows with the lateness instead.
    let rarely_at = now + ((now - delivery.publish_at) / 10).min(LONGEST_PAUSE);
    match (setback, &delivery.intent) {
        (Setback::Busy { retry_at, reason }, None) => {
            let retry_at = Some(retry_at.map_or(rarely_at, |it| it.max(rarely_at)));
            delivery.settled(Err(Setback::Busy { retry_at, reason }), now, random_u32())
        }
        (setback, None) => delivery.settled(Err(setback), now, random_u32()),
        (setback, Some(_)) => {
            let unclear = Resolution::Unclear { reason: setback.into_reason() };
            delivery.resolved(unclear, TimeDelta::zero(), now, random_u32())
        }
    }
}

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
            Setback::Disconnected { reason } => self.rejected(platform, record, reason).await,
            other => other,
        }
    }
}
