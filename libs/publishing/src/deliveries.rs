//! The deliveries of a post that is written, and the messages that bring them to
//! a worker.

use chrono::{DateTime, Utc};
use cloud::queue::{DeliveryMessage, Outgoing};
use domain::delivery::Delivery;
use domain::id::UniqueNumber;
use domain::post::{Post, Target};

use crate::Publishing;

impl Publishing {
    /// The deliveries that a post still has to make.
    pub(crate) fn deliveries_of(&self, post: &Post, now: DateTime<Utc>) -> Vec<Delivery> {
        let lead = |target: &Target| self.leads.before(&target.provider, post.media_of(target));
        post.to_deliver()
            .map(|target| {
                let write_id: UniqueNumber = self.ids.fresh();
                Delivery::new(post, target, lead(target), write_id.get(), now)
            })
            .collect()
    }

    /// Puts those on the queue that come before the sweep would plan them for
    /// certain. A message that is lost here makes its delivery late, not lost.
    ///
    /// Only the plan sees which come in a crowd; others ask for a place in any
    /// case, unless it is the next step of one that the plan let pass.
    pub(crate) async fn hint(&self, deliveries: &[Delivery], now: DateTime<Utc>) {
        self.hint_in(deliveries, true, now).await;
    }

    pub(crate) async fn hint_in(&self, deliveries: &[Delivery], needs_permit: bool, now: DateTime<Utc>) {
        let messages = imminent(deliveries, needs_permit, now);
        if messages.is_empty() {
            return;
        }
        if let Err(error) = self.queue.send(&messages).await {
            tracing::warn!(%error, "deliveries are left to the sweep");
        }
    }
}

fn imminent(deliveries: &[Delivery], needs_permit: bool, now: DateTime<Utc>) -> Vec<Outgoing> {
    let imminent = deliveries.iter().filter(|it| it.is_imminent(now));
    let message = |it| DeliveryMessage { needs_permit, ..DeliveryMessage::about(it) };
    imminent.map(|it| Outgoing { message: message(it), at: it.next_step_at }).collect()
}
