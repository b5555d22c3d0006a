//! The log that `tests/durability/faults.c` writes: every change of the data folder, in order.

use std::{
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

const HEADER_BYTES: usize = 32;

/// Paths are relative to the data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A new file; its inode may have been that of a deleted file.
    Create {
        path: PathBuf,
        inode: u64,
    },
    Resize {
        inode: u64,
        size_bytes: u64,
    },
    /// `data` is a range of [`Log::bytes`].
    Write {
        inode: u64,
        offset: u64,
        data: Range<usize>,
    },
    /// Only changes of the first `before` records are on the disk.
    Sync {
        inode: u64,
        before: usize,
    },
    /// The kernel drops what it could not write, and a later sync does not report it again.
    FailedSync {
        inode: u64,
        before: usize,
    },
    /// The entries of this folder are on the disk; `before` as in [`Change::Sync`].
    SyncFolder {
        path: PathBuf,
        before: usize,
    },
    /// Everything is on the disk; `before` as in [`Change::Sync`].
    SyncAll {
        before: usize,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    /// A file or an empty folder.
    Remove {
        path: PathBuf,
    },
    Folder {
        path: PathBuf,
    },
    Link {
        from: PathBuf,
        to: PathBuf,
    },
}

impl Change {
    pub(super) fn is_sync(&self) -> bool {
        matches!(self, Self::Sync { .. } | Self::FailedSync { .. } | Self::SyncFolder { .. } | Self::SyncAll { .. })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) change: Change,
    /// In bytes, with this record.
    pub(super) end: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub(super) bytes: Vec<u8>,
    pub(super) records: Vec<Record>,
}

impl Log {
    /// Reads a log. A partial record at its end, which a killed process leaves, is ignored.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let mut log = Self { bytes: fs::read(path)?, records: Vec::new() };
        let mut start = 0;
        while let Some((change, end)) = parse(&log.bytes, start)? {
            log.records.push(Record { change, end: u64::try_from(end).map_err(io::Error::other)? });
            start = end;
        }
        Ok(log)
    }

    /// The log of a store that never syncs.
    #[must_use]
    pub(super) fn without_syncs(&self) -> Self {
        let records = self.records.iter().filter(|it| !it.change.is_sync()).cloned().collect();
        Self { bytes: self.bytes.clone(), records }
    }

    pub(super) fn count_until(&self, position: u64) -> usize {
        self.records.partition_point(|it| it.end <= position)
    }

    /// The length after the first `count` records, in bytes.
    pub(super) fn position(&self, count: usize) -> u64 {
        count.checked_sub(1).and_then(|last| self.records.get(last)).map_or(0, |it| it.end)
    }
}

/// The record at `start` and the start of the next one; `None` at the end.
fn parse(bytes: &[u8], start: usize) -> io::Result<Option<(Change, usize)>> {
    let Some(header) = bytes.get(start..start + HEADER_BYTES) else { return Ok(None) };
    let short = |at: usize| -> io::Result<usize> {
        let field = header[at..at + 4].try_into().map_err(io::Error::other)?;
        usize::try_from(u32::from_le_bytes(field)).map_err(io::Error::other)
    };
    let long = |at: usize| -> io::Result<u64> {
        Ok(u64::from_le_bytes(header[at..at + 8].try_into().map_err(io::Error::other)?))
    };
    let (end, kind, inode, number) = (start + short(0)?, short(4)?, long(8)?, long(16)?);
    if bytes.len() < end {
        return Ok(None);
    }
    let path_start = start + HEADER_BYTES;
    let other_start = path_start + short(24)?;
    let data_start = other_start + short(28)?;
    if end < data_start {
        return Err(io::Error::other(format!("the record at {start} is shorter than its paths")));
    }
    let path_in = |range: Range<usize>| PathBuf::from(String::from_utf8_lossy(&bytes[range]).into_owned());
    let (path, other) = (path_in(path_start..other_start), path_in(other_start..data_start));
    let before = || usize::try_from(number).map_err(io::Error::other);
    let change = match kind {
        1 => Change::Create { path, inode },
        2 => Change::Resize { inode, size_bytes: number },
        3 => Change::Write { inode, offset: number, data: data_start..end },
        4 => Change::Sync { inode, before: before()? },
        5 => Change::FailedSync { inode, before: before()? },
        6 => Change::SyncFolder { path, before: before()? },
        7 => Change::Rename { from: path, to: other },
        8 => Change::Remove { path },
        9 => Change::Folder { path },
        10 => Change::Link { from: path, to: other },
        11 => Change::SyncAll { before: before()? },
        _ => return Err(io::Error::other(format!("the record at {start} has the unknown kind {kind}"))),
    };
    Ok(Some((change, end)))
}
