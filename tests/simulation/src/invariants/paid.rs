//! Where questions are paid, few are asked.

use std::collections::BTreeMap;

use super::{Broken, History, Kind};

/// What a doubt may cost: a look, and another one once the call that was in doubt can
/// take effect no more.
const LOOKS: u64 = 2;

/// Each public call is asked about twice at most, and once more where whoever asked has
/// died before the answer was stored.
pub(super) fn paid_look_ups_are_limited(history: &History<'_>) -> Vec<Broken> {
    let count = |of: Vec<_>| {
        let mut counted: BTreeMap<_, u64> = BTreeMap::new();
        for it in of {
            *counted.entry(it).or_default() += 1;
        }
        counted
    };
    let calls = count(history.timeline.begun.iter().map(|it| it.reference).collect());
    let mut broken = Vec::new();
    for (reference, looks) in count(history.timeline.paid.clone()) {
        let begun = calls.get(&reference).copied().unwrap_or(0);
        if begun * LOOKS + history.deaths < looks {
            let what = format!("r{} of post {}: {looks} looks for {begun} calls", reference.revision, reference.post);
            broken.push(Broken::new(Kind::Other, reference.post, what));
        }
    }
    broken
}
