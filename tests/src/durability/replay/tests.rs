use super::*;
use crate::durability::log::Record;

/// A log with these changes, whose writes have letters as data.
fn log(changes: Vec<Change>) -> Log {
    let bytes = (b'a'..=b'z').flat_map(|letter| [letter; 1024]).collect();
    let records = (1..).zip(changes).map(|(end, change)| Record { change, end }).collect();
    Log { bytes, records }
}

fn create(path: &str, inode: u64) -> Change {
    Change::Create { path: path.into(), inode }
}

/// Writes `size` times this letter.
fn write(inode: u64, offset: u64, letter: u8, size: usize) -> Change {
    let start = usize::from(letter - b'a') * 1024;
    Change::Write { inode, offset, data: start..start + size }
}

fn sync(inode: u64, before: usize) -> Change {
    Change::Sync { inode, before }
}

fn sync_folder(path: &str, before: usize) -> Change {
    Change::SyncFolder { path: path.into(), before }
}

fn folder(path: &str) -> Change {
    Change::Folder { path: path.into() }
}

fn rename(from: &str, to: &str) -> Change {
    Change::Rename { from: from.into(), to: to.into() }
}

/// Each file with its data, after all changes; a folder ends in a slash.
fn left(changes: Vec<Change>, variant: Variant, seed: u64) -> Vec<String> {
    let log = log(changes);
    let mut replay = Replay::new(&log);
    replay.advance(log.records.len()).unwrap();
    let shown = |(path, data): (PathBuf, Option<Vec<u8>>)| match data {
        Some(data) => format!("{}={}", path.display(), String::from_utf8_lossy(&data).replace('\0', ".")),
        None => format!("{}/", path.display()),
    };
    replay.after_power_cut(variant, seed).into_iter().map(shown).collect()
}

fn kept(changes: Vec<Change>) -> Vec<String> {
    left(changes, Variant::Kept, 1)
}

fn lost(changes: Vec<Change>) -> Vec<String> {
    left(changes, Variant::Lost, 1)
}

#[test]
fn kept_has_every_change() {
    let changes = vec![
        create("a", 1),
        write(1, 0, b'x', 3),
        write(1, 5, b'y', 1),
        folder("d"),
        rename("a", "d/b"),
        Change::Link { from: "d/b".into(), to: "c".into() },
        write(1, 1, b'z', 1),
        create("e", 2),
        Change::Remove { path: "e".into() },
        Change::Resize { inode: 1, size_bytes: 7 },
    ];

    assert_eq!(kept(changes), ["c=xzx..y.", "d/", "d/b=xzx..y."]);
}

#[test]
fn file_is_lost_unless_its_folder_is_synced() {
    let written = [create("a", 1), write(1, 0, b'x', 2), sync(1, 2)];

    assert_eq!(lost(written.to_vec()), [""; 0]);
    assert_eq!(lost([written.as_slice(), &[sync_folder("", 3)]].concat()), ["a=xx"]);
}

#[test]
fn data_are_as_of_the_last_sync() {
    let changes = vec![
        create("a", 1),
        write(1, 0, b'x', 2),
        sync_folder("", 1),
        sync(1, 2),
        write(1, 1, b'y', 2),
        Change::Resize { inode: 1, size_bytes: 0 },
    ];

    assert_eq!(lost(changes), ["a=xx"]);
}

#[test]
fn sync_covers_only_what_came_before_its_start() {
    let changes = vec![
        create("a", 1),
        create("b", 2),
        write(1, 0, b'x', 1),
        write(1, 1, b'y', 1),
        sync(1, 3),
        sync_folder("", 1),
    ];

    assert_eq!(lost(changes), ["a=x"]);
}

