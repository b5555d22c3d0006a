//! Puts events from the outbox on the bus: at once by the writer of the change
//! ([`cloud::events::publish_event`]), else by the tick.
//!
//! The writer does not remove its event, which would cost the request one more call. The function
//! webhooks does when the event has arrived there from the bus, and the tick for what it puts
//! itself. So an event that was not put, or did not arrive, stays until the tick puts it.

use std::sync::Arc;

use cloud::events::EventBus;
use domain::clock::Clock;
use domain::event::Event;
use storage::Store;

use crate::HousekeepingError;

/// The most events of one shard that one tick takes; the next tick continues.
const AT_ONCE: i32 = 200;

/// The event goes first: after a crash it is put again, and never lost.
async fn publish_and_remove(store: &Store, events: &dyn EventBus, event: &Event) -> Result<(), HousekeepingError> {
    events.put(std::slice::from_ref(event)).await?;
    Ok(store.remove_from_outbox(event).await?)
}

#[derive(Clone)]
pub struct Outbox {
    pub store: Store,
    pub events: Arc<dyn EventBus>,
    pub clock: Clock,
}

impl Outbox {
    /// Puts the events on the bus that their writers left behind. An event that fails delays the
    /// others for at most one tick. Returns the last error, after all shards were processed.
    pub async fn sweep(&self) -> Result<(), HousekeepingError> {
        let mut failed = None;
        for shard in 0..self.store.due_shards() {
            if let Err(error) = self.empty_shard(shard, &mut failed).await {
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Publishes the events of one shard until the bus refuses one. An unreadable event is skipped.
    async fn empty_shard(
        &self,
        shard: u32,
        last_error: &mut Option<HousekeepingError>,
    ) -> Result<(), HousekeepingError> {
        for event in self.store.due_outbox_events(shard, self.clock.now(), AT_ONCE).await? {
            match event {
                Ok(event) => publish_and_remove(&self.store, self.events.as_ref(), &event).await?,
                Err(error) => {
                    tracing::error!(%error, shard, "event stays in the outbox");
                    *last_error = Some(error.into());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use chrono::TimeDelta;
    use domain::testing::noon;

    use crate::testing::outbox;
    use publishing::testing::PublishingHarness;

    #[tokio::test]
    async fn unpublished_event_is_published_by_the_tick() {
        let harness = PublishingHarness::new().await;
        harness.events.down.store(true, Ordering::SeqCst);
        harness.schedule("Words", noon() + TimeDelta::hours(1)).await;
        assert!(harness.events.types().is_empty());

        harness.events.down.store(false, Ordering::SeqCst);
        harness.clock.advance(TimeDelta::minutes(1));
        outbox(&harness).sweep().await.unwrap();
        outbox(&harness).sweep().await.unwrap();

        assert_eq!(harness.events.types(), ["post.scheduled"], "once");
    }

    #[tokio::test]
    async fn event_that_does_not_arrive_from_the_bus_is_put_once_more() {
        let harness = PublishingHarness::new().await;
        harness.schedule("Words", noon() + TimeDelta::hours(1)).await;
        assert_eq!(harness.events.types(), ["post.scheduled"]);

        harness.clock.advance(TimeDelta::minutes(1));
        outbox(&harness).sweep().await.unwrap();
        outbox(&harness).sweep().await.unwrap();

        assert_eq!(harness.events.types(), ["post.scheduled", "post.scheduled"]);
    }

    #[tokio::test]
    async fn unreadable_event_delays_no_other() {
        let harness = PublishingHarness::new().await;
        harness.events.down.store(true, Ordering::SeqCst);
        for minutes in 1..=20 {
            harness.schedule("Words", noon() + TimeDelta::hours(1) + TimeDelta::minutes(minutes)).await;
        }
        for shard in 0..harness.store.due_shards() {
            storage::testing::corrupt_outbox(&harness.store, &harness.user, shard).await;
        }

        harness.events.down.store(false, Ordering::SeqCst);
        harness.clock.advance(TimeDelta::minutes(1));

        assert!(outbox(&harness).sweep().await.is_err(), "it is said");
        assert_eq!(harness.events.types().len(), 20);
    }
}
