//! The deliveries of a post that is written, and the messages that bring them to
//! a worker.

use chrono::{DateTime, Utc};
use cloud::queue::{DeliveryMessage, Outgoing};
use domain::delivery::Delivery;
use domain::id::Fresh;
use domain::post::Post;

use crate::Publishing;

impl Publishing {
    /// The deliveries that a post still has to make.
    pub(crate) fn deliveries_of(&self, post: &Post, now: DateTime<Utc>) -> Vec<Delivery> {
        let lead = |provider: &str| self.leads.before(provider, &post.media);
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
    imminent.map(|it| Outgoing { message: DeliveryMessage::about(it), at: it.look_at }).collect()
}
