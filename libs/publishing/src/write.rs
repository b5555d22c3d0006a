//! What creating, changing and removing a post share: its deliveries, and the
//! hints to look at them.

use chrono::{DateTime, Utc};
use cloud::queue::{DeliveryMessage, MAX_DELAY_S, Outgoing};
use domain::delivery::Delivery;
use domain::id::Fresh;
use domain::post::Post;

use crate::Publishing;

impl Publishing {
    /// The deliveries that a post still has to make.
    pub(crate) fn deliveries_of(&self, post: &Post, now: DateTime<Utc>) -> Vec<Delivery> {
        let lead = |provider: &str| self.platforms.get(provider).and_then(|it| it.lead(&post.media));
        post.to_deliver()
            .map(|target| {
                let stamp: Fresh = self.ids.fresh();
                Delivery::new(post, target, lead(&target.provider), stamp.get(), now)
            })
            .collect()
    }

    /// Puts those on the queue that come before the sweep would plan them for
    /// certain. A message that is lost here makes its delivery late, not lost.
    pub(crate) async fn hint(&self, deliveries: &[Delivery], now: DateTime<Utc>) {
        let messages = imminent(deliveries, now);
        if messages.is_empty() {
            return;
        }
        if let Err(error) = self.queue.send(&messages).await {
            tracing::warn!(%error, "deliveries are left to the sweep");
        }
    }
}

fn imminent(deliveries: &[Delivery], now: DateTime<Utc>) -> Vec<Outgoing> {
    let imminent = deliveries.iter().filter(|it| it.is_imminent(now));
    imminent.map(|it| outgoing(message_of(it), it.look_at, now)).collect()
}

pub(crate) fn message_of(delivery: &Delivery) -> DeliveryMessage {
    DeliveryMessage {
        user_id: delivery.user_id,
        post_id: delivery.post_id,
        target_id: delivery.target_id,
        connection_id: delivery.connection_id,
        revision: delivery.revision,
        roll_up_at: None,
    }
}

/// A message that arrives about a second before `look_at`; the rest of the
/// second is waited out by the delivery itself.
pub(crate) fn outgoing(message: DeliveryMessage, look_at: DateTime<Utc>, now: DateTime<Utc>) -> Outgoing {
    let wait_s = ((look_at - now).num_seconds() - 1).clamp(0, MAX_DELAY_S.into());
    Outgoing { message, delay_s: u16::try_from(wait_s).unwrap_or(0) }
}
