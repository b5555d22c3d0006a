//! No platform is called again and again without a pause.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use super::{Broken, History, Kind};

/// This many public calls of one revision within [`WHILE`] are too many. The
/// back-off between attempts doubles, beginning with five seconds, and so does
/// the one between questions to the platform.
const MANY: usize = 12;
const WHILE: TimeDelta = TimeDelta::minutes(1);

/// Attempts back off.
pub(super) fn no_platform_is_hammered(history: &History<'_>) -> Vec<Broken> {
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
