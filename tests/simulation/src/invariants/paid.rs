use std::collections::BTreeMap;

use super::{Broken, History, Kind};

/// Maximum number of look-ups of one unknown outcome: one, and another one after the settle time.
const LOOKS: u64 = 2;

/// Each publish call is looked up at most twice, and once more if the worker died before it stored
/// the result.
pub(super) fn paid_look_ups_are_limited(history: &History<'_>) -> Vec<Broken> {
    let count = |references: Vec<_>| {
        let mut counted: BTreeMap<_, u64> = BTreeMap::new();
        for it in references {
            *counted.entry(it).or_default() += 1;
        }
        counted
    };
    let calls = count(history.timeline.begun.iter().map(|it| it.reference).collect());
    let mut broken = Vec::new();
    for (reference, look_ups) in count(history.timeline.paid.clone()) {
        let begun = calls.get(&reference).copied().unwrap_or(0);
        if begun * LOOKS + history.deaths < look_ups {
            let what =
                format!("r{} of post {}: {look_ups} looks for {begun} calls", reference.revision, reference.post);
            broken.push(Broken::new(Kind::Other, reference.post, what));
        }
    }
    broken
}
