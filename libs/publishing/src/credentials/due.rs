//! The round that looks after credentials before what renews them ends.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use cloud::seal::SealError;
use domain::id::UserId;
use futures::{Stream, StreamExt, future, stream};
use platforms::{Credentials, Platform, RefreshPolicy, Registry};
use storage::{CredentialsRecord, REFRESH_SHARDS, StorageError};

use super::renew::{Occasion, Renewed};
use crate::{CredentialService, PublishingError};

/// Grants that are renewed at the same time.
const AT_ONCE: usize = 8;

/// How long a round begins renewals. Well below the time limit of the upkeep
/// function in `template.yaml`, so that one that was begun also ends.
const ROUND: TimeDelta = TimeDelta::seconds(120);

/// Entries read at a time of each shard. Few in tests, so that they turn pages.
const PAGE: i32 = if cfg!(test) { 2 } else { 100 };

/// When credentials are looked at again that nobody here can renew.
const TOMORROW: TimeDelta = TimeDelta::days(1);

/// When accounts are asked that a round had no time for.
const ABOUT_SOON: TimeDelta = TimeDelta::hours(1);

/// A platform that could not be asked so often in a row waits for the others.
const AWAY: u32 = 8;

/// An entry of the index of renewals.
type Entry = (UserId, String);

/// What became of an entry.
enum Ended {
    Renewed,
    NotRenewed,
    /// Its platform seems to be away: it is tried after all the others.
    SetAside(Entry),
}

/// What became of the entries.
#[derive(Default)]
struct Tally {
    renewed: usize,
    set_aside: Vec<Entry>,
    /// Why a part of the index was not read.
    error: Option<StorageError>,
}

/// How often each platform could not be asked, since it last answered.
#[derive(Default)]
struct Silences(Mutex<HashMap<&'static str, u32>>);

impl Silences {
    fn note(&self, platform: &'static str, answered: bool) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(platform).or_default();
        *count = if answered { 0 } else { *count + 1 };
    }

    fn is_away(&self, platform: &'static str) -> bool {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(platform).is_some_and(|it| AWAY <= *it)
    }
}

/// One round over the index of renewals.
struct Round<'a> {
    custody: &'a CredentialService,
    platforms: &'a Registry<dyn Platform>,
    /// What wants renewal by then belongs to this round.
    began_at: DateTime<Utc>,
    /// Entries of platforms that are away are set aside by what is counted
    /// here; `None` when nothing is set aside any more.
    silences: Option<Silences>,
    /// Whose accounts are still to be asked what they say of themselves.
    looked_after: Mutex<Vec<(CredentialsRecord, Credentials)>>,
}

impl CredentialService {
    /// Renews whatever credentials want it by now; the number of those that
    /// were renewed. What there is no time for is met first in the next round.
    ///
    /// # Errors
    /// When a part of the index could not be read; the others were seen to.
    pub async fn refresh_due(&self, platforms: &Registry<dyn Platform>) -> Result<usize, PublishingError> {
        let moved = self.move_due().await;
        let began_at = self.clock.now();
        let silences = Some(Silences::default());
        let mut round = Round { custody: self, platforms, began_at, silences, looked_after: Mutex::default() };
        let shards = (0..REFRESH_SHARDS).map(|shard| round.due_in(shard).boxed());
        let first = round.renew_each(stream::select_all(shards)).await;
        // Those that were set aside can hold up nobody else any more.
        round.silences = None;
        let second = round.renew_each(stream::iter(first.set_aside).map(Ok)).await;
        round.read_about_each().await;
        match first.error {
            Some(error) => Err(error.into()),
            None => moved.map(|()| first.renewed + second.renewed),
        }
    }

    async fn look_again(&self, record: &CredentialsRecord, at: DateTime<Utc>) -> Result<(), PublishingError> {
        // Credentials that were changed meanwhile have a time of their own.
        self.store.postpone_refresh(record, Some(at)).await?;
        Ok(())
    }
}

