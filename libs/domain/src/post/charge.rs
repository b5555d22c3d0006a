//! What the targets of a post take of their user's budgets, and what they give back.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Accounts, Post, PostStatus, Target, TargetStatus};
use crate::budget::{BudgetKey, Budgets, Change, Charge, MilliDollars, Month};
use crate::failure::FailureClass;
use crate::id::TargetId;

impl Post {
    /// The post with what its targets take of the budgets: nothing of a draft, and what
    /// they took before where it is not scheduled.
    #[must_use]
    pub fn charged(mut self, accounts: &Accounts, budgets: &Budgets, now: DateTime<Utc>) -> Self {
        let month = Month::of(self.scheduled_at.map_or(now, |it| it.max(now)));
        let charge = |target: &Target| {
            let price = accounts.get(&target.connection_id)?.rules.price?;
            let cost = price.of(self.text_of(target).as_str());
            Some(Charge { month, cost, budget: budgets.get(&target.provider)? })
        };
        let charges: Vec<_> = match self.status {
            PostStatus::Scheduled => self.targets.iter().map(charge).collect(),
            PostStatus::Draft => vec![None; self.targets.len()],
            PostStatus::Publishing | PostStatus::Published | PostStatus::Failed => return self,
        };
        for (target, charge) in self.targets.iter_mut().zip(charges) {
            if target.status != TargetStatus::Published {
                target.charge = charge;
            }
        }
        self
    }
}

impl Target {
    /// Whether what it took is spent: it is public, or may be.
    fn is_spent(&self) -> bool {
        self.status == TargetStatus::Published || self.failure == Some(FailureClass::MayBePublic)
    }

    /// Gives back what it took where it has certainly not become public.
    pub(crate) fn free_unless_spent(&mut self) {
        if !self.is_spent() {
            self.charge = None;
        }
    }
}

/// How the counts of a user change when a post is written over another. What is spent is
/// not given back, and not counted again while its target stays as it is.
pub fn changes(before: Option<&Post>, after: Option<&Post>) -> BTreeMap<BudgetKey, Change> {
    let (before, after) = (charged_targets(before), charged_targets(after));
    let mut changes = BTreeMap::new();
    let mut count = |target: &Target, charge: Charge, by: i64| {
        let purse = BudgetKey { platform: target.provider.clone(), month: charge.month };
        let change = changes.entry(purse).or_insert(Change { by: 0, budget: charge.budget });
        change.by += by;
        if 0 < by {
            change.budget = charge.budget;
        }
    };
    for (target, charge) in before.values().filter(|it| !it.0.is_spent()) {
        count(target, *charge, -signed(charge.cost));
    }
    for (target, charge) in after.values() {
        let is_counted =
            before.get(&target.target_id).is_some_and(|it| it.0.is_spent() && target.is_spent() && it.1 == *charge);
        if !is_counted {
            count(target, *charge, signed(charge.cost));
        }
    }
    changes.retain(|_, it| it.by != 0);
    changes
}

fn charged_targets(post: Option<&Post>) -> BTreeMap<TargetId, (&Target, Charge)> {
    let targets = post.map(|it| it.targets.as_slice()).unwrap_or_default();
    targets.iter().filter_map(|it| Some((it.target_id, (it, it.charge?)))).collect()
}

fn signed(cost: MilliDollars) -> i64 {
    i64::try_from(cost.get()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
