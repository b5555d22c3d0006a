//! Charges of targets to their user's budgets, and their release.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Accounts, Post, PostStatus, Segment, Target, TargetStatus};
use crate::budget::{BudgetKey, Budgets, Change, Charge, MilliDollars, Month};
use crate::failure::FailureClass;

impl Post {
    /// Charges the targets to the budgets. Drafts are not charged; targets that are not scheduled
    /// keep their charge.
    #[must_use]
    pub fn charged(mut self, accounts: &Accounts, budgets: &Budgets, now: DateTime<Utc>) -> Self {
        let month = Month::from_instant(self.scheduled_at.map_or(now, |it| it.max(now)));
        let charges = |target: &Target| -> Option<Vec<Charge>> {
            let price = accounts.get(&target.connection_id)?.rules.price?;
            let budget = budgets.get(&target.provider)?;
            let kept = target.final_charges();
            let new = self.segments(target).into_iter().skip(kept.len());
            let charge = |it: Segment<'_>| Charge { month, cost: price.for_text(it.text), budget };
            Some(kept.into_iter().chain(new.map(charge)).collect())
        };
        let charges: Vec<_> = match self.status {
            PostStatus::Scheduled => self.targets.iter().map(|it| charges(it).unwrap_or_default()).collect(),
            PostStatus::Draft => vec![Vec::new(); self.targets.len()],
            PostStatus::Publishing | PostStatus::Published | PostStatus::Failed => return self,
        };
        for (target, charges) in self.targets.iter_mut().zip(charges) {
            if target.status != TargetStatus::Published {
                target.charges = charges;
            }
        }
        self
    }
}

impl Target {
    /// The charges that are final: of segments that are public, or may be.
    pub(super) fn final_charges(&self) -> Vec<Charge> {
        let may_be_public = usize::from(self.failure == Some(FailureClass::MayBePublic));
        self.charges.iter().take(self.public.len() + may_be_public).copied().collect()
    }

    pub(crate) fn release_charges(&mut self) {
        self.charges = self.final_charges();
    }
}

/// The changes of a user's counts when one version of a post replaces another. A final charge is
/// not released, and is not counted again while its segment stays the same.
pub fn changes(before: Option<&Post>, after: Option<&Post>) -> BTreeMap<BudgetKey, Change> {
    let mut changes = BTreeMap::new();
    let mut count = |target: &Target, charge: &Charge, by: i64| {
        let key = BudgetKey { platform: target.provider.clone(), month: charge.month };
        let change = changes.entry(key).or_insert(Change { by: 0, budget: charge.budget });
        change.by += by;
        if 0 < by {
            change.budget = charge.budget;
        }
    };
    for target in targets(before) {
        for charge in target.charges.iter().skip(target.final_charges().len()) {
            count(target, charge, -signed(charge.cost));
        }
    }
    for target in targets(after) {
        let old = targets(before).find(|it| it.target_id == target.target_id);
        let counted = old.map_or(0, |it| it.final_charges().len().min(target.final_charges().len()));
        for charge in target.charges.iter().skip(counted) {
            count(target, charge, signed(charge.cost));
        }
    }
    changes.retain(|_, it| it.by != 0);
    changes
}

fn targets(post: Option<&Post>) -> impl Iterator<Item = &Target> {
    post.into_iter().flat_map(|it| &it.targets)
}

fn signed(cost: MilliDollars) -> i64 {
    i64::try_from(cost.get()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
