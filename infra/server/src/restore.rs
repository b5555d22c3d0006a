//! Restores a backup into an empty data folder. What the service published after the backup is public, so
//! every unfinished delivery is marked before the folder can be used.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use chrono::{DateTime, Utc};
use domain::clock::Clock;

use crate::backup::{MANIFEST, Manifest, SealedReader};
use crate::data_folder::{DATABASE, FILES, FORMAT, UNFINISHED_RESTORE, lock, read_move, write_instance};
use crate::database::Stores;
use crate::error::ServerError;
use crate::sealing_key::SealingKey;
use crate::sync::sync_file_system;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Later writes are lost.
    pub backup_at: DateTime<Utc>,
    /// The number of deliveries that are looked up before anything is published.
    pub looked_up: usize,
}

/// Restores a backup into `data`, which is empty or has only the sealing key.
pub async fn restore(
    data: &Path,
    key: Option<SealingKey>,
    backup: &Path,
    clock: &Clock,
) -> Result<Restored, ServerError> {
    let _lock = lock(data)?;
    let failed = |source| ServerError::File { path: data.to_owned(), source };
    let unfinished = data.join(UNFINISHED_RESTORE);
    if unfinished.exists() {
        remove_unfinished(data, &unfinished).map_err(failed)?;
    }
    for entry in std::fs::read_dir(data).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if !["lock", "sealing.key"].iter().any(|it| *it == name) {
            return Err(ServerError::NotEmpty(data.to_owned()));
        }
    }
    let key = SealingKey::given_or_stored(key, data)?;
    std::fs::create_dir(&unfinished).map_err(failed)?;
    let manifest = unpack(backup, &key, &unfinished)?;
    let looked_up = mark(&unfinished, manifest.at, clock).await?;
    for entry in std::fs::read_dir(&unfinished).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        std::fs::rename(entry.path(), data.join(entry.file_name())).map_err(failed)?;
    }
    std::fs::remove_dir(&unfinished).map_err(failed)?;
    sync_file_system(data).map_err(failed)?;
    write_instance(data, &key)?;
    Ok(Restored { backup_at: manifest.at, looked_up })
}

