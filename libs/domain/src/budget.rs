//! What posts cost whoever runs a deployment, and how much of that each user may cause in
//! a month.
//!
//! A post takes its share of the month it is scheduled for when it is scheduled, and keeps
//! it however often it is tried. It gives the share back when it is cancelled, moved, or
//! certainly did not become public.

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

use crate::failure::FailureClass;
use crate::id::TargetId;
use crate::post::{Accounts, Post, PostStatus, Target, TargetStatus};
use crate::rules::Unit;

/// An amount of money, in tenths of a US cent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mills(u64);

impl Mills {
    /// So many tenths of a cent.
    pub const fn new(mills: u64) -> Self {
        Self(mills)
    }

    /// So many cents.
    pub const fn cents(cents: u32) -> Self {
        Self(cents as u64 * 10)
    }

    /// Tenths of a cent.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Mills {
    /// In dollars: `$4.95`, `$0.015`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(mills) = self;
        write!(f, "${}.{:02}", mills / 1_000, mills % 1_000 / 10)?;
        match mills % 10 {
            0 => Ok(()),
            rest => write!(f, "{rest}"),
        }
    }
}

/// What a post to an account costs whoever runs the deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// A post whose text has no link.
    pub post: Mills,
    /// One whose text has a link.
    pub with_link: Mills,
    /// Whose idea of a link it is.
    pub links: Unit,
}

impl Price {
    /// What a post with this text costs.
    pub fn of(self, text: &str) -> Mills {
        if self.links.has_links(text) { self.with_link } else { self.post }
    }
}

/// How much the posts of each user to a platform may cost in a calendar month, by the
/// platform's name. One that is not here has no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets(BTreeMap<String, Mills>);

impl Budgets {
    /// These, by the names of platforms.
    pub fn of(budgets: impl IntoIterator<Item = (String, Mills)>) -> Self {
        Self(budgets.into_iter().collect())
    }

    fn get(&self, platform: &str) -> Option<Mills> {
        self.0.get(platform).copied()
    }
}

/// A calendar month, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Month(i32);

impl Month {
    /// The month of an instant.
    pub fn of(at: DateTime<Utc>) -> Self {
        Self(at.year() * 12 + at.month0().cast_signed())
    }

    /// Its number; that of the month after it is greater by 1.
    pub const fn number(self) -> i32 {
        self.0
    }

    /// When the next one begins.
    pub fn ends_at(self) -> DateTime<Utc> {
        Self(self.0 + 1).first_day().and_time(chrono::NaiveTime::MIN).and_utc()
    }

    fn first_day(self) -> NaiveDate {
        let month = self.0.rem_euclid(12).cast_unsigned() + 1;
        NaiveDate::from_ymd_opt(self.0.div_euclid(12), month, 1).unwrap_or_default()
    }
}

impl fmt::Display for Month {
    /// `November 2026`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first_day().format("%B %Y"))
    }
}

/// The share of a month's budget that a target takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Of which month.
    pub month: Month,
    /// How much it is.
    pub cost: Mills,
    /// The budget as it was then.
    pub budget: Mills,
}

/// What a user's posts to one platform in one month are counted under.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Purse {
    /// The platform's name.
    pub platform: String,
    /// The month.
    pub month: Month,
}

/// How a count changes with a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// By so many [`Mills`]; less than none where something is given back.
    pub by: i64,
    /// The count may not grow beyond this.
    pub budget: Mills,
}

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
pub fn changes(before: Option<&Post>, after: Option<&Post>) -> BTreeMap<Purse, Change> {
    let (before, after) = (charged_targets(before), charged_targets(after));
    let mut changes = BTreeMap::new();
    let mut count = |target: &Target, charge: Charge, by: i64| {
        let purse = Purse { platform: target.provider.clone(), month: charge.month };
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

fn signed(cost: Mills) -> i64 {
    i64::try_from(cost.get()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
