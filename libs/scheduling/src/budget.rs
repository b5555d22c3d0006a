use domain::budget::MilliDollars;
use domain::post::{Accounts, Post, changes};
use storage::StorageError;

use crate::Scheduling;

impl Scheduling {
    /// A text for the user if the post would exceed a budget. The conditional write that follows
    /// decides.
    pub(crate) async fn check_budget(
        &self,
        before: Option<&Post>,
        after: &Post,
        accounts: &Accounts,
    ) -> Result<Option<String>, StorageError> {
        for (budget_key, change) in changes(before, Some(after)) {
            let Some(more) = u64::try_from(change.by).ok().map(MilliDollars::new) else { continue };
            let spent = self.store.spent(after.user_id, &budget_key).await?;
            if spent.get() + more.get() <= change.budget.get() {
                continue;
            }
            let account = accounts.values().find(|it| it.provider == budget_key.platform);
            let title = account.map_or(budget_key.platform.as_str(), |it| &it.rules.title);
            return Ok(Some(format!(
                "your posts to {title} in {} cost {spent} of the {} that this deployment allows each user a month, and \
                 this post would cost {more} more; cancel another post, remove what makes this one expensive (links), \
                 or schedule it in another month",
                budget_key.month, change.budget
            )));
        }
        Ok(None)
    }
}
