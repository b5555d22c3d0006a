//! What the posts of a user to a platform cost in a month: counted in the transaction
//! that writes a post, so that posts written at the same moment stay within the budget.

use aws_sdk_dynamodb::types::{TransactWriteItem, Update};
use domain::budget::{BudgetKey, Change, MilliDollars};
use domain::id::UserId;
use serde::Deserialize;

use crate::error::StorageError;
use crate::item::{Item, attributes, from_item, n, s, ttl};
use crate::{Store, Table};

#[derive(Deserialize)]
struct Counter {
    #[serde(default)]
    mills: i64,
}

impl Store {
    /// What the posts of a user cost, those that are scheduled included.
    pub async fn spent(&self, user: UserId, purse: &BudgetKey) -> Result<MilliDollars, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(key(user, purse)))
            .consistent_read(true)
            .send()
            .await?;
        let counter = found.item.map(from_item::<Counter>).transpose()?;
        // Less than none where the count had ended and something of it was given back.
        Ok(MilliDollars::new(counter.and_then(|it| u64::try_from(it.mills).ok()).unwrap_or_default()))
    }

    /// Counts a change, on condition that the budget is not exceeded by it.
    pub(crate) fn charge_action(
        &self,
        user: UserId,
        purse: &BudgetKey,
        change: Change,
    ) -> Result<TransactWriteItem, StorageError> {
        let mut update = Update::builder()
            .table_name(self.table(Table::Limits))
            .set_key(Some(key(user, purse)))
            .update_expression("ADD mills :by SET #ttl = :ttl")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":by", n(change.by))
            .expression_attribute_values(":ttl", ttl(purse.month.ends_at()));
        if 0 < change.by {
            let room = i128::from(change.budget.get()) - i128::from(change.by);
            // Where nothing is counted yet, there is the whole budget.
            let condition = if room < 0 { "mills <= :room" } else { "attribute_not_exists(mills) OR mills <= :room" };
            update = update.condition_expression(condition).expression_attribute_values(":room", n(room));
        }
        let update = update.build().map_err(StorageError::build)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }
}

fn key(user: UserId, purse: &BudgetKey) -> Item {
    let subject = format!("budget#{user}#{}", purse.platform);
    attributes([("subject", s(subject)), ("minute", n(purse.month.number()))])
}

#[cfg(test)]
mod tests {
    use domain::budget::{Charge, Month};
    use domain::post::Post;
    use domain::testing::{a_connection, a_post, a_user, noon};
    use domain::user::User;

    use super::*;
    use crate::post_write::{PostWrite, PostWritten};
    use crate::testing::store;

    fn purse() -> BudgetKey {
        BudgetKey { platform: a_connection(&a_user()).provider, month: Month::of(noon()) }
    }

    /// A post that costs so much of a budget of a dollar, aimed at an account that is
    /// not marked.
    fn costing(user: &User, cost: u64) -> Post {
        let mut post = a_post(user, None, &[a_connection(user)]);
        post.targets[0].charge =
            Some(Charge { month: purse().month, cost: MilliDollars::new(cost), budget: MilliDollars::cents(100) });
        post
    }

    async fn write(store: &Store, before: Option<&Post>, after: Option<&Post>) -> PostWritten {
        store.write_post(&PostWrite { before, after, ..PostWrite::default() }, noon()).await.unwrap()
    }

    #[tokio::test]
    async fn posts_written_at_the_same_moment_stay_within_the_budget() {
        let (store, user) = (store().await, a_user());
        let posts: Vec<_> = (0..8).map(|_| costing(&user, 300)).collect();

        let ends = futures::future::join_all(posts.iter().map(|it| write(&store, None, Some(it)))).await;

        assert_eq!(ends.iter().filter(|it| **it == PostWritten::Done).count(), 3, "{ends:?}");
        assert_eq!(ends.iter().filter(|it| **it == PostWritten::OverBudget).count(), 5, "{ends:?}");
        assert_eq!(store.spent(user.user_id, &purse()).await.unwrap(), MilliDollars::new(900));
    }

    #[tokio::test]
    async fn the_last_mill_can_be_spent_and_what_is_given_back_again() {
        let (store, user) = (store().await, a_user());
        let (all, one) = (costing(&user, 1_000), costing(&user, 1));
        assert_eq!(write(&store, None, Some(&costing(&user, 1_001))).await, PostWritten::OverBudget, "the first");
        assert_eq!(write(&store, None, Some(&all)).await, PostWritten::Done);
        assert_eq!(write(&store, None, Some(&one)).await, PostWritten::OverBudget);

        assert_eq!(write(&store, Some(&all), None).await, PostWritten::Done);

        assert_eq!(store.spent(user.user_id, &purse()).await.unwrap(), MilliDollars::default());
        assert_eq!(write(&store, None, Some(&one)).await, PostWritten::Done);
    }

    #[tokio::test]
    async fn each_user_platform_and_month_is_counted_alone() {
        let (store, user) = (store().await, a_user());
        write(&store, None, Some(&costing(&user, 5))).await;
        let user = user.user_id;

        let next = BudgetKey { month: Month::of(purse().month.ends_at()), ..purse() };
        let other = BudgetKey { platform: "other".to_owned(), ..purse() };
        let somebody = UserId::new(user.get() + 1).unwrap();

        for (user, purse, spent) in [(user, purse(), 5), (user, next, 0), (user, other, 0), (somebody, purse(), 0)] {
            assert_eq!(store.spent(user, &purse).await.unwrap(), MilliDollars::new(spent), "{user} {purse:?}");
        }
        assert_eq!(store.erase(Table::Limits, user).await.unwrap(), 1, "it goes with its user");
    }
}
