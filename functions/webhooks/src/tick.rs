//! The tick: whatever is to be tried soon, or should have been, is put on the
//! queue.

use chrono::TimeDelta;
use cloud::notices::NoticeHint;
use storage::DueNotice;

use crate::App;
use crate::failure::Failure;

/// Entries of the due index read from one shard at a time.
const PAGE: i32 = 100;

/// The most pages of one shard in one tick; the next one goes on.
const PAGES: usize = 50;

/// How long after a notice should have been tried the tick looks again.
const LOOK_AGAIN: TimeDelta = TimeDelta::seconds(60);

impl App {
    /// Puts on the queue what the due index names, and says how much that was.
    pub async fn tick(&self) -> Result<usize, Failure> {
        let mut sent = 0;
        for shard in 0..self.api.store.due_shards() {
            for _ in 0..PAGES {
                let due = self.api.store.due_notices(shard, self.api.clock.now(), PAGE).await?;
                self.bring(&due).await?;
                sent += due.len();
                if due.len() < usize::try_from(PAGE).unwrap_or(0) {
                    break;
                }
            }
        }
        if 0 < sent {
            tracing::info!(sent, "brought notices that were due");
        }
        Ok(sent)
    }

    async fn bring(&self, due: &[DueNotice]) -> Result<(), Failure> {
        let hints: Vec<_> = due.iter().map(|it| NoticeHint { name: it.name.clone(), at: it.look_at }).collect();
        // Sent before they are moved: after a crash in between they are sent twice,
        // and never not at all.
        self.queue.send(&hints).await?;
        let now = self.api.clock.now();
        for it in due {
            self.api.store.move_due_notice(it, it.look_at.max(now) + LOOK_AGAIN).await?;
        }
        Ok(())
    }
}
