//! A lock per connect flow: one submission at a time, ten in all. Each submission calls servers that
//! a user named, which may respond as slowly as they like.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use super::{FlowOwner, FlowState, key};
use crate::Store;
use crate::error::StorageError;
use crate::item::{at, from_item, n, s};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

/// The most submissions of one connect flow.
pub const MAX_SUBMISSIONS: u32 = 10;

/// Result of an attempt to lock a connect flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowLock {
    /// The caller holds the lock until this time.
    Ours(DateTime<Utc>),
    /// Another submission is being processed.
    Busy,
    /// [`MAX_SUBMISSIONS`] is reached.
    Spent,
    /// The connect flow is in another state, or gone.
    MovedOn,
    /// Another participant continues the flow, so this guest may not.
    Theirs,
}

#[derive(Deserialize)]
struct StoredFlow {
    #[serde(default)]
    submissions: u32,
    state: FlowState,
    owner: Option<FlowOwner>,
}

impl Store {
    /// Locks a connect flow that was read in `state`, and makes `by` the participant that continues
    /// it: the owner in any case, a guest only if no other participant does. The caller releases
    /// the lock with [`Store::unlock_connect_flow`]; otherwise it expires after `lease`.
    pub async fn lock_connect_flow(
        &self,
        hash: &str,
        state: FlowState,
        by: &FlowOwner,
        lease: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<FlowLock, StorageError> {
        let expires_at = now + lease;
        let only_owner = match by {
            FlowOwner::Owner => "",
            FlowOwner::Guest(_) => " AND (attribute_not_exists(#owner) OR #owner = :by)",
        };
        let locked = self
            .client
            .update_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_key(Some(key(hash)))
            .condition_expression(format!(
                "#state = :state AND (attribute_not_exists(submissions) OR submissions < :most) \
                 AND (attribute_not_exists(lock_expires_at) OR lock_expires_at <= :now){only_owner}"
            ))
            .update_expression("SET lock_expires_at = :ends, #owner = :by ADD submissions :one")
            .expression_attribute_names("#state", "state")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":by", s(String::from(by.clone())))
            .expression_attribute_values(":state", s(state.as_str()))
            .expression_attribute_values(":most", n(MAX_SUBMISSIONS))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":ends", at(expires_at))
            .expression_attribute_values(":one", n(1))
            .send()
            .await;
        if WriteOutcome::from_write(locked)?.is_applied() {
            return Ok(FlowLock::Ours(expires_at));
        }
        let table = self.table(Table::ConnectFlows);
        let found = self.client.get_item().table_name(table).set_key(Some(key(hash))).consistent_read(true);
        let Some(found) = found.send().await?.item else { return Ok(FlowLock::MovedOn) };
        let found: StoredFlow = from_item(found)?;
        Ok(match found {
            StoredFlow { state: now, .. } if now != state => FlowLock::MovedOn,
            StoredFlow { owner: Some(other), .. } if *by != FlowOwner::Owner && other != *by => FlowLock::Theirs,
            StoredFlow { submissions, .. } if MAX_SUBMISSIONS <= submissions => FlowLock::Spent,
            StoredFlow { .. } => FlowLock::Busy,
        })
    }

    /// Releases the lock that expires at `ends`. If the lock has expired and another caller has
    /// acquired it since, nothing changes.
    pub async fn unlock_connect_flow(&self, hash: &str, expires_at: DateTime<Utc>) -> Result<(), StorageError> {
        let unlocked = self
            .client
            .update_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_key(Some(key(hash)))
            .condition_expression("lock_expires_at = :ends")
            .update_expression("REMOVE lock_expires_at")
            .expression_attribute_values(":ends", at(expires_at))
            .send()
            .await;
        WriteOutcome::from_write(unlocked).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_user, noon};

    use super::*;
    use crate::testing::{a_connect_flow, store};

    async fn begin_flow(store: &Store) {
        let connect_flow = a_connect_flow(a_user().user_id, "sandbox", noon());
        store.begin_connect_flow("hash", &connect_flow).await.unwrap();
    }

    const LEASE: TimeDelta = TimeDelta::seconds(30);

    #[tokio::test]
    async fn one_submission_is_processed_at_a_time() {
        let store = store().await;
        begin_flow(&store).await;

        let submissions = futures::future::join_all(
            (0..20).map(|_| store.lock_connect_flow("hash", FlowState::Completing, &FlowOwner::Owner, LEASE, noon())),
        )
        .await;
        let ours: Vec<_> = submissions.into_iter().map(Result::unwrap).filter(|it| *it != FlowLock::Busy).collect();
        assert_eq!(ours, [FlowLock::Ours(noon() + LEASE)]);

        store.unlock_connect_flow("hash", noon() + LEASE).await.unwrap();
        assert_eq!(
            store.lock_connect_flow("hash", FlowState::Completing, &FlowOwner::Owner, LEASE, noon()).await.unwrap(),
            FlowLock::Ours(noon() + LEASE)
        );
    }

    #[tokio::test]
    async fn unreleased_lock_expires() {
        let store = store().await;
        begin_flow(&store).await;
        store.lock_connect_flow("hash", FlowState::Completing, &FlowOwner::Owner, LEASE, noon()).await.unwrap();

        let later = noon() + LEASE;
        assert_eq!(
            store
                .lock_connect_flow(
                    "hash",
                    FlowState::Completing,
                    &FlowOwner::Owner,
                    LEASE,
                    later - TimeDelta::milliseconds(1)
                )
                .await
                .unwrap(),
            FlowLock::Busy
        );
        assert_eq!(
            store.lock_connect_flow("hash", FlowState::Completing, &FlowOwner::Owner, LEASE, later).await.unwrap(),
            FlowLock::Ours(later + LEASE)
        );

        // A caller whose lock has expired does not release the lock of another.
        store.unlock_connect_flow("hash", noon() + LEASE).await.unwrap();
        assert_eq!(
            store.lock_connect_flow("hash", FlowState::Completing, &FlowOwner::Owner, LEASE, later).await.unwrap(),
            FlowLock::Busy
        );
    }

    #[tokio::test]
    async fn submission_to_an_earlier_state_gets_no_lock() {
        let store = store().await;
        begin_flow(&store).await;
        let lock = store
            .lock_connect_flow("hash", FlowState::CollectingInput, &FlowOwner::Owner, LEASE, noon())
            .await
            .unwrap();
        assert_eq!(lock, FlowLock::MovedOn);
    }

    #[tokio::test]
    async fn owner_takes_over_but_another_guest_does_not() {
        let store = store().await;
        begin_flow(&store).await;
        let (first, second) = (FlowOwner::Guest("1".to_owned()), FlowOwner::Guest("2".to_owned()));
        let submit = async |by: &FlowOwner| {
            let lock = store.lock_connect_flow("hash", FlowState::Completing, by, LEASE, noon()).await.unwrap();
            store.unlock_connect_flow("hash", noon() + LEASE).await.unwrap();
            lock
        };
        let ours = FlowLock::Ours(noon() + LEASE);

        assert_eq!([submit(&first).await, submit(&second).await, submit(&first).await], [ours, FlowLock::Theirs, ours]);
        assert_eq!([submit(&FlowOwner::Owner).await, submit(&first).await], [ours, FlowLock::Theirs]);
        let stored = store.connect_flow("hash").await.unwrap().unwrap();
        assert_eq!(stored.owner, Some(FlowOwner::Owner));
    }

    #[tokio::test]
    async fn eleventh_submission_gets_no_lock() {
        let store = store().await;
        begin_flow(&store).await;
        for _ in 0..MAX_SUBMISSIONS {
            let FlowLock::Ours(ends) =
                store.lock_connect_flow("hash", FlowState::Completing, &FlowOwner::Owner, LEASE, noon()).await.unwrap()
            else {
                panic!("too early")
            };
            store.unlock_connect_flow("hash", ends).await.unwrap();
        }
        assert_eq!(
            store.lock_connect_flow("hash", FlowState::Completing, &FlowOwner::Owner, LEASE, noon()).await.unwrap(),
            FlowLock::Spent
        );
    }
}
