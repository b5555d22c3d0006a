//! Rolls the deliveries of a post up into the post: its targets, status, counts, the marks of its
//! accounts, and the events. The sweep repeats a roll-up that was cut off; repeating it changes
//! nothing.

use std::sync::Arc;

use cloud::events::EventBus;
use domain::clock::Clock;
use domain::delivery::Delivery;
use domain::event::Event;
use domain::id::{PostId, UserId};
use domain::post::{Post, TargetStatus};
use storage::{DeliveryWrite, PostWrite, PostWritten, Store, WriteRetries};
use tokio::sync::Semaphore;

use crate::SchedulingError;
use crate::uploads::note_published;

/// How often a roll-up that conflicts with other writes of the post is tried before it is left to
/// the sweep.
const MAX_ATTEMPTS: u32 = 8;

/// How many roll-ups run at the same time in a process.
///
/// A roll-up is not urgent. When a post changes its status, the item with the counts of its user is
/// written too: many roll-ups at once would conflict there, be retried, and delay the publish calls
/// of the same second.
const AT_ONCE: usize = 4;

#[derive(Clone)]
pub struct RollUps {
    store: Store,
    events: Arc<dyn EventBus>,
    clock: Clock,
    running: Arc<Semaphore>,
}

impl RollUps {
    pub fn new(store: Store, events: Arc<dyn EventBus>, clock: Clock) -> Self {
        Self { store, events, clock, running: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    pub async fn roll_up(&self, user: UserId, post: PostId) -> Result<(), SchedulingError> {
        // An error would mean that the semaphore is closed, which never happens.
        let _permit = self.running.acquire().await;
        let mut retries = WriteRetries::without_waits(MAX_ATTEMPTS);
        loop {
            // The deliveries are read last: a worker that changes one afterwards rolls the post up
            // again. If they were read first, they could be older than the post.
            let Some(before) = self.store.post(user, post).await? else { return Ok(()) };
            let deliveries = self.store.deliveries(user, post).await?;
            let now = self.clock.now();
            let after = before.rolled_up(&deliveries, now);
            let ended = ended(&deliveries);
            if after == before && ended.is_empty() {
                return Ok(());
            }
            // The events go first: after a crash they are put again, and none is lost. Events after
            // the write could be lost.
            let events = roll_up_events(&before, &after);
            if !events.is_empty() {
                self.events.put(&events).await?;
            }
            // Before the write too, because a published post stays published.
            if before.status != after.status {
                note_published(&self.store, &after).await?;
            }
            let write =
                PostWrite { before: Some(&before), after: Some(&after), deliveries: ended, kept: None, event: None };
            match self.store.write_post(&write, now).await? {
                PostWritten::Done => return Ok(()),
                conflict => tracing::info!(?conflict, post_id = %post, "roll-up conflicted with another change"),
            }
            retries.next_attempt().await.map_err(|_| SchedulingError::Contended)?;
        }
    }
}

/// Ended deliveries that are in the due index until this write rolls them up. A delivery with
/// follow-ups stays.
fn ended(deliveries: &[Delivery]) -> Vec<DeliveryWrite<'_>> {
    let ended = |it: &&Delivery| it.has_ended() && it.due_at.is_some();
    deliveries.iter().filter(ended).map(DeliveryWrite::RolledUp).collect()
}

fn roll_up_events(before: &Post, after: &Post) -> Vec<Event> {
    let mut events = Vec::new();
    for (old, new) in before.targets.iter().zip(&after.targets) {
        if old.comment_error.is_none() && new.comment_error.is_some() {
            events.push(Event::comment_failed(after, new));
        }
        if old.status == new.status {
            continue;
        }
        match new.status {
            TargetStatus::Published => events.push(Event::target_published(after, new)),
            TargetStatus::Failed => events.push(Event::target_failed(after, new)),
            TargetStatus::Pending | TargetStatus::Publishing => {}
        }
    }
    if before.status != after.status {
        events.extend(Event::ended(after));
    }
    events
}
