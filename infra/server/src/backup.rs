//! Backups: one encrypted file with the database and all media files, made while the service runs.
//!
//! The file is a tar archive in sealed pieces. It does not have the sealing key, without which nobody can
//! read it.

mod bucket;
mod sealed_stream;

use std::collections::HashSet;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use domain::clock::Clock;
use dynoxide::Database;
use serde::{Deserialize, Serialize};

use crate::data_folder::{DATABASE, FILES, FORMAT, read_move};
use crate::error::ServerError;
use crate::sealing_key::SealingKey;

pub use bucket::{BucketTarget, back_up_to_bucket};
pub(crate) use sealed_stream::{SealedReader, SealedWriter};

pub(crate) const MANIFEST: &str = "manifest.json";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: u32,
    /// Includes everything that was written before.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub(crate) at: DateTime<Utc>,
}

pub fn back_up_into(data: &Path, key: &SealingKey, target: &Path, clock: &Clock) -> Result<PathBuf, ServerError> {
    let name = file_name(clock);
    let (path, part) = (target.join(&name), target.join(format!("{name}.part")));
    let failed = |source| ServerError::File { path: part.clone(), source };
    std::fs::create_dir_all(target).map_err(failed)?;
    let file = File::create(&part).map_err(failed)?;
    let written = back_up(data, key, BufWriter::new(file), clock).and_then(|output| {
        let finish = || -> std::io::Result<()> {
            output.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
            std::fs::rename(&part, &path)?;
            File::open(target)?.sync_all()
        };
        finish().map_err(failed)
    });
    if written.is_err() {
        // The error that is returned says what failed.
        let _ = std::fs::remove_file(&part);
    }
    written.map(|()| path)
}

fn file_name(clock: &Clock) -> String {
    format!("social-{}.backup", clock.now().format("%Y%m%dT%H%M%SZ"))
}

pub fn back_up<W: Write>(data: &Path, key: &SealingKey, output: W, clock: &Clock) -> Result<W, ServerError> {
    // After a move, the stack publishes, and a restore would not know since when.
    if let Some(moving) = read_move(data, key)? {
        return Err(ServerError::Moved(data.to_owned(), moving));
    }
    let failed = |source| ServerError::File { path: data.to_owned(), source };
    let scratch = Scratch::new(data).map_err(failed)?.ok_or(ServerError::BackupRuns)?;
    let mut archive = tar::Builder::new(SealedWriter::new(output, key).map_err(failed)?);
    archive.follow_symlinks(false);
    let mut copied = HashSet::new();
    // Twice, because the database must not name a file that the archive lacks: one that is deleted meanwhile is
    // in the first round, and one that is new in the second.
    append_files(&mut archive, data, &mut copied).map_err(failed)?;
    let manifest = Manifest { format: FORMAT, at: clock.now() };
    let snapshot = scratch.folder.join(DATABASE);
    copy_database(&data.join(DATABASE), &snapshot)?;
    archive.append_path_with_name(&snapshot, DATABASE).map_err(failed)?;
    append_files(&mut archive, data, &mut copied).map_err(failed)?;
    let json = serde_json::to_vec(&manifest).map_err(|error| failed(error.into()))?;
    let mut header = tar::Header::new_gnu();
    header.set_size(json.len() as u64);
    header.set_mode(0o600);
    archive.append_data(&mut header, MANIFEST, &*json).map_err(failed)?;
    archive.into_inner().and_then(SealedWriter::finish).map_err(failed)
}

/// The folder for the copy of the database, which is not encrypted. One backup at a time has it.
struct Scratch {
    folder: PathBuf,
    _lock: File,
}

impl Scratch {
    /// `None` if another backup is running.
    fn new(data: &Path) -> std::io::Result<Option<Self>> {
        let lock = File::create(data.join("backup.lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let folder = data.join("backup");
        // Of a backup that was killed.
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Some(Self { folder, _lock: lock }))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next backup removes what is left.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A connection of its own, so that the service is not held up: readers and writers of a database in
/// write-ahead mode do not wait for each other.
fn copy_database(from: &Path, to: &Path) -> Result<(), ServerError> {
    let failed = |error: dynoxide::DynoxideError| ServerError::Database(error.to_string());
    let database = Database::new(&from.to_string_lossy()).map_err(failed)?;
    database.vacuum_into(&to.to_string_lossy()).map_err(failed)
}

fn append_files<W: Write>(
    archive: &mut tar::Builder<W>,
    data: &Path,
    copied: &mut HashSet<PathBuf>,
) -> std::io::Result<()> {
    let mut folders = vec![data.join(FILES)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            let is_partial = entry.file_name().to_string_lossy().starts_with(".tmp.");
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if !is_partial && !copied.contains(&path) {
                let name = path.strip_prefix(data).map_err(std::io::Error::other)?;
                match File::open(&path) {
                    Ok(mut file) => archive.append_file(name, &mut file)?,
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
                copied.insert(path);
            }
        }
    }
    Ok(())
}
