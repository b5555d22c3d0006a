//! The tick: whatever is to be tried soon, or should have been, is put on the
//! queue.

use chrono::TimeDelta;
use cloud::notices::NoticeHint;
use futures::{StreamExt, TryStreamExt};
use storage::{DueNotice, Race};

use crate::App;
use crate::failure::Failure;

/// Entries of the due index read from one shard at a time.
const PAGE: i32 = 100;

/// The most pages of one shard in one tick; the next one goes on.
const PAGES: usize = 50;

/// Entries of one shard moved at the same time.
const MOVES_AT_ONCE: usize = 8;

/// How long after a notice should have been tried the tick looks again.
const LOOK_AGAIN: TimeDelta = TimeDelta::seconds(60);

impl App {
    /// Puts on the queue what the due index names, and says how much that was. A shard
    /// that fails holds up none of the others; each minute begins with the next one, so
    /// that a tick that is cut off leaves others behind.
    pub async fn tick(&self) -> Result<usize, Failure> {
        let (mut sent, mut failed) = (0, None);
        let shards = self.api.store.due_shards();
        let first =
            u32::try_from(self.api.clock.now().timestamp().div_euclid(60).rem_euclid(shards.into())).unwrap_or(0);
        for shard in (first..shards).chain(0..first) {
            match self.bring_shard(shard).await {
                Ok(count) => sent += count,
                Err(error) => {
                    tracing::error!(%error, shard, "notices that are due could not be brought");
                    failed = Some(error);
                }
            }
        }
        if 0 < sent {
            tracing::info!(sent, "brought notices that were due");
        }
        failed.map_or(Ok(sent), Err)
    }

    async fn bring_shard(&self, shard: u32) -> Result<usize, Failure> {
        let mut sent = 0;
        for _ in 0..PAGES {
            let due = self.api.store.due_notices(shard, self.api.clock.now(), PAGE).await?;
            self.bring(&due).await?;
            sent += due.len();
            if due.len() < usize::try_from(PAGE).unwrap_or(0) {
                break;
            }
        }
        Ok(sent)
    }

    async fn bring(&self, due: &[DueNotice]) -> Result<(), Failure> {
        let hints: Vec<_> = due.iter().map(|it| NoticeHint { name: it.name.clone(), at: it.look_at }).collect();
        // Sent before they are moved: after a crash in between they are sent twice,
        // and never not at all.
        self.queue.send(&hints).await?;
        let now = self.api.clock.now();
        let to = |it: &DueNotice| it.look_at.max(now) + LOOK_AGAIN;
        let moves: Vec<_> = due.iter().map(|it| self.api.store.move_due_notice(it, to(it))).collect();
        let _: Vec<Race> = futures::stream::iter(moves).buffer_unordered(MOVES_AT_ONCE).try_collect().await?;
        Ok(())
    }
}
