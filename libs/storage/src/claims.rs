//! Claims: a platform post belongs to the one segment of a delivery that claimed its id.
//!
//! The key is the account on the platform, not the user: several users may have connected the same
//! account, and a delivery of one must not claim a post of another.

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Connection;
use domain::delivery::{Claim, Delivery};

use crate::Store;
use crate::error::StorageError;
use crate::item::{Item, attributes, s, ttl};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

/// Longer than any delivery needs a claim: a delivery is given up a day after its time, and looks
/// up only posts that are newer than its preparation.
const KEPT_FOR: TimeDelta = TimeDelta::days(3);

impl Store {
    /// Claims a public post for this delivery. Of any number of deliveries that claim the same post,
    /// only the first gets [`Claim::Ours`], also when it repeats the claim.
    pub async fn claim_post(
        &self,
        connection: &Connection,
        platform_post_id: &str,
        delivery: &Delivery,
        now: DateTime<Utc>,
    ) -> Result<Claim, StorageError> {
        let mut item = key(connection, platform_post_id);
        item.insert("delivery".to_owned(), s(delivery_name(delivery)));
        item.insert("ttl".to_owned(), ttl(now + KEPT_FOR));
        let put = self
            .client
            .put_item()
            .table_name(self.table(Table::Claims))
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(#account) OR delivery = :delivery")
            .expression_attribute_names("#account", "account")
            .expression_attribute_values(":delivery", s(delivery_name(delivery)))
            .send()
            .await;
        Ok(match WriteOutcome::from_write(put)? {
            WriteOutcome::Applied => Claim::Ours,
            WriteOutcome::Conflict => Claim::Others,
        })
    }

    /// The existing claims of these posts, and whether they are of this delivery. No id may occur
    /// twice.
    pub async fn claims(
        &self,
        connection: &Connection,
        platform_post_ids: &[String],
        delivery: &Delivery,
    ) -> Result<Vec<(String, Claim)>, StorageError> {
        let keys = platform_post_ids.iter().map(|it| (Table::Claims, key(connection, it))).collect();
        let found = self.batch_get(keys).await?.remove(&Table::Claims).unwrap_or_default();
        let ours = s(delivery_name(delivery));
        let claim = |it: &Item| if it.get("delivery") == Some(&ours) { Claim::Ours } else { Claim::Others };
        Ok(found.iter().filter_map(|it| Some((it.get("post")?.as_s().ok()?.clone(), claim(it)))).collect())
    }
}

fn key(connection: &Connection, platform_post_id: &str) -> Item {
    attributes([("account", s(connection.account())), ("post", s(platform_post_id))])
}

/// Identifies the current segment of a delivery by its target, without the revision: a post of an
/// earlier revision belongs to this target too.
fn delivery_name(delivery: &Delivery) -> String {
    format!("{}/{}/{}/{}", delivery.user_id, delivery.post_id, delivery.target_id, delivery.current_segment())
}

#[cfg(test)]
mod tests {
    use domain::delivery::Published;
    use domain::id::{TargetId, UserId};
    use domain::testing::{a_connection, a_delivery, a_user, noon};

    use super::*;
    use crate::testing::store;

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|it| (*it).to_owned()).collect()
    }

    #[tokio::test]
    async fn post_is_claimed_by_one_delivery() {
        let store = store().await;
        let account = a_connection(&a_user());
        let one = a_delivery();
        let another = Delivery { target_id: TargetId::new(99).unwrap(), ..one.clone() };
        let later = Delivery { revision: one.revision + 1, ..one.clone() };

        assert_eq!(store.claim_post(&account, "p1", &one, noon()).await.unwrap(), Claim::Ours);
        assert_eq!(store.claim_post(&account, "p1", &another, noon()).await.unwrap(), Claim::Others);
        assert_eq!(
            store.claim_post(&account, "p1", &later, noon()).await.unwrap(),
            Claim::Ours,
            "a later revision is the same target"
        );
        assert_eq!(store.claim_post(&account, "p2", &another, noon()).await.unwrap(), Claim::Ours);
        let reply = Delivery { published: vec![Published::new("p1", noon())], ..one.clone() };
        assert_eq!(
            store.claim_post(&account, "p1", &reply, noon()).await.unwrap(),
            Claim::Others,
            "of its first segment"
        );

        let mut found = store.claims(&account, &ids(&["p1", "p2", "p3"]), &one).await.unwrap();
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        assert_eq!(found, [("p1".to_owned(), Claim::Ours), ("p2".to_owned(), Claim::Others)]);
        assert_eq!(store.claims(&account, &[], &one).await.unwrap(), []);
    }

    #[tokio::test]
    async fn claims_are_shared_by_users_of_the_same_account_only() {
        let store = store().await;
        let one = a_connection(&a_user());
        let mut another = Connection { user_id: UserId::new(4711).unwrap(), ..one.clone() };
        let theirs = Delivery { user_id: another.user_id, ..a_delivery() };
        store.claim_post(&another, "p1", &theirs, noon()).await.unwrap();

        assert_eq!(store.claim_post(&one, "p1", &a_delivery(), noon()).await.unwrap(), Claim::Others);
        another.profile.account_id = "another".to_owned();
        assert_eq!(store.claim_post(&another, "p1", &a_delivery(), noon()).await.unwrap(), Claim::Ours);
    }
}
