//! Builds the data folder that a power cut leaves.
//!
//! A file's data are on the disk once the file is synced, and its name once its folder is. What is
//! not synced may be on the disk or not: see [`Variant`].

mod file;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
};

use self::file::File;
use super::{
    log::{Change, Log},
    rng::Rng,
};

/// The rest of the changes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// All of them, as after a crash of the process.
    Kept,
    /// None of them.
    Lost,
    /// Each sector of 512 bytes or not, and the first changes of names.
    Torn,
}

impl Variant {
    pub(super) const ALL: [Self; 3] = [Self::Kept, Self::Lost, Self::Torn];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// Index in [`Replay::files`].
    File(usize),
    Folder,
}

type Names = BTreeMap<PathBuf, Entry>;

/// A name and its new entry; `None` removes the name.
type NameChange = (PathBuf, Option<Entry>);

/// The data folder after the first records of a log.
pub(super) struct Replay<'a> {
    log: &'a Log,
    /// Number of applied records.
    done: usize,
    files: Vec<File>,
    /// By current inode.
    by_inode: HashMap<u64, usize>,
    names: Names,
    synced_names: Names,
    /// Not synced, with the index of their record.
    pending_names: Vec<(usize, Vec<NameChange>)>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(log: &'a Log) -> Self {
        let (files, by_inode, pending_names) = (Vec::new(), HashMap::new(), Vec::new());
        Self { log, done: 0, files, by_inode, names: Names::new(), synced_names: Names::new(), pending_names }
    }

    /// `count` includes the records that are applied already.
    pub(super) fn advance(&mut self, count: usize) -> io::Result<()> {
        let log = self.log;
        for record in log.records.iter().take(count).skip(self.done) {
            self.apply(&record.change)?;
            self.done += 1;
        }
        Ok(())
    }

    fn apply(&mut self, change: &Change) -> io::Result<()> {
        let (index, log) = (self.done, self.log);
        match change {
            Change::Create { path, inode } => {
                self.by_inode.insert(*inode, self.files.len());
                let entry = Entry::File(self.files.len());
                self.files.push(File::default());
                self.change_names(vec![(path.clone(), Some(entry))]);
            }
            Change::Resize { inode, size_bytes } => self.file(*inode)?.resize(index, *size_bytes)?,
            Change::Write { inode, offset, data } => {
                self.file(*inode)?.write(index, *offset, &log.bytes[data.clone()])?;
            }
            Change::Sync { inode, before } => self.file(*inode)?.sync(*before),
            Change::FailedSync { inode, before } => self.file(*inode)?.drop_pending(*before),
            Change::SyncFolder { path, before } => self.sync_folder(path, *before),
            Change::SyncAll { before } => self.sync_all(*before),
            Change::Rename { from, to } => {
                let entry = self.entry(from)?;
                if entry == Entry::Folder {
                    return Err(io::Error::other(format!("{} is renamed, which is not replayed", from.display())));
                }
                self.change_names(vec![(to.clone(), Some(entry)), (from.clone(), None)]);
            }
            Change::Remove { path } => self.change_names(vec![(path.clone(), None)]),
            Change::Folder { path } => self.change_names(vec![(path.clone(), Some(Entry::Folder))]),
            Change::Link { from, to } => {
                let entry = self.entry(from)?;
                self.change_names(vec![(to.clone(), Some(entry))]);
            }
        }
        Ok(())
    }

    fn file(&mut self, inode: u64) -> io::Result<&mut File> {
        let index = self.by_inode.get(&inode).copied();
        let file = index.and_then(|index| self.files.get_mut(index));
        file.ok_or_else(|| io::Error::other(format!("the log has no creation of inode {inode}")))
    }

    fn entry(&self, path: &Path) -> io::Result<Entry> {
        let unknown = || io::Error::other(format!("the log has no creation of {}", path.display()));
        self.names.get(path).copied().ok_or_else(unknown)
    }

    fn change_names(&mut self, changes: Vec<NameChange>) {
        apply_names(&mut self.names, &changes);
        self.pending_names.push((self.done, changes));
    }

    fn sync_folder(&mut self, folder: &Path, before: usize) {
        for (_, changes) in self.pending_names.iter_mut().filter(|(index, _)| *index < before) {
            let is_synced = |change: &NameChange| change.0.parent() == Some(folder);
            let (synced, pending): (Vec<_>, Vec<_>) = std::mem::take(changes).into_iter().partition(is_synced);
            apply_names(&mut self.synced_names, &synced);
            *changes = pending;
        }
        self.pending_names.retain(|(_, changes)| !changes.is_empty());
    }

    fn sync_all(&mut self, before: usize) {
        for file in &mut self.files {
            file.sync(before);
        }
        for (_, changes) in self.pending_names.iter().filter(|(index, _)| *index < before) {
            apply_names(&mut self.synced_names, changes);
        }
        self.pending_names.retain(|(index, _)| before <= *index);
    }

    /// `to` is an empty folder.
    pub(super) fn write_to(&self, to: &Path, variant: Variant, seed: u64) -> io::Result<()> {
        // A folder comes before what is in it.
        for (path, data) in self.after_power_cut(variant, seed) {
            match data {
                Some(data) => fs::write(to.join(path), data)?,
                None => fs::create_dir(to.join(path))?,
            }
        }
        Ok(())
    }

    /// `None` for a folder.
    pub(super) fn after_power_cut(&self, variant: Variant, seed: u64) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut rng = Rng::new(seed);
        let mut names = if variant == Variant::Kept { self.names.clone() } else { self.synced_names.clone() };
        if variant == Variant::Torn {
            let count = rng.below(self.pending_names.len() + 1);
            for (_, changes) in self.pending_names.iter().take(count) {
                apply_names(&mut names, changes);
            }
        }
        names.retain(|path, _| !is_always_kept(path));
        names.extend(self.names.iter().filter(|(path, _)| is_always_kept(path)).map(|(path, it)| (path.clone(), *it)));

        let mut left = BTreeMap::from([(PathBuf::new(), None)]);
        for (path, entry) in names {
            // An entry of a folder that is not on the disk cannot be reached.
            let is_reachable = path.parent().and_then(|it| left.get(it)).is_some_and(Option::is_none);
            if is_reachable {
                let variant = if is_always_kept(&path) { Variant::Kept } else { variant };
                let data = match entry {
                    Entry::Folder => None,
                    Entry::File(index) => Some(self.files[index].after_power_cut(variant, &mut rng)),
                };
                left.insert(path, data);
            }
        }
        left.remove(Path::new(""));
        left
    }
}

/// Whether the file belongs to the platform, which loses nothing.
fn is_always_kept(path: &Path) -> bool {
    path.starts_with("sandbox")
}

fn apply_names(names: &mut Names, changes: &[NameChange]) {
    for (path, entry) in changes {
        match entry {
            Some(entry) => names.insert(path.clone(), *entry),
            None => names.remove(path),
        };
    }
}
