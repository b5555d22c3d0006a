//! Asking a platform whether an approval was given: now and then, whoever waits
//! for it, and one at a time.

use chrono::{DateTime, Utc};

use super::{Stage, key};
use crate::Store;
use crate::error::StorageError;
use crate::item::{at, s};
use crate::race::Race;
use crate::schema::Table;

impl Store {
    /// Takes the next look at a hand-off whose approval is waited for. Nobody else
    /// gets one before `next_at`.
    pub async fn take_look(
        &self,
        hash: &str,
        next_at: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Race, StorageError> {
        let taken = self
            .client
            .update_item()
            .table_name(self.table(Table::Handoffs))
            .set_key(Some(key(hash)))
            .condition_expression(
                "stage = :approving AND :now < expires_at AND (attribute_not_exists(next_look) OR next_look <= :now)",
            )
            .update_expression("SET next_look = :next")
            .expression_attribute_values(":approving", s(Stage::Approving.as_str()))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":next", at(next_at))
            .send()
            .await;
        Race::of(taken)
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::{a_user, noon};

    use super::*;
    use crate::handoffs::HandOff;
    use crate::testing::{a_hand_off, store};

    fn later(seconds: i64) -> DateTime<Utc> {
        noon() + TimeDelta::seconds(seconds)
    }

    #[tokio::test]
    async fn of_many_who_wait_one_looks_at_a_time_and_nobody_at_another_stage() {
        let store = store().await;
        let hand_off = a_hand_off(a_user().user_id, "sandbox", noon());
        store.begin_hand_off("other", &hand_off).await.unwrap();
        let hand_off = HandOff { stage: Stage::Approving, ..hand_off };
        store.begin_hand_off("hash", &hand_off).await.unwrap();

        let looks = futures::future::join_all((0..20).map(|_| store.take_look("hash", later(10), noon()))).await;

        assert_eq!(looks.into_iter().filter(|it| it.as_ref().unwrap().is_won()).count(), 1);
        assert_eq!(store.take_look("hash", later(19), later(9)).await.unwrap(), Race::Lost);
        assert_eq!(store.take_look("hash", later(20), later(10)).await.unwrap(), Race::Won);
        assert_eq!(store.take_look("hash", later(9_999), hand_off.expires_at).await.unwrap(), Race::Lost);
        assert_eq!(store.take_look("other", later(10), noon()).await.unwrap(), Race::Lost);
        assert_eq!(store.take_look("nothing", later(10), noon()).await.unwrap(), Race::Lost);
    }
}
