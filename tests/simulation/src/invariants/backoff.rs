use std::collections::BTreeMap;

use chrono::TimeDelta;

use super::{Broken, History, Kind};

/// This many publish calls of one revision within [`WHILE`] are too many. The back-off between
/// attempts doubles, beginning with five seconds, and so does the one between look-ups.
const MANY: usize = 12;
const WHILE: TimeDelta = TimeDelta::minutes(1);

pub(super) fn retries_respect_the_backoff(history: &History<'_>) -> Vec<Broken> {
    let mut calls: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for begun in &history.timeline.begun {
        calls.entry(begun.reference).or_default().push(begun.at);
    }
    let mut broken = Vec::new();
    for (reference, at) in calls {
        if at.windows(MANY).any(|it| it[MANY - 1] - it[0] < WHILE) {
            let what = format!("r{} of post {} was sent {} times", reference.revision, reference.post, at.len());
            broken.push(Broken::new(Kind::Other, reference.post, what));
        }
    }
    broken
}

/// A post that a platform has refused as a duplicate is looked up and not sent again, unless the
/// process that read the refusal died before it was stored.
pub(super) fn duplicate_refusals_are_not_retried(history: &History<'_>) -> Vec<Broken> {
    let mut refusals: BTreeMap<_, u64> = BTreeMap::new();
    for reference in &history.timeline.duplicates {
        *refusals.entry(*reference).or_default() += 1;
    }
    let too_many = refusals.into_iter().filter(|(_, count)| 1 + history.deaths < *count);
    too_many
        .map(|(reference, count)| {
            let what =
                format!("r{} of post {} was refused as a duplicate {count} times", reference.revision, reference.post);
            Broken::new(Kind::Other, reference.post, what)
        })
        .collect()
}
