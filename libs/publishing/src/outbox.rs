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
pub async fn announce(store: &Store, events: &dyn EventBus, event: &Event) {
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
    /// Puts on the bus what those who wrote it have left behind.
    pub(crate) async fn empty_outbox(&self) -> Result<(), PublishingError> {
        let now = self.clock.now();
        for shard in 0..self.store.due_shards() {
            for event in self.store.outbox_due(shard, now, AT_ONCE).await? {
                bring(&self.store, self.events.as_ref(), &event).await?;
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
        rig.publishing.plan().await.unwrap();
        rig.publishing.plan().await.unwrap();

        assert_eq!(rig.events.types(), ["post.scheduled"], "once");
    }
}