#[test]
fn sync_after_a_failed_sync_does_not_write_what_was_dropped() {
    let failed = Change::FailedSync { inode: 1, before: 2 };
    let changes =
        vec![create("a", 1), write(1, 0, b'x', 2), failed, write(1, 1, b'y', 1), sync(1, 4), sync_folder("", 1)];

    assert_eq!(lost(changes.clone()), ["a=.y"]);
    assert_eq!(kept(changes), ["a=xy"]);
}

#[test]
fn rename_within_a_folder_is_one_change() {
    let changes = [create("a", 1), sync_folder("", 1), rename("a", "b")];

    assert_eq!(lost(changes.to_vec()), ["a="]);
    assert_eq!(lost([changes.as_slice(), &[sync_folder("", 3)]].concat()), ["b="]);
    for seed in 0..20 {
        let names = left(changes.to_vec(), Variant::Torn, seed);
        assert!(names == ["a="] || names == ["b="], "{names:?}");
    }
}

#[test]
fn rename_to_another_folder_needs_both_syncs() {
    let changes = [folder("d"), create("a", 1), sync_folder("", 2), rename("a", "d/a")];

    assert_eq!(lost(changes.to_vec()), ["a=", "d/"]);
    assert_eq!(lost([changes.as_slice(), &[sync_folder("d", 4)]].concat()), ["a=", "d/", "d/a="]);
    assert_eq!(lost([changes.as_slice(), &[sync_folder("", 4), sync_folder("d", 4)]].concat()), ["d/", "d/a="]);
}

#[test]
fn file_in_a_lost_folder_is_lost() {
    let changes = vec![folder("d"), create("d/a", 1), sync_folder("d", 2)];

    assert_eq!(lost(changes), [""; 0]);
}

#[test]
fn unsynced_removal_comes_back_although_its_inode_is_used_again() {
    let changes = vec![
        create("a", 1),
        write(1, 0, b'x', 1),
        sync(1, 2),
        sync_folder("", 1),
        Change::Remove { path: "a".into() },
        create("b", 1),
        write(1, 0, b'y', 1),
    ];

    assert_eq!(lost(changes.clone()), ["a=x"]);
    assert_eq!(kept(changes), ["b=y"]);
}

#[test]
fn platform_loses_nothing() {
    let changes = vec![folder("sandbox"), create("sandbox/j", 1), write(1, 0, b'x', 1), create("a", 2)];

    assert_eq!(lost(changes), ["sandbox/", "sandbox/j=x"]);
}

#[test]
fn torn_write_has_whole_sectors() {
    let changes = vec![
        create("a", 1),
        write(1, 0, b'x', 1024),
        write(1, 1024, b'x', 512),
        sync_folder("", 1),
        sync(1, 3),
        write(1, 256, b'y', 1024),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..100 {
        let found = left(changes.clone(), Variant::Torn, seed).concat();
        let letters: Vec<_> = found.trim_start_matches("a=").bytes().collect();
        assert!(letters[..256].iter().chain(&letters[1280..]).all(|it| *it == b'x'));
        for sector in [256..512, 512..1024, 1024..1280] {
            assert!(letters[sector.clone()].iter().all(|it| *it == letters[sector.start]), "{sector:?}");
        }
        seen.insert([letters[256], letters[512], letters[1024]]);
    }

    assert_eq!(seen.len(), 8, "every combination of three sectors");
}

#[test]
fn torn_names_are_the_first_changes() {
    let changes = vec![create("a", 1), create("b", 2), create("c", 3)];

    for seed in 0..20 {
        let names = left(changes.clone(), Variant::Torn, seed).concat();
        assert!("a=b=c=".starts_with(&names), "{names}");
    }
}

#[test]
fn log_without_syncs_loses_everything() {
    let changes = vec![create("a", 1), write(1, 0, b'x', 1), sync(1, 2), sync_folder("", 1)];
    let log = log(changes).without_syncs();
    let mut replay = Replay::new(&log);
    replay.advance(log.records.len()).unwrap();

    assert!(replay.after_power_cut(Variant::Lost, 1).is_empty());
}
