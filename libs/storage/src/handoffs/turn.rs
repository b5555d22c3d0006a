//! Whose turn it is: what is sent to a hand-off is worked on one at a time, and
//! not without end. Each time, servers that a person named are called, and
//! those may take as long as they like to answer.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use super::{GoesOn, Stage, key};
use crate::Store;
use crate::error::StorageError;
use crate::item::{at, from_item, n, s};
use crate::race::Race;
use crate::schema::Table;

/// How often something may be sent to one hand-off.
pub const MAX_TURNS: u32 = 10;

/// Whether what was sent to a hand-off may be worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It may, until then.
    Ours(DateTime<Utc>),
    /// Something else that was sent is being worked on.
    Busy,
    /// Enough was sent.
    Spent,
    /// The hand-off is at another stage by now.
    MovedOn,
    /// Somebody else goes on with it, and no guest beside them.
    Theirs,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    turns: u32,
    stage: Stage,
    goes_on: Option<GoesOn>,
}

impl Store {
    /// Takes the next turn of a hand-off that was read at this stage, for somebody
    /// who goes on with it from then on: the owner in any case, a guest where
    /// nobody else does. Whoever has it gives it back with [`Store::end_turn`]; a
    /// turn that nobody gives back ends after `lease`.
    pub async fn take_turn(
        &self,
        hash: &str,
        stage: Stage,
        by: &GoesOn,
        lease: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<Turn, StorageError> {
        let ends = now + lease;
        let alone = match by {
            GoesOn::Owner => "",
            GoesOn::Guest(_) => " AND (attribute_not_exists(goes_on) OR goes_on = :by)",
        };
        let taken = self
            .client
            .update_item()
            .table_name(self.table(Table::Handoffs))
            .set_key(Some(key(hash)))
            .condition_expression(format!(
                "stage = :stage AND (attribute_not_exists(turns) OR turns < :most) \
                 AND (attribute_not_exists(turn_ends) OR turn_ends <= :now){alone}"
            ))
            .update_expression("SET turn_ends = :ends, goes_on = :by ADD turns :one")
            .expression_attribute_values(":by", s(String::from(by.clone())))
            .expression_attribute_values(":stage", s(stage.as_str()))
            .expression_attribute_values(":most", n(MAX_TURNS))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":ends", at(ends))
            .expression_attribute_values(":one", n(1))
            .send()
            .await;
        if Race::of(taken)?.is_won() {
            return Ok(Turn::Ours(ends));
        }
        let table = self.table(Table::Handoffs);
        let found = self.client.get_item().table_name(table).set_key(Some(key(hash))).consistent_read(true);
        let Some(found) = found.send().await?.item else { return Ok(Turn::MovedOn) };
        let found: Found = from_item(found)?;
        Ok(match found {
            Found { stage: now, .. } if now != stage => Turn::MovedOn,
            Found { goes_on: Some(other), .. } if *by != GoesOn::Owner && other != *by => Turn::Theirs,
            Found { turns, .. } if MAX_TURNS <= turns => Turn::Spent,
            Found { .. } => Turn::Busy,
        })
    }

    /// Gives the turn back that ends at `ends`. One that ended by itself is
    /// somebody else's by now.
    pub async fn end_turn(&self, hash: &str, ends: DateTime<Utc>) -> Result<(), StorageError> {
        let ended = self
            .client
            .update_item()
            .table_name(self.table(Table::Handoffs))
            .set_key(Some(key(hash)))
            .condition_expression("turn_ends = :ends")
            .update_expression("REMOVE turn_ends")
            .expression_attribute_values(":ends", at(ends))
            .send()
            .await;
        Race::of(ended).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_user, noon};

    use super::*;
    use crate::testing::{a_hand_off, store};

    async fn begun(store: &Store) {
        let hand_off = a_hand_off(a_user().user_id, "sandbox", noon());
        store.begin_hand_off("hash", &hand_off).await.unwrap();
    }

