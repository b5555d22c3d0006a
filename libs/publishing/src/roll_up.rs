//! Telling a post how its deliveries stand: its targets, its status, the
//! counts, the marks of its accounts, the events. Done again by the sweep when
//! it was cut off, and doing it twice changes nothing.

use domain::delivery::Delivery;
use domain::event::Event;
use domain::id::{PostId, UserId};
use domain::post::{Post, TargetStatus};
use storage::{DeliveryWrite, PostWrite, PostWritten};

use crate::{Publishing, PublishingError};

/// How often the roll-up is tried before it is left to the sweep, because
/// another write of the post came in between every time.
const TRIES: usize = 8;

impl Publishing {
    /// Tells a post how its deliveries stand.
    pub async fn roll_up(&self, user: UserId, post: PostId) -> Result<(), PublishingError> {
        // An error would say that the semaphore is closed, which it never is.
        let _place = self.roll_ups.0.acquire().await;
        for _ in 0..TRIES {
            // The deliveries are read last: whoever changes one of them after that
            // tells the post again. Read first, they could be older than what the
            // post says already.
            let Some(before) = self.store.post(user, post).await? else { return Ok(()) };
            let deliveries = self.store.deliveries(user, post).await?;
            let now = self.clock.now();
            let after = before.rolled_up(&deliveries, now);
            let ended = ended(&deliveries);
            if after == before && ended.is_empty() {
                return Ok(());
            }
            // The events go first: after a crash in between they are put again, and
            // none is lost. Those that come after the write could be.
            let events = event_of_roll_up(&before, &after);
            if !events.is_empty() {
                self.events.put(&events).await?;
            }
            // Before the write, too, for what has ended as published stays so.
            if before.status != after.status {
                self.note_published(&after).await?;
            }
            let write =
                PostWrite { before: Some(&before), after: Some(&after), deliveries: ended, kept: None, event: None };
            match self.store.write_post(&write, now).await? {
                PostWritten::Done => return Ok(()),
                lost => tracing::info!(?lost, post_id = %post, "a roll-up met another change"),
            }
        }
        Err(PublishingError::Contended)
    }
}

/// Deliveries that have ended and stand in the due index until their post says
/// so, which it does with this write. One that something still follows stays.
fn ended(deliveries: &[Delivery]) -> Vec<DeliveryWrite<'_>> {
    let ended = |it: &&Delivery| it.has_ended() && it.due_at.is_some();
    deliveries.iter().filter(ended).map(DeliveryWrite::RolledUp).collect()
}

fn event_of_roll_up(before: &Post, after: &Post) -> Vec<Event> {
    let mut events = Vec::new();
    for (old, new) in before.targets.iter().zip(&after.targets) {
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

#[cfg(test)]
mod tests;
