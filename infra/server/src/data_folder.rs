//! The folder of all data of one deployment. One process at a time has it.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use crate::begun_move::BegunMove;
use crate::error::ServerError;
use crate::sealing_key::SealingKey;
use crate::sync::write_durably;

/// A program refuses folders with a later format.
pub(crate) const FORMAT: u32 = 1;

pub(crate) const DATABASE: &str = "dynamodb.sqlite";

pub(crate) const FILES: &str = "media";

/// A restore that was cut off leaves this folder, and the next one replaces it.
pub(crate) const UNFINISHED_RESTORE: &str = "restoring";

/// The file that makes a folder usable. Backups do not have it, so a folder that was copied back by hand is
/// refused until its deliveries are marked as restored.
const INSTANCE: &str = "instance.json";

#[derive(Serialize, Deserialize)]
struct Instance {
    format: u32,
    key_check: String,
    /// Set if the folder is moved to AWS, or was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moving: Option<BegunMove>,
    /// The time up to which deliveries were planned at the last tick. That of the database is never earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    planned_until: Option<DateTime<Utc>>,
}

impl Instance {
    fn new(key: &SealingKey) -> Self {
        Self { format: FORMAT, key_check: check(key), moving: None, planned_until: None }
    }
}

/// An open data folder, locked until the last clone is dropped.
#[derive(Clone, Debug)]
pub struct DataFolder {
    path: PathBuf,
    key: Arc<SealingKey>,
    is_new: bool,
    has_new_key: bool,
    _lock: Arc<File>,
}

impl DataFolder {
    /// Creates a missing folder. Without `key`, the key is in the folder.
    pub fn open(path: &Path, key: Option<SealingKey>) -> Result<Self, ServerError> {
        let lock = lock(path)?;
        if path.join(UNFINISHED_RESTORE).exists() {
            return Err(ServerError::UnfinishedRestore(path.to_owned()));
        }
        let stored = read_instance(path)?;
        if let Some(moving) = stored.as_ref().and_then(|it| it.moving.clone()) {
            return Err(ServerError::Moved(path.to_owned(), moving));
        }
        match (&stored, path.join(DATABASE).exists()) {
            (None, true) => return Err(ServerError::NotRestored(path.to_owned())),
            (Some(Instance { planned_until: Some(_), .. }), false) => {
                return Err(ServerError::NoDatabase(path.to_owned()));
            }
            _ => {}
        }
        let (key, has_new_key) = match (key, SealingKey::read(path)?) {
            (Some(key), _) | (None, Some(key)) => (key, false),
            (None, None) if stored.is_none() => (SealingKey::create(path)?, true),
            (None, None) => return Err(ServerError::NoKey(path.to_owned())),
        };
        let is_new = stored.is_none();
        verify(path, stored.as_ref(), &key)?;
        if is_new {
            write_instance(path, &key)?;
        }
        Ok(Self { path: path.to_owned(), key: Arc::new(key), is_new, has_new_key, _lock: lock.into() })
    }

    /// Refuses a database that is older than its folder: it was copied back alone.
    pub(crate) fn check_database(&self, planned_until: Option<DateTime<Utc>>) -> Result<(), ServerError> {
        let recorded = read_instance(&self.path)?.and_then(|it| it.planned_until);
        if planned_until < recorded { Err(ServerError::NotRestored(self.path.clone())) } else { Ok(()) }
    }

    /// Records what the database has, for [`Self::check_database`] of a later start.
    pub(crate) fn record_planned_until(&self, until: Option<DateTime<Utc>>) -> Result<(), ServerError> {
        write(&self.path, &Instance { planned_until: until, ..Instance::new(&self.key) })
    }