    const LEASE: TimeDelta = TimeDelta::seconds(30);

    #[tokio::test]
    async fn of_many_at_once_one_is_worked_on_and_the_next_when_it_is_done() {
        let store = store().await;
        begun(&store).await;

        let turns = futures::future::join_all(
            (0..20).map(|_| store.take_turn("hash", Stage::Answering, &GoesOn::Owner, LEASE, noon())),
        )
        .await;
        let ours: Vec<_> = turns.into_iter().map(Result::unwrap).filter(|it| *it != Turn::Busy).collect();
        assert_eq!(ours, [Turn::Ours(noon() + LEASE)]);

        store.end_turn("hash", noon() + LEASE).await.unwrap();
        assert_eq!(
            store.take_turn("hash", Stage::Answering, &GoesOn::Owner, LEASE, noon()).await.unwrap(),
            Turn::Ours(noon() + LEASE)
        );
    }

    #[tokio::test]
    async fn a_turn_that_nobody_gives_back_ends_by_itself() {
        let store = store().await;
        begun(&store).await;
        store.take_turn("hash", Stage::Answering, &GoesOn::Owner, LEASE, noon()).await.unwrap();

        let later = noon() + LEASE;
        assert_eq!(
            store
                .take_turn("hash", Stage::Answering, &GoesOn::Owner, LEASE, later - TimeDelta::milliseconds(1))
                .await
                .unwrap(),
            Turn::Busy
        );
        assert_eq!(
            store.take_turn("hash", Stage::Answering, &GoesOn::Owner, LEASE, later).await.unwrap(),
            Turn::Ours(later + LEASE)
        );

        // Whoever was too slow does not end the turn of another.
        store.end_turn("hash", noon() + LEASE).await.unwrap();
        assert_eq!(store.take_turn("hash", Stage::Answering, &GoesOn::Owner, LEASE, later).await.unwrap(), Turn::Busy);
    }

    #[tokio::test]
    async fn what_was_sent_to_an_earlier_stage_is_not_worked_on() {
        let store = store().await;
        begun(&store).await;
        let turn = store.take_turn("hash", Stage::Asking, &GoesOn::Owner, LEASE, noon()).await.unwrap();
        assert_eq!(turn, Turn::MovedOn);
    }

    #[tokio::test]
    async fn whoever_sent_something_goes_on_and_no_guest_takes_over() {
        let store = store().await;
        begun(&store).await;
        let (first, second) = (GoesOn::Guest("1".to_owned()), GoesOn::Guest("2".to_owned()));
        let take = async |by: &GoesOn| {
            let turn = store.take_turn("hash", Stage::Answering, by, LEASE, noon()).await.unwrap();
            store.end_turn("hash", noon() + LEASE).await.unwrap();
            turn
        };
        let ours = Turn::Ours(noon() + LEASE);

        assert_eq!([take(&first).await, take(&second).await, take(&first).await], [ours, Turn::Theirs, ours]);
        assert_eq!([take(&GoesOn::Owner).await, take(&first).await], [ours, Turn::Theirs]);
        let kept = store.hand_off("hash").await.unwrap().unwrap();
        assert_eq!(kept.goes_on, Some(GoesOn::Owner));
    }

    #[tokio::test]
    async fn after_ten_turns_there_is_none() {
        let store = store().await;
        begun(&store).await;
        for _ in 0..MAX_TURNS {
            let Turn::Ours(ends) =
                store.take_turn("hash", Stage::Answering, &GoesOn::Owner, LEASE, noon()).await.unwrap()
            else {
                panic!("too early")
            };
            store.end_turn("hash", ends).await.unwrap();
        }
        assert_eq!(
            store.take_turn("hash", Stage::Answering, &GoesOn::Owner, LEASE, noon()).await.unwrap(),
            Turn::Spent
        );
    }
}
