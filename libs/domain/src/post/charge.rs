//! Charges of targets to their user's budgets, and their release.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Accounts, Post, PostStatus, Target, TargetStatus};
use crate::budget::{BudgetKey, Budgets, Change, Charge, MilliDollars, Month};
use crate::failure::FailureClass;
use crate::id::TargetId;

impl Post {
    /// Charges the targets to the budgets. Drafts are not charged; targets that are not scheduled
    /// keep their charge.
    #[must_use]
    pub fn charged(mut self, accounts: &Accounts, budgets: &Budgets, now: DateTime<Utc>) -> Self {
        let month = Month::from_instant(self.scheduled_at.map_or(now, |it| it.max(now)));
        let charge = |target: &Target| {
            let price = accounts.get(&target.connection_id)?.rules.price?;
            let cost = price.for_text(self.text_of(target).as_str());
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
    /// Whether the charge is final: the target is public, or may be.
    fn is_charge_final(&self) -> bool {
        self.status == TargetStatus::Published || self.failure == Some(FailureClass::MayBePublic)
    }

    /// Releases the charge if the target is certainly not public.
    pub(crate) fn release_charge_unless_final(&mut self) {
        if !self.is_charge_final() {
            self.charge = None;
        }
    }
}

/// The changes of a user's counts when one version of a post replaces another. A final charge is
/// not released, and is not counted again while its target stays the same.
pub fn changes(before: Option<&Post>, after: Option<&Post>) -> BTreeMap<BudgetKey, Change> {
    let (before, after) = (charged_targets(before), charged_targets(after));
    let mut changes = BTreeMap::new();
    let mut count = |target: &Target, charge: Charge, by: i64| {
        let key = BudgetKey { platform: target.provider.clone(), month: charge.month };
        let change = changes.entry(key).or_insert(Change { by: 0, budget: charge.budget });
        change.by += by;
        if 0 < by {
            change.budget = charge.budget;
        }
    };
    for (target, charge) in before.values().filter(|it| !it.0.is_charge_final()) {
        count(target, *charge, -signed(charge.cost));
    }
    for (target, charge) in after.values() {
        let is_counted = before
            .get(&target.target_id)
            .is_some_and(|it| it.0.is_charge_final() && target.is_charge_final() && it.1 == *charge);
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