    pub fn exists(path: &Path) -> bool {
        path.join(INSTANCE).exists()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn key(&self) -> &SealingKey {
        &self.key
    }

    /// Whether [`Self::open`] created the file with the key.
    pub fn has_new_key(&self) -> bool {
        self.has_new_key
    }

    /// Whether [`Self::open`] created the folder.
    pub fn is_new(&self) -> bool {
        self.is_new
    }
}

/// Checks the key and the format of a folder that has been used before.
pub(crate) fn read_move(path: &Path, key: &SealingKey) -> Result<Option<BegunMove>, ServerError> {
    let stored = read_instance(path)?;
    verify(path, stored.as_ref(), key)?;
    Ok(stored.and_then(|it| it.moving))
}

fn verify(path: &Path, stored: Option<&Instance>, key: &SealingKey) -> Result<(), ServerError> {
    match stored {
        Some(it) if FORMAT < it.format => {
            Err(ServerError::NewerFormat { path: path.to_owned(), found: it.format, known: FORMAT })
        }
        Some(it) if it.key_check != check(key) => Err(ServerError::OtherKey(path.to_owned())),
        _ => Ok(()),
    }
}

/// Creates a missing folder.
pub(crate) fn lock(path: &Path) -> Result<File, ServerError> {
    let failed = |source| ServerError::File { path: path.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let options = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).clone();
    let file = options.open(path.join("lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ServerError::InUse(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

pub(crate) fn write_instance(path: &Path, key: &SealingKey) -> Result<(), ServerError> {
    write(path, &Instance::new(key))
}

/// Makes the folder unusable for everything but this move, and `restore --in-place`.
pub(crate) fn write_move(path: &Path, key: &SealingKey, moving: &BegunMove) -> Result<(), ServerError> {
    write(path, &Instance { moving: Some(moving.clone()), ..Instance::new(key) })
}

fn write(path: &Path, instance: &Instance) -> Result<(), ServerError> {
    let file = path.join(INSTANCE);
    let written =
        serde_json::to_vec(instance).map_err(Into::into).and_then(|json| write_durably(path, INSTANCE, &json));
    written.map_err(|source| ServerError::File { path: file, source })
}

fn read_instance(path: &Path) -> Result<Option<Instance>, ServerError> {
    let file = path.join(INSTANCE);
    match std::fs::read(&file) {
        Ok(json) => match serde_json::from_slice(&json) {
            Ok(instance) => Ok(Some(instance)),
            Err(error) => Err(ServerError::File { path: file, source: error.into() }),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ServerError::File { path: file, source }),
    }
}

fn check(key: &SealingKey) -> String {
    key.derived_text("check").expose_secret().chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::noon;

    use super::*;

    #[test]
    fn one_process_has_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = DataFolder::open(folder.path(), None).unwrap();

        assert!(matches!(DataFolder::open(folder.path(), None), Err(ServerError::InUse(_))));
        assert!(first.is_new());
        drop(first);
        assert!(!DataFolder::open(folder.path(), None).unwrap().is_new());
    }

    #[test]
    fn copied_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(DATABASE), "").unwrap();

        assert!(matches!(DataFolder::open(folder.path(), None), Err(ServerError::NotRestored(_))));
    }

    #[test]
    fn older_or_missing_database_is_refused() {
        let path = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(path.path(), None).unwrap();
        folder.check_database(None).unwrap();
        folder.record_planned_until(Some(noon())).unwrap();

        folder.check_database(Some(noon())).unwrap();
        for older in [Some(noon() - TimeDelta::milliseconds(1)), None] {
            assert!(matches!(folder.check_database(older), Err(ServerError::NotRestored(_))), "{older:?}");
        }
        let key = SealingKey::read(path.path()).unwrap();
        drop(folder);
        let missing = DataFolder::open(path.path(), None);
        assert!(matches!(missing, Err(ServerError::NoDatabase(_))), "{missing:?}");
        write_instance(path.path(), &key.unwrap()).unwrap();
        DataFolder::open(path.path(), None).unwrap().check_database(None).unwrap();
    }

    #[test]
    fn later_format_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        drop(DataFolder::open(folder.path(), None).unwrap());
        let file = folder.path().join(INSTANCE);
        let later = std::fs::read_to_string(&file).unwrap().replace("\"format\":1", "\"format\":2");
        std::fs::write(&file, later).unwrap();

        let refused = DataFolder::open(folder.path(), None);
        assert!(matches!(refused, Err(ServerError::NewerFormat { found: 2, .. })), "{refused:?}");
    }

    #[test]
    fn folder_needs_its_own_key() {
        let folder = tempfile::tempdir().unwrap();
        drop(DataFolder::open(folder.path(), None).unwrap());

        let other = DataFolder::open(folder.path(), Some(SealingKey::random()));
        assert!(matches!(other, Err(ServerError::OtherKey(_))), "{other:?}");
        std::fs::remove_file(folder.path().join("sealing.key")).unwrap();
        assert!(matches!(DataFolder::open(folder.path(), None), Err(ServerError::NoKey(_))));
    }
}
