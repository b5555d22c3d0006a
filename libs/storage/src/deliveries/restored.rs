//! The deliveries of a restored backup.

use chrono::{DateTime, Utc};
use domain::delivery::{Delivery, State};

use crate::Store;
use crate::error::StorageError;
use crate::item::{from_item, number};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

fn is_marked(delivery: &Delivery, backup_at: DateTime<Utc>) -> bool {
    delivery.state == State::Waiting && delivery.lost_window.is_some_and(|it| it.since == backup_at)
}

impl Store {
    /// Marks every unfinished delivery of a backup that was complete at `backup_at`: what it published
    /// since is looked up first. Returns how many were marked.
    ///
    /// For tables that no process uses yet. A repetition after an error marks the others.
    pub async fn mark_restored(&self, backup_at: DateTime<Utc>, now: DateTime<Utc>) -> Result<usize, StorageError> {
        let (mut marked, mut start) = (0, None);
        loop {
            // The planner's checkpoint has no post.
            let page = self.item_page(Table::Deliveries, start).await?;
            for item in page.items.into_iter().filter(|it| number(it, "post_id").is_some()) {
                let before: Delivery = from_item(item)?;
                if before.has_ended() || is_marked(&before, backup_at) {
                    continue;
                }
                let after = before.clone().restored(backup_at, now).with_write_id(self.random.u64());
                if self.replace_delivery(&before, &after).await? == WriteOutcome::Applied {
                    marked += 1;
                }
            }
            start = page.next;
            if start.is_none() {
                return Ok(marked);
            }
        }
    }
}
