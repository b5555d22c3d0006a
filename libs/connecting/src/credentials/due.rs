//! The upkeep round that refreshes credentials before their refresh token expires.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use cloud::seal::SealError;
use domain::credentials::RefreshReason;
use domain::id::UserId;
use futures::{Stream, StreamExt, future, stream};
use platforms::{Credentials, Platform, RefreshPolicy, Registry};
use storage::{CredentialsRecord, REFRESH_SHARDS, StorageError};

use super::refresh::RefreshOutcome;
use crate::{ConnectingError, CredentialService};

const AT_ONCE: usize = 8;

/// How long a round starts refreshes. Well below the timeout of the upkeep function in
/// `template.yaml`, so that each refresh that was started also ends.
const ROUND: TimeDelta = TimeDelta::seconds(120);

/// Entries read at a time from each shard.
const PAGE: i32 = 100;

/// When credentials are checked again that cannot be refreshed here.
const TOMORROW: TimeDelta = TimeDelta::days(1);

/// When account info is read for which a round had no time.
const ABOUT_SOON: TimeDelta = TimeDelta::hours(1);

/// After this many unreachable calls in a row, the other platforms come first.
const AWAY: u32 = 8;

/// User and grant name.
type Entry = (UserId, String);

enum EntryOutcome {
    Refreshed,
    NotRefreshed,
    /// The platform seems to be down: this entry is tried after all others.
    SetAside(Entry),
}

#[derive(Default)]
struct Tally {
    refreshed: usize,
    set_aside: Vec<Entry>,
    error: Option<StorageError>,
}

/// Calls of each platform since its last response.
#[derive(Default)]
struct UnreachableCounts(Mutex<HashMap<&'static str, u32>>);

impl UnreachableCounts {
    fn note(&self, platform: &'static str, has_responded: bool) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(platform).or_default();
        *count = if has_responded { 0 } else { *count + 1 };
    }

    fn is_unreachable(&self, platform: &'static str) -> bool {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(platform).is_some_and(|it| AWAY <= *it)
    }
}

struct RefreshRound<'a> {
    credential_service: &'a CredentialService,
    platforms: &'a Registry<dyn Platform>,
    /// Entries that are due by then belong to this round.
    began_at: DateTime<Utc>,
    /// Decides which entries are set aside; `None` when no entry is set aside any more.
    unreachable: Option<UnreachableCounts>,
    looked_after: Mutex<Vec<(CredentialsRecord, Credentials)>>,
}

impl CredentialService {
    /// Refreshes all credentials that are due, and returns how many were refreshed. Entries that
    /// the round had no time for come first in the next round.
    ///
    /// # Errors
    /// If a part of the index could not be read. The other parts were processed.
    pub async fn refresh_due(&self, platforms: &Registry<dyn Platform>) -> Result<usize, ConnectingError> {
        self.refresh_due_in_pages(platforms, PAGE).await
    }

    /// With `page` entries of a shard in each read.
    pub async fn refresh_due_in_pages(
        &self,
        platforms: &Registry<dyn Platform>,
        page: i32,
    ) -> Result<usize, ConnectingError> {
        let began_at = self.clock.now();
        let unreachable = Some(UnreachableCounts::default());
        let mut round =
            RefreshRound { credential_service: self, platforms, began_at, unreachable, looked_after: Mutex::default() };
        let shards = (0..REFRESH_SHARDS).map(|shard| round.due_entries(shard, page).boxed());
        let first = round.refresh_each(stream::select_all(shards)).await;
        // Entries that were set aside can no longer delay others.
        round.unreachable = None;
        let second = round.refresh_each(stream::iter(first.set_aside).map(Ok)).await;
        round.read_all_account_info().await;
        match first.error {
            Some(error) => Err(error.into()),
            None => Ok(first.refreshed + second.refreshed),
        }
    }

    async fn check_again_at(&self, record: &CredentialsRecord, at: DateTime<Utc>) -> Result<(), ConnectingError> {
        // Credentials that changed meanwhile have their own time.
        self.store.postpone_refresh(record, Some(at)).await?;
        Ok(())
    }
}

