//! Monthly budgets: what a user's posts to a platform cost. Counted in the transaction that writes a
//! post, so that concurrently written posts stay within the budget.

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
    milli_dollars: i64,
}

impl Store {
    /// Includes scheduled posts.
    pub async fn spent(&self, user: UserId, budget: &BudgetKey) -> Result<MilliDollars, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Limits))
            .set_key(Some(key(user, budget)))
            .consistent_read(true)
            .send()
            .await?;
        let counter = found.item.map(from_item::<Counter>).transpose()?;
        // Negative if the count expired (TTL) before a charge was released.
        Ok(MilliDollars::new(counter.and_then(|it| u64::try_from(it.milli_dollars).ok()).unwrap_or_default()))
    }

    /// On condition that the budget is not exceeded.
    pub(crate) fn charge_action(
        &self,
        user: UserId,
        budget: &BudgetKey,
        change: Change,
    ) -> Result<TransactWriteItem, StorageError> {
        let mut update = Update::builder()
            .table_name(self.table(Table::Limits))
            .set_key(Some(key(user, budget)))
            .update_expression("ADD milli_dollars :by SET #ttl = :ttl")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":by", n(change.by))
            .expression_attribute_values(":ttl", ttl(budget.month.ends_at()));
        if 0 < change.by {
            let left = i128::from(change.budget.get()) - i128::from(change.by);
            // Before the first charge, the whole budget is left.
            let condition = if left < 0 {
                "milli_dollars <= :left"
            } else {
                "attribute_not_exists(milli_dollars) OR milli_dollars <= :left"
            };
            update = update.condition_expression(condition).expression_attribute_values(":left", n(left));
        }
        let update = update.build().map_err(StorageError::build)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }
}

fn key(user: UserId, budget: &BudgetKey) -> Item {
    let subject = format!("budget#{user}#{}", budget.platform);
    attributes([("subject", s(subject)), ("minute", n(budget.month.number()))])
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

    fn budget() -> BudgetKey {
        BudgetKey { platform: a_connection(&a_user()).provider, month: Month::from_instant(noon()) }
    }

    /// A post with this cost in 0.001 USD, for a budget of one dollar.
    fn costing(user: &User, cost: u64) -> Post {
        let mut post = a_post(user, None, &[a_connection(user)]);
        post.targets[0].charges =
            vec![Charge { month: budget().month, cost: MilliDollars::new(cost), budget: MilliDollars::cents(100) }];
        post
    }

    async fn write(store: &Store, before: Option<&Post>, after: Option<&Post>) -> PostWritten {
        store.write_post(&PostWrite { before, after, ..PostWrite::default() }, noon()).await.unwrap()
    }

    #[tokio::test]
    async fn concurrent_posts_stay_within_the_budget() {
        let (store, user) = (store().await, a_user());
        let posts: Vec<_> = (0..8).map(|_| costing(&user, 300)).collect();

        let ends = futures::future::join_all(posts.iter().map(|it| write(&store, None, Some(it)))).await;

        assert_eq!(ends.iter().filter(|it| **it == PostWritten::Done).count(), 3, "{ends:?}");
        assert_eq!(ends.iter().filter(|it| **it == PostWritten::OverBudget).count(), 5, "{ends:?}");
        assert_eq!(store.spent(user.user_id, &budget()).await.unwrap(), MilliDollars::new(900));
    }

    #[tokio::test]
    async fn whole_budget_can_be_spent_and_released_charges_again() {
        let (store, user) = (store().await, a_user());
        let (all, one) = (costing(&user, 1_000), costing(&user, 1));
        assert_eq!(write(&store, None, Some(&costing(&user, 1_001))).await, PostWritten::OverBudget, "the first");
        assert_eq!(write(&store, None, Some(&all)).await, PostWritten::Done);
        assert_eq!(write(&store, None, Some(&one)).await, PostWritten::OverBudget);

        assert_eq!(write(&store, Some(&all), None).await, PostWritten::Done);

        assert_eq!(store.spent(user.user_id, &budget()).await.unwrap(), MilliDollars::default());
        assert_eq!(write(&store, None, Some(&one)).await, PostWritten::Done);
    }

    #[tokio::test]
    async fn budgets_are_separate_per_user_platform_and_month() {
        let (store, user) = (store().await, a_user());
        write(&store, None, Some(&costing(&user, 5))).await;
        let user = user.user_id;

        let next = BudgetKey { month: Month::from_instant(budget().month.ends_at()), ..budget() };
        let other = BudgetKey { platform: "other".to_owned(), ..budget() };
        let other_user = UserId::new(user.get() + 1).unwrap();

        for (user, budget, spent) in [(user, budget(), 5), (user, next, 0), (user, other, 0), (other_user, budget(), 0)]
        {
            assert_eq!(store.spent(user, &budget).await.unwrap(), MilliDollars::new(spent), "{user} {budget:?}");
        }
        assert_eq!(store.erase(Table::Limits, user).await.unwrap(), 1, "erased with its user");
    }
}
