//! The archive of an export, and the folder in which it grows.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{BufWriter, IntoInnerError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use crate::error::CliError;
use crate::output::notice;

/// `FILE.partial`, which only this user can read, locked against a second export.
pub(super) struct Partial {
    folder: PathBuf,
    /// A folder for each profile, so that an archive never gets files of another one.
    of_profile: PathBuf,
    _lock: File,
}

impl Partial {
    pub(super) fn open(archive: &Path, profile: u64) -> Result<Self, CliError> {
        let mut folder = archive.as_os_str().to_owned();
        folder.push(".partial");
        let folder = PathBuf::from(folder);
        let failed = |error: &dyn std::fmt::Display| CliError::Failed(format!("{}: {error}", folder.display()));
        let of_profile = folder.join(profile.to_string());
        let create = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        create(&of_profile.join("files")).map_err(|it| failed(&it))?;
        let lock = File::create(folder.join("lock")).map_err(|it| failed(&it))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, of_profile, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(failed(&"another export to this file is running")),
            Err(TryLockError::Error(error)) => Err(failed(&error)),
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.of_profile.join(name)
    }

    /// Removes the folder. Returns the size of the archive in bytes.
    pub(super) fn pack<'a>(self, names: impl Iterator<Item = &'a str>, archive: &Path) -> Result<u64, CliError> {
        let part = TempPath::try_from_path(self.path("archive"))?;
        let out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        let mut builder = tar::Builder::new(BufWriter::new(out));
        // Without the name and the times of the user who exports.
        builder.mode(tar::HeaderMode::Deterministic);
        for name in names {
            builder.append_path_with_name(self.path(name), name)?;
        }
        let out = builder.into_inner()?.into_inner().map_err(IntoInnerError::into_error)?;
        out.sync_all()?;
        let size = out.metadata()?.len();
        // Never replaces an archive that another program has created meanwhile.
        part.persist_noclobber(archive)
            .map_err(|it| CliError::Failed(format!("{}: {}", archive.display(), it.error)))?;
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            notice(&format!("the archive is complete; remove {} yourself: {error}", self.folder.display()));
        }
        Ok(size)
    }
}