/// Removes what a restore that was cut off has unpacked and moved. It began with an empty folder, so the
/// database and the files are those of a backup. Its own folder goes last: until then, it shows what happened.
fn remove_unfinished(data: &Path, unfinished: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(data)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(DATABASE) {
            std::fs::remove_file(entry.path())?;
        } else if entry.file_name() == FILES {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    std::fs::remove_dir_all(unfinished)
}

/// Makes a data folder usable that was copied back by hand, with all its files, as of `backup_at`.
pub async fn restore_in_place(
    data: &Path,
    key: Option<SealingKey>,
    backup_at: DateTime<Utc>,
    clock: &Clock,
) -> Result<Restored, ServerError> {
    let _lock = lock(data)?;
    let path = data.join(DATABASE);
    if !path.exists() {
        return Err(ServerError::NoData(data.to_owned()));
    }
    if clock.now() < backup_at {
        return Err(ServerError::Future(backup_at));
    }
    let key = SealingKey::given_or_stored(key, data)?;
    // What was published since a move began, the stack may have published.
    let moving_since = read_move(data, &key)?.map(|it| it.since);
    let backup_at = moving_since.map_or(backup_at, |it| it.min(backup_at));
    let looked_up = mark(data, backup_at, clock).await?;
    write_instance(data, &key)?;
    Ok(Restored { backup_at, looked_up })
}

fn unpack(backup: &Path, key: &SealingKey, folder: &Path) -> Result<Manifest, ServerError> {
    let invalid = |reason: String| ServerError::Backup { path: backup.to_owned(), reason };
    let unpacked = || -> std::io::Result<Manifest> {
        let reader = SealedReader::new(BufReader::new(File::open(backup)?), key)?;
        let mut archive = tar::Archive::new(reader);
        archive.set_mask(0o077);
        archive.unpack(folder)?;
        // The archive ends before its last piece, which shows that nothing is missing.
        std::io::copy(&mut archive.into_inner(), &mut std::io::sink())?;
        let path = folder.join(MANIFEST);
        let manifest = serde_json::from_slice(&std::fs::read(&path)?)?;
        std::fs::remove_file(path)?;
        Ok(manifest)
    };
    let manifest = unpacked().map_err(|error| invalid(error.to_string()))?;
    if FORMAT < manifest.format {
        return Err(ServerError::NewerFormat { path: backup.to_owned(), found: manifest.format, known: FORMAT });
    }
    Ok(manifest)
}

async fn mark(folder: &Path, backup_at: DateTime<Utc>, clock: &Clock) -> Result<usize, ServerError> {
    Ok(Stores::offline(folder).await?.mark_restored(backup_at, clock.now()).await?)
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use storage::Store;
    use tempfile::TempDir;

    use super::*;
    use crate::backup::back_up_into;
    use crate::data_folder::DataFolder;

    async fn store(folder: &Path) -> Store {
        Stores::offline(folder).await.unwrap()
    }

    #[tokio::test]
    async fn running_folder_is_backed_up_and_restored() {
        let (data, target, empty) = (TempDir::new().unwrap(), TempDir::new().unwrap(), TempDir::new().unwrap());
        let clock = Clock::manual(noon());
        let running = DataFolder::open(data.path(), None).unwrap();
        let in_use = store(data.path()).await;
        in_use.set_planned_until(noon()).await.unwrap();
        let media = data.path().join(FILES).join("bucket/media/7");
        std::fs::create_dir_all(&media).unwrap();
        std::fs::write(media.join("42.png"), "a picture").unwrap();

        let backup = back_up_into(data.path(), running.key(), target.path(), &clock).unwrap();
        in_use.set_planned_until(noon() + chrono::TimeDelta::hours(1)).await.unwrap();
        let without_key = restore(empty.path(), None, &backup, &clock).await;
        std::fs::copy(data.path().join("sealing.key"), empty.path().join("sealing.key")).unwrap();
        let restored = restore(empty.path(), None, &backup, &clock).await.unwrap();
        let again = restore(empty.path(), None, &backup, &clock).await;

        assert!(matches!(without_key, Err(ServerError::NoKey(_))), "{without_key:?}");
        assert!(matches!(again, Err(ServerError::NotEmpty(_))), "{again:?}");
        assert_eq!(restored, Restored { backup_at: noon(), looked_up: 0 });
        let opened = DataFolder::open(empty.path(), None).unwrap();
        assert_eq!(store(opened.path()).await.planned_until().await.unwrap(), Some(noon()));
        assert_eq!(std::fs::read(empty.path().join(FILES).join("bucket/media/7/42.png")).unwrap(), b"a picture");
        let plain = std::fs::read(&backup).unwrap();
        assert!(!plain.windows(9).any(|it| it == b"a picture"), "a backup is encrypted");
    }

    #[tokio::test]
    async fn incomplete_backup_leaves_an_unusable_folder() {
        let (data, target, empty) = (TempDir::new().unwrap(), TempDir::new().unwrap(), TempDir::new().unwrap());
        let clock = Clock::manual(noon());
        let running = DataFolder::open(data.path(), None).unwrap();
        drop(store(data.path()).await);
        std::fs::create_dir_all(data.path().join(FILES)).unwrap();
        let backup = back_up_into(data.path(), running.key(), target.path(), &clock).unwrap();
        let bytes = std::fs::read(&backup).unwrap();
        std::fs::write(&backup, &bytes[..bytes.len() - 100]).unwrap();
        std::fs::copy(data.path().join("sealing.key"), empty.path().join("sealing.key")).unwrap();

        let cut_off = restore(empty.path(), None, &backup, &clock).await;

        assert!(matches!(cut_off, Err(ServerError::Backup { .. })), "{cut_off:?}");
        assert!(!empty.path().join(DATABASE).exists());
        let unfinished = DataFolder::open(empty.path(), None);
        assert!(matches!(unfinished, Err(ServerError::UnfinishedRestore(_))), "{unfinished:?}");
        // Another one was cut off while it moved what it had unpacked.
        std::fs::create_dir_all(empty.path().join(FILES).join("bucket")).unwrap();
        std::fs::write(empty.path().join("dynamodb.sqlite-wal"), "half").unwrap();
        std::fs::write(&backup, &bytes).unwrap();
        restore(empty.path(), None, &backup, &clock).await.unwrap();
        DataFolder::open(empty.path(), None).unwrap();
    }

    #[tokio::test]
    async fn copied_folder_is_usable_after_its_restore() {
        let data = TempDir::new().unwrap();
        let clock = Clock::manual(noon());
        drop(DataFolder::open(data.path(), None).unwrap());
        drop(store(data.path()).await);
        std::fs::remove_file(data.path().join("instance.json")).unwrap();

        assert!(matches!(DataFolder::open(data.path(), None), Err(ServerError::NotRestored(_))));
        let future = noon() + chrono::TimeDelta::seconds(1);
        let refused = restore_in_place(data.path(), None, future, &clock).await;
        assert!(matches!(refused, Err(ServerError::Future(_))), "{refused:?}");
        restore_in_place(data.path(), None, noon(), &clock).await.unwrap();
        DataFolder::open(data.path(), None).unwrap();
    }
}
