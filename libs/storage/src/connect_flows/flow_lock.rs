//! Whose turn it is: what is sent to a connect flow is worked on one at a time, and
//! not without end. Each time, servers that a person named are called, and
//! those may take as long as they like to answer.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use super::{FlowOwner, FlowState, key};
use crate::Store;
use crate::error::StorageError;
use crate::item::{at, from_item, n, s};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

/// How often something may be sent to one connect flow.
pub const MAX_SUBMISSIONS: u32 = 10;

/// Whether what was sent to a connect flow may be worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowLock {
    /// It may, until then.
    Ours(DateTime<Utc>),
    /// Something else that was sent is being worked on.
    Busy,
    /// Enough was sent.
    Spent,
    /// The connect flow is at another stage by now.
    MovedOn,
    /// Somebody else goes on with it, and no guest beside them.
    Theirs,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    submissions: u32,
    state: FlowState,
    owner: Option<FlowOwner>,
}

impl Store {
    /// Takes the next turn of a connect flow that was read at this stage, for somebody
    /// who goes on with it from then on: the owner in any case, a guest where
    /// nobody else does. Whoever has it gives it back with [`Store::unlock_connect_flow`]; a
    /// turn that nobody gives back ends after `lease`.
    pub async fn lock_connect_flow(
        &self,
        hash: &str,
        state: FlowState,
        by: &FlowOwner,
        lease: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<FlowLock, StorageError> {
        let ends = now + lease;
        let alone = match by {
            FlowOwner::Owner => "",
            FlowOwner::Guest(_) => " AND (attribute_not_exists(#owner) OR #owner = :by)",
        };
        let taken = self
            .client
            .update_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_key(Some(key(hash)))
            .condition_expression(format!(
                "#state = :state AND (attribute_not_exists(submissions) OR submissions < :most) \
                 AND (attribute_not_exists(lock_expires_at) OR lock_expires_at <= :now){alone}"
            ))
            .update_expression("SET lock_expires_at = :ends, #owner = :by ADD submissions :one")
            .expression_attribute_names("#state", "state")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":by", s(String::from(by.clone())))
            .expression_attribute_values(":state", s(state.as_str()))
            .expression_attribute_values(":most", n(MAX_SUBMISSIONS))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":ends", at(ends))
            .expression_attribute_values(":one", n(1))
            .send()
            .await;
        if WriteOutcome::from_write(taken)?.is_won() {
            return Ok(FlowLock::Ours(ends));
        }
        let table = self.table(Table::ConnectFlows);
        let found = self.client.get_item().table_name(table).set_key(Some(key(hash))).consistent_read(true);
        let Some(found) = found.send().await?.item else { return Ok(FlowLock::MovedOn) };
        let found: Found = from_item(found)?;
        Ok(match found {
            Found { state: now, .. } if now != state => FlowLock::MovedOn,
            Found { owner: Some(other), .. } if *by != FlowOwner::Owner && other != *by => FlowLock::Theirs,
            Found { submissions, .. } if MAX_SUBMISSIONS <= submissions => FlowLock::Spent,
            Found { .. } => FlowLock::Busy,
        })
    }

    /// Gives the turn back that ends at `ends`. One that ended by itself is
    /// somebody else's by now.
    pub async fn unlock_connect_flow(&self, hash: &str, ends: DateTime<Utc>) -> Result<(), StorageError> {
        let ended = self
            .client
            .update_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_key(Some(key(hash)))
            .condition_expression("lock_expires_at = :ends")
            .update_expression("REMOVE lock_expires_at")
            .expression_attribute_values(":ends", at(ends))
            .send()
            .await;
        WriteOutcome::from_write(ended).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_user, noon};

    use super::*;
    use crate::testing::{a_connect_flow, store};

    async fn begun(store: &Store) {
        let connect_flow = a_connect_flow(a_user().user_id, "sandbox", noon());
        store.begin_connect_flow("hash", &connect_flow).await.unwrap();
    }

    const LEASE: TimeDelta = TimeDelta::seconds(30);

    #[tokio::test]
    async fn of_many_at_once_one_is_worked_on_and_the_next_when_it_is_done() {
        let store = store().await;
        begun(&store).await;

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
    async fn a_turn_that_nobody_gives_back_ends_by_itself() {
        let store = store().await;
        begun(&store).await;
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

        // Whoever was too slow does not end the turn of another.
        store.unlock_connect_flow("hash", noon() + LEASE).await.unwrap();
        assert_eq!(
            store.lock_connect_flow("hash", FlowState::Completing, &FlowOwner::Owner, LEASE, later).await.unwrap(),
            FlowLock::Busy
        );
    }

    #[tokio::test]
    async fn what_was_sent_to_an_earlier_stage_is_not_worked_on() {
        let store = store().await;
        begun(&store).await;
        let turn = store
            .lock_connect_flow("hash", FlowState::CollectingInput, &FlowOwner::Owner, LEASE, noon())
            .await
            .unwrap();
        assert_eq!(turn, FlowLock::MovedOn);
    }

    #[tokio::test]
    async fn whoever_sent_something_owner_and_no_guest_takes_over() {
        let store = store().await;
        begun(&store).await;
        let (first, second) = (FlowOwner::Guest("1".to_owned()), FlowOwner::Guest("2".to_owned()));
        let take = async |by: &FlowOwner| {
            let turn = store.lock_connect_flow("hash", FlowState::Completing, by, LEASE, noon()).await.unwrap();
            store.unlock_connect_flow("hash", noon() + LEASE).await.unwrap();
            turn
        };
        let ours = FlowLock::Ours(noon() + LEASE);

        assert_eq!([take(&first).await, take(&second).await, take(&first).await], [ours, FlowLock::Theirs, ours]);
        assert_eq!([take(&FlowOwner::Owner).await, take(&first).await], [ours, FlowLock::Theirs]);
        let kept = store.connect_flow("hash").await.unwrap().unwrap();
        assert_eq!(kept.owner, Some(FlowOwner::Owner));
    }

    #[tokio::test]
    async fn after_ten_submissions_there_is_none() {
        let store = store().await;
        begun(&store).await;
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
