//! What a post would cost, held against what is left of its user's budgets.

use domain::budget::MilliDollars;
use domain::post::{Accounts, Post, changes};
use storage::StorageError;

use crate::Publishing;

impl Publishing {
    /// Why a post would cost more than this deployment allows its user, in words for the
    /// user; `None` where it does not. The write that follows has the last word.
    pub(crate) async fn over_budget(
        &self,
        before: Option<&Post>,
        after: &Post,
        accounts: &Accounts,
    ) -> Result<Option<String>, StorageError> {
        for (purse, change) in changes(before, Some(after)) {
            let Some(more) = u64::try_from(change.by).ok().map(MilliDollars::new) else { continue };
            let spent = self.store.spent(after.user_id, &purse).await?;
            if spent.get() + more.get() <= change.budget.get() {
                continue;
            }
            let of_it = accounts.values().find(|it| it.provider == purse.platform);
            let title = of_it.map_or(purse.platform.as_str(), |it| &it.rules.title);
            return Ok(Some(format!(
                "the posts to {title} of {} cost {spent} of the {} that this deployment allows each user a month, and \
                 this one would cost {more} more; cancel another, leave out what makes it dear (links), or give it a \
                 time in another month",
                purse.month, change.budget
            )));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
