//! Chooses the moments of power cuts.

use std::{collections::BTreeSet, path::Path};

use super::{
    log::{Change, Log},
    rng::Rng,
};

/// The platform records public posts in it.
const PUBLIC_POSTS: &str = "sandbox/journal.jsonl";

/// Numbers of records, in order. Most cuts are right before and after a sync, or during a publish
/// call; the others are at changes of names or anywhere.
pub(super) fn choose(log: &Log, count: usize, seed: u64) -> Vec<usize> {
    let around = |records: Vec<usize>| -> Vec<usize> { records.into_iter().flat_map(|it| [it, it + 1]).collect() };
    let syncs = around(indexes(log, Change::is_sync));
    let names = around(indexes(log, is_name_change));
    let calls = around(publish_calls(log));
    let anywhere: Vec<_> = (0..=log.records.len()).collect();
    let kinds = [&syncs, &syncs, &syncs, &calls, &calls, &calls, &names, &anywhere];

    let mut rng = Rng::new(seed);
    let mut cuts = BTreeSet::new();
    // A few numbers come twice.
    for _ in 0..count * 10 {
        let kind = kinds[rng.below(kinds.len())];
        if cuts.len() < count && !kind.is_empty() {
            cuts.insert(kind[rng.below(kind.len())]);
        }
    }
    cuts.into_iter().collect()
}

fn indexes(log: &Log, is_wanted: impl Fn(&Change) -> bool) -> Vec<usize> {
    let all = log.records.iter().enumerate();
    all.filter(|(_, record)| is_wanted(&record.change)).map(|(index, _)| index).collect()
}

fn is_name_change(change: &Change) -> bool {
    matches!(
        change,
        Change::Create { .. }
            | Change::Rename { .. }
            | Change::Remove { .. }
            | Change::Folder { .. }
            | Change::Link { .. }
    )
}

/// The records by which posts become public, and the next two syncs after each: the service stores
/// the outcome then.
fn publish_calls(log: &Log) -> Vec<usize> {
    let journal = log.records.iter().find_map(|record| match &record.change {
        Change::Create { path, inode } if path.as_path() == Path::new(PUBLIC_POSTS) => Some(*inode),
        _ => None,
    });
    let is_public = |change: &Change| match change {
        Change::Write { inode, data, .. } => {
            Some(*inode) == journal && String::from_utf8_lossy(&log.bytes[data.clone()]).contains("\"posted\"")
        }
        _ => false,
    };
    let syncs = indexes(log, Change::is_sync);
    let calls = indexes(log, is_public);
    let with_syncs = |call: usize| {
        let next = syncs.iter().copied().filter(move |it| call < *it).take(2);
        std::iter::once(call).chain(next)
    };
    calls.into_iter().flat_map(with_syncs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::log::Record;

    fn log(changes: Vec<Change>) -> Log {
        let records = (1..).zip(changes).map(|(end, change)| Record { change, end }).collect();
        Log { bytes: b"{\"fact\":\"posted\"}".to_vec(), records }
    }

    #[test]
    fn publish_call_is_followed_by_its_syncs() {
        let sync = || Change::Sync { inode: 2, before: 0 };
        let write = |inode| Change::Write { inode, offset: 0, data: 0..17 };
        let create = Change::Create { path: PUBLIC_POSTS.into(), inode: 1 };

        let log = log(vec![create, sync(), write(2), write(1), sync(), write(2), sync(), sync()]);

        assert_eq!(publish_calls(&log), [3, 4, 6]);
    }

    #[test]
    fn same_seed_chooses_the_same_cuts() {
        let changes = (0..500).map(|at| Change::Resize { inode: 1, size_bytes: at }).collect();
        let log = log(changes);

        let cuts = choose(&log, 40, 7);

        assert_eq!((cuts.len(), &cuts), (40, &choose(&log, 40, 7)));
        assert_ne!(cuts, choose(&log, 40, 8));
        assert!(cuts.is_sorted());
    }
}
