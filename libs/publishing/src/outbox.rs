//! Events that were written with what they tell of go on the bus: at once by
//! whoever wrote them, else by the tick.

use cloud::events::EventBus;
use domain::event::Event;
use storage::Store;

use crate::{Publishing, PublishingError};

/// Events of one shard that one tick takes at most; the next goes on.
const AT_ONCE: i32 = 200;

/// Puts an event on the bus that is in the outbox, and takes it out. When that
/// fails, it is logged, and the tick does it.
pub async fn publish_event(store: &Store, events: &dyn EventBus, event: &Event) {
    if let Err(error) = bring(store, events, event).await {
        tracing::warn!(%error, "an event is left to the tick");
    }
}

/// The event goes first: after a crash in between it is put again, and never lost.
async fn bring(store: &Store, events: &dyn EventBus, event: &Event) -> Result<(), PublishingError> {
    events.put(std::slice::from_ref(event)).await?;
    Ok(store.outbox_done(event).await?)
}

impl Publishing {
    /// Puts on the bus what those who wrote it have left behind. One that cannot be
    /// told holds up none of the others for longer than this tick: it says the last
    /// reason, once all shards were seen to.
    pub async fn empty_outbox(&self) -> Result<(), PublishingError> {
        let mut failed = None;
        for shard in 0..self.store.due_shards() {
            if let Err(error) = self.empty_shard(shard, &mut failed).await {
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// The events of one shard, until the bus takes one of them not. One that cannot
    /// be read is passed over.
    async fn empty_shard(&self, shard: u32, unread: &mut Option<PublishingError>) -> Result<(), PublishingError> {
        for event in self.store.outbox_due(shard, self.clock.now(), AT_ONCE).await? {
            match event {
                Ok(event) => bring(&self.store, self.events.as_ref(), &event).await?,
                Err(error) => {
                    tracing::error!(%error, shard, "an event stays in the outbox");
                    *unread = Some(error.into());
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

    use crate::testing::Rig;

    #[tokio::test]
    async fn an_event_that_could_not_be_told_is_told_by_the_tick() {
        let rig = Rig::new().await;
        rig.events.down.store(true, Ordering::SeqCst);
        rig.schedule("Words", noon() + TimeDelta::hours(1)).await;
        assert!(rig.events.types().is_empty());

        rig.events.down.store(false, Ordering::SeqCst);
        rig.clock.advance(TimeDelta::minutes(1));
        rig.publishing.empty_outbox().await.unwrap();
        rig.publishing.empty_outbox().await.unwrap();

        assert_eq!(rig.events.types(), ["post.scheduled"], "once");
    }

    #[tokio::test]
    async fn an_event_that_cannot_be_read_holds_up_no_other() {
        let rig = Rig::new().await;
        rig.events.down.store(true, Ordering::SeqCst);
        for minutes in 1..=20 {
            rig.schedule("Words", noon() + TimeDelta::hours(1) + TimeDelta::minutes(minutes)).await;
        }
        for shard in 0..rig.store.due_shards() {
            storage::testing::spoil_outbox(&rig.store, &rig.user, shard).await;
        }

        rig.events.down.store(false, Ordering::SeqCst);
        rig.clock.advance(TimeDelta::minutes(1));

        assert!(rig.publishing.empty_outbox().await.is_err(), "it is said");
        assert_eq!(rig.events.types().len(), 20);
    }
}
