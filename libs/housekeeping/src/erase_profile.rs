//! Erases everything of a profile that its user deleted with `erase=true`.
//!
//! A pass may be cut off anywhere and repeated. A request or a call that was in progress can still
//! write afterwards, so passes are repeated until one finds nothing.

use chrono::{DateTime, TimeDelta, Utc};
use cloud::audit;
use domain::erasure::ProfileErasure;
use domain::media::{DerivedPath, last_upload_at};
use futures::stream::{self, StreamExt, TryStreamExt};
use storage::{MediaRemoval, Medium, ProfileContents, Table, WriteOutcome};

use crate::{Housekeeping, HousekeepingError};

/// The most passes of one run. The next run continues.
const MAX_PER_RUN: i32 = 20;

const CONCURRENCY: usize = 8;

impl Housekeeping {
    /// Returns the number of items and files that were found. A failure is logged, and the next run
    /// repeats it.
    pub async fn erase_profiles(&self) -> Result<usize, HousekeepingError> {
        let mut found = 0;
        for erasure in self.store.due_erasures(self.clock.now(), MAX_PER_RUN).await? {
            match self.erase_profile(&erasure).await {
                Ok(erased) => found += erased,
                Err(error) => {
                    let ProfileErasure { user_id, profile_id, .. } = erasure;
                    tracing::error!(%error, %user_id, %profile_id, "a profile could not be erased");
                }
            }
        }
        Ok(found)
    }

    async fn erase_profile(&self, erasure: &ProfileErasure) -> Result<usize, HousekeepingError> {
        let began_at = self.clock.now();
        // To the end of the queue: a pass that fails or is cut off every time delays no other erasure.
        if self.store.move_erasure(erasure, began_at).await? == WriteOutcome::Conflict {
            return Ok(0);
        }
        let found = self.erase_once(erasure, began_at).await?;
        if let Some(at) = erasure.next_pass(found != 0, began_at) {
            self.store.move_erasure(erasure, at).await?;
            return Ok(found);
        }
        self.store.remove_erasure(erasure).await?;
        let entry = audit::Entry::new(audit::Event::Erased).user(erasure.user_id);
        entry.limited_to(Some(erasure.profile_id)).write();
        Ok(found)
    }

    /// Returns how much was found.
    async fn erase_once(&self, erasure: &ProfileErasure, now: DateTime<Utc>) -> Result<usize, HousekeepingError> {
        let contents = self.store.profile_contents(erasure.user_id, erasure.profile_id).await?;
        let mut tables = Table::ALL.map(|it| it.table);
        // Posts lead to their files, and both lead to items of other tables.
        tables.sort_by_key(|it| match it {
            Table::Posts => 2,
            Table::Media => 1,
            _ => 0,
        });
        let mut found = 0;
        for table in tables {
            if table == Table::Media {
                found += self.erase_files_of_profile(erasure, &contents, now).await?;
            }
            found += self.store.erase_of_profile(table, &contents, now).await?;
        }
        Ok(found)
    }

    /// Removes the files of a profile that were marked as unused before the posts were read, and
    /// marks the others for the next pass. A file that another post uses becomes the user's own.
    async fn erase_files_of_profile(
        &self,
        erasure: &ProfileErasure,
        contents: &ProfileContents,
        now: DateTime<Utc>,
    ) -> Result<usize, HousekeepingError> {
        let (user, profile) = (erasure.user_id, erasure.profile_id);
        for id in &contents.shared_files {
            self.store.disown_media(user, *id).await?;
        }
        for id in &contents.used_files {
            self.store.claim_media(user, profile, *id, now).await?;
        }
        let removals = contents.unused_files.iter().cloned().map(|it| self.erase_file(it, now));
        let removals = stream::iter(removals).buffer_unordered(CONCURRENCY);
        let removed = removals.try_fold(0, async |all, one| Ok(all + usize::from(one))).await?;
        Ok(removed + contents.shared_files.len() + contents.used_files.len())
    }

    /// Returns whether the record was deleted. It stays while its upload URL is valid, so that a
    /// file that arrives later is found.
    async fn erase_file(&self, medium: Medium, now: DateTime<Utc>) -> Result<bool, HousekeepingError> {
        let (path, Some(unused_since)) = (medium.path(), medium.unused_since) else { return Ok(false) };
        let just_after = unused_since + TimeDelta::milliseconds(1);
        if self.store.mark_unused_for_removal(path, just_after).await? == MediaRemoval::Spared {
            return Ok(false);
        }
        self.bucket.delete(&path.to_string()).await?;
        for key in self.bucket.list(&DerivedPath::prefix(path)).await? {
            self.bucket.delete(&key).await?;
        }
        let has_arrived = last_upload_at(medium.created_at) <= now;
        if has_arrived {
            self.store.delete_media_record(path).await?;
        }
        Ok(has_arrived)
    }
}

#[cfg(test)]
mod tests;