impl RefreshRound<'_> {
    /// Page by page, up to the first page that cannot be read.
    fn due_entries(
        &self,
        shard: u32,
        page_size: i32,
    ) -> impl Stream<Item = Result<Entry, StorageError>> + Send + use<'_> {
        let pages = stream::unfold(Some(None), move |page| async move {
            match self.credential_service.store.grants_to_refresh(shard, self.began_at, page?, page_size).await {
                Ok(read) => Some((read.entries.into_iter().map(Ok).collect(), read.next.map(Some))),
                Err(error) => Some((vec![Err(error)], None)),
            }
        });
        pages.flat_map(stream::iter)
    }

    /// Starts refreshes until the round ends, and awaits each one that was started: its response
    /// may be the only one that contains the new token.
    async fn refresh_each(&self, due: impl Stream<Item = Result<Entry, StorageError>> + Send) -> Tally {
        let ends_at = self.began_at + ROUND;
        let ends = due
            .take_while(|_| future::ready(self.credential_service.clock.now() < ends_at))
            .map(|entry| async move {
                match entry {
                    Ok(entry) => Ok(self.refresh_or_log(entry).await),
                    Err(error) => Err(error),
                }
            })
            .buffer_unordered(AT_ONCE);
        let count = |mut tally: Tally, ended| {
            match ended {
                Ok(EntryOutcome::Refreshed) => tally.refreshed += 1,
                Ok(EntryOutcome::NotRefreshed) => {}
                Ok(EntryOutcome::SetAside(entry)) => tally.set_aside.push(entry),
                Err(error) => tally.error = Some(error),
            }
            future::ready(tally)
        };
        ends.fold(Tally::default(), count).await
    }

    /// A failed refresh is repeated in the next round and does not prevent any other in this one.
    async fn refresh_or_log(&self, entry: Entry) -> EntryOutcome {
        let grant = entry.1.clone();
        match self.refresh_entry(entry).await {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(%error, grant, "credentials could not be refreshed");
                EntryOutcome::NotRefreshed
            }
        }
    }

    async fn refresh_entry(&self, entry: Entry) -> Result<EntryOutcome, ConnectingError> {
        let Self { credential_service, platforms, began_at, unreachable, .. } = self;
        let Some(record) = credential_service.store.credentials_to_refresh(entry.0, &entry.1, *began_at).await? else {
            return Ok(EntryOutcome::NotRefreshed);
        };
        let Some(platform) = platforms.get(&record.provider) else {
            // Disabled in this deployment, but may be enabled again.
            credential_service.check_again_at(&record, *began_at + TOMORROW).await?;
            return Ok(EntryOutcome::NotRefreshed);
        };
        if unreachable.as_ref().is_some_and(|it| it.is_unreachable(platform.name())) {
            return Ok(EntryOutcome::SetAside(entry));
        }
        let old = match credential_service.open(&record).await {
            Ok(old) => old,
            // The key service is down; this entry is not the cause.
            Err(error @ ConnectingError::Seal(SealError::Keys(_))) => return Err(error),
            Err(broken) => {
                credential_service.check_again_at(&record, *began_at + TOMORROW).await?;
                return Err(broken);
            }
        };
        if platform.refresh_policy().can_refresh(&old) {
            return self.refresh(platform, &record, &old).await;
        }
        let now = credential_service.clock.now();
        if record.state.has_expired(now) {
            // The user is notified as soon as there is something to do.
            credential_service.lose(&record).await?;
            return Ok(EntryOutcome::NotRefreshed);
        }
        if let Some(ends_at) = record.state.token_expires_at.filter(|it| *it - now <= RefreshPolicy::WARNING) {
            // The event comes first: after a crash it is emitted again with the same id.
            credential_service.emit_expiring(&record, ends_at).await?;
        }
        credential_service.check_again_at(&record, platform.refresh_policy().due_at(&old, now)).await?;
        self.add_account_info_due(record, old);
        Ok(EntryOutcome::NotRefreshed)
    }

    fn add_account_info_due(&self, record: CredentialsRecord, credentials: Credentials) {
        self.looked_after.lock().unwrap_or_else(PoisonError::into_inner).push((record, credentials));
    }

    /// Reads account info after all refreshes, which it must not delay, until the round ends.
    /// Accounts that were not read are due again soon.
    async fn read_all_account_info(&self) {
        let all = std::mem::take(&mut *self.looked_after.lock().unwrap_or_else(PoisonError::into_inner));
        let until = self.began_at + ROUND;
        let reads = stream::iter(all).map(|(record, credentials)| async move {
            let Some(platform) = self.platforms.get(&record.provider) else { return };
            if self.credential_service.read_account_info(platform, &record, &credentials, until).await {
                return;
            }
            let soon = self.credential_service.clock.now() + ABOUT_SOON;
            if let Err(error) = self.credential_service.check_again_at(&record, soon).await {
                tracing::warn!(%error, grant = record.grant_name, "account info will not be read before next week");
            }
        });
        reads.buffer_unordered(AT_ONCE).collect::<()>().await;
    }

    async fn refresh(
        &self,
        platform: &dyn Platform,
        record: &CredentialsRecord,
        old: &Credentials,
    ) -> Result<EntryOutcome, ConnectingError> {
        let refreshed = self.credential_service.refresh(platform, record, old, RefreshReason::AccountCheck).await?;
        if let (
            Some(unreachable),
            RefreshOutcome::Refreshed(_) | RefreshOutcome::Gone(_) | RefreshOutcome::Unreachable(_),
        ) = (&self.unreachable, &refreshed)
        {
            unreachable.note(platform.name(), !matches!(refreshed, RefreshOutcome::Unreachable(_)));
        }
        if let RefreshOutcome::Unreachable(error) = &refreshed {
            tracing::warn!(
                ?error,
                grant = record.grant_name,
                platform = platform.name(),
                "credentials could not be refreshed yet"
            );
        }
        match refreshed {
            RefreshOutcome::Refreshed(new) => {
                self.add_account_info_due(new.1, new.0);
                Ok(EntryOutcome::Refreshed)
            }
            RefreshOutcome::Gone(_) | RefreshOutcome::Unreachable(_) | RefreshOutcome::Elsewhere => {
                Ok(EntryOutcome::NotRefreshed)
            }
        }
    }
}