impl Round<'_> {
    /// What the index has in one shard, page after page, up to the first that
    /// cannot be read.
    fn due_in(&self, shard: u32) -> impl Stream<Item = Result<Entry, StorageError>> + Send + use<'_> {
        let pages = stream::unfold(Some(None), move |page| async move {
            match self.custody.store.grants_to_refresh(shard, self.began_at, page?, PAGE).await {
                Ok(read) => Some((read.entries.into_iter().map(Ok).collect(), read.next.map(Some))),
                Err(error) => Some((vec![Err(error)], None)),
            }
        });
        pages.flat_map(stream::iter)
    }

    /// Renewals are begun until the round is over, and every one that was begun
    /// is awaited: its answer may be the only one that has the new token.
    async fn renew_each(&self, due: impl Stream<Item = Result<Entry, StorageError>> + Send) -> Tally {
        let ends_at = self.began_at + ROUND;
        let ends = due
            .take_while(|_| future::ready(self.custody.clock.now() < ends_at))
            .map(|entry| async move {
                match entry {
                    Ok(entry) => Ok(self.renew_or_log(entry).await),
                    Err(error) => Err(error),
                }
            })
            .buffer_unordered(AT_ONCE);
        let count = |mut tally: Tally, ended| {
            match ended {
                Ok(Ended::Renewed) => tally.renewed += 1,
                Ok(Ended::NotRenewed) => {}
                Ok(Ended::SetAside(entry)) => tally.set_aside.push(entry),
                Err(error) => tally.error = Some(error),
            }
            future::ready(tally)
        };
        ends.fold(Tally::default(), count).await
    }

    /// A renewal that fails is met again in the next round, and keeps no other
    /// from being made in this one.
    async fn renew_or_log(&self, entry: Entry) -> Ended {
        let grant = entry.1.clone();
        match self.renew_due(entry).await {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(%error, grant, "credentials were not renewed");
                Ended::NotRenewed
            }
        }
    }

    async fn renew_due(&self, entry: Entry) -> Result<Ended, PublishingError> {
        let Self { custody, platforms, began_at, silences, .. } = self;
        let Some(record) = custody.store.credentials_to_refresh(entry.0, &entry.1, *began_at).await? else {
            return Ok(Ended::NotRenewed);
        };
        let Some(platform) = platforms.get(&record.provider) else {
            // Switched off in this deployment. It may come back.
            custody.look_again(&record, *began_at + TOMORROW).await?;
            return Ok(Ended::NotRenewed);
        };
        if silences.as_ref().is_some_and(|it| it.is_away(platform.name())) {
            return Ok(Ended::SetAside(entry));
        }
        let old = match custody.open(&record).await {
            Ok(old) => old,
            // The key service is away, and nothing is wrong with this entry.
            Err(error @ PublishingError::Seal(SealError::Keys(_))) => return Err(error),
            Err(broken) => {
                custody.look_again(&record, *began_at + TOMORROW).await?;
                return Err(broken);
            }
        };
        if platform.refresh_policy().can_refresh(&old) {
            return self.renew(platform, &record, &old).await;
        }
        let now = custody.clock.now();
        if old.expires_at.is_some_and(|it| it <= now) {
            // The user is told as soon as there is something to be done.
            custody.lose(&record).await?;
            return Ok(Ended::NotRenewed);
        }
        if let Some(ends_at) = old.expires_at.filter(|it| *it - now <= RefreshPolicy::WARNING) {
            // Told first: after a crash in between it is told again by the same id.
            custody.tell_expiring(&record, ends_at).await?;
        }
        custody.look_again(&record, platform.refresh_policy().due_at(&old, now)).await?;
        self.note_looked_after(record, old);
        Ok(Ended::NotRenewed)
    }

    fn note_looked_after(&self, record: CredentialsRecord, credentials: Credentials) {
        self.looked_after.lock().unwrap_or_else(PoisonError::into_inner).push((record, credentials));
    }

    /// Asks accounts about themselves, after all renewals, which it must not hold up,
    /// and as long as the round lasts. Those that it does not come to are looked after
    /// again soon.
    async fn read_about_each(&self) {
        let all = std::mem::take(&mut *self.looked_after.lock().unwrap_or_else(PoisonError::into_inner));
        let until = self.began_at + ROUND;
        let asked = stream::iter(all).map(|(record, credentials)| async move {
            let Some(platform) = self.platforms.get(&record.provider) else { return };
            if self.custody.read_about(platform, &record, &credentials, until).await {
                return;
            }
            let soon = self.custody.clock.now() + ABOUT_SOON;
            if let Err(error) = self.custody.look_again(&record, soon).await {
                tracing::warn!(%error, grant = record.grant_name, "accounts are not read again before next week");
            }
        });
        asked.buffer_unordered(AT_ONCE).collect::<()>().await;
    }

    /// Renews, and counts whether the platform answered.
    async fn renew(
        &self,
        platform: &dyn Platform,
        record: &CredentialsRecord,
        old: &Credentials,
    ) -> Result<Ended, PublishingError> {
        let renewed = self.custody.renew(platform, record, old, Occasion::Look).await?;
        if let (Some(silences), Renewed::Now(_) | Renewed::Gone(_) | Renewed::NotNow(_)) = (&self.silences, &renewed) {
            silences.note(platform.name(), !matches!(renewed, Renewed::NotNow(_)));
        }
        if let Renewed::NotNow(setback) = &renewed {
            tracing::warn!(
                ?setback,
                grant = record.grant_name,
                platform = platform.name(),
                "credentials are not renewed yet"
            );
        }
        match renewed {
            Renewed::Now(new) => {
                self.note_looked_after(new.1, new.0);
                Ok(Ended::Renewed)
            }
            Renewed::Gone(_) | Renewed::NotNow(_) | Renewed::Elsewhere => Ok(Ended::NotRenewed),
        }
    }
}

#[cfg(test)]
mod tests;
