//! Creates the deliveries of a post, and the queue messages about them.

use chrono::{DateTime, TimeDelta, Utc};
use cloud::queue::{Admission, DeliveryMessage, Outgoing, Queue};
use domain::delivery::Delivery;
use domain::id::UniqueNumber;
use domain::post::{Post, Target};

use crate::Scheduling;

/// The most time before the due second that the preparation of a thread begins: some platforms
/// keep an upload that no post shows for an hour only.
const MAX_THREAD_LEAD: TimeDelta = TimeDelta::minutes(30);

impl Scheduling {
    pub(crate) fn new_deliveries(&self, post: &Post, now: DateTime<Utc>) -> Vec<Delivery> {
        let lead_time = |target: &Target| {
            let segments = post.segments(target);
            let leads = segments.iter().map(|it| self.rules.leads.before(&target.provider, it.media));
            // The segments are prepared one after the other.
            let all = leads.clone().flatten().reduce(|one, other| one + other)?;
            Some(all.min(MAX_THREAD_LEAD).max(leads.flatten().max()?))
        };
        post.targets_to_deliver()
            .map(|target| {
                let write_id: UniqueNumber = self.ids.fresh();
                Delivery::new(post, target, lead_time(target), write_id.get(), now)
            })
            .collect()
    }

    pub(crate) async fn hint(&self, deliveries: &[Delivery], now: DateTime<Utc>) {
        queue_imminent(self.queue.as_ref(), deliveries, Admission::WithPermits, now).await;
    }
}

/// Queues the deliveries that are due before the sweep is certain to plan them. If a message is lost
/// here, its delivery is late, not lost.
///
/// Only the plan sees bursts. So these deliveries need permits, except for the next step of a
/// delivery that the plan admitted without one.
pub async fn queue_imminent(queue: &dyn Queue, deliveries: &[Delivery], admission: Admission, now: DateTime<Utc>) {
    let messages = imminent(deliveries, admission, now);
    if messages.is_empty() {
        return;
    }
    if let Err(error) = queue.send(&messages).await {
        tracing::warn!(%error, "deliveries could not be queued and were left to the sweep");
    }
}

fn imminent(deliveries: &[Delivery], admission: Admission, now: DateTime<Utc>) -> Vec<Outgoing> {
    let imminent = deliveries.iter().filter(|it| it.is_imminent(now));
    let message = |it| DeliveryMessage { admission, ..DeliveryMessage::for_delivery(it) };
    imminent.map(|it| Outgoing { message: message(it), at: it.next_step_at }).collect()
}
