//! Records a service at work: every change of its data folder, and what its responses promised.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use futures::future::try_join_all;
use serde_json::Value;

use super::{
    faulty_disk::{FaultyDisk, Shim},
    log::Log,
    replay::{Replay, Variant},
};
use crate::{
    deployment::{Deployment, User},
    ensure,
    error::{Result, TestError},
    picture,
    promises::{self, PromisedPost, count_acknowledged},
};

const POSTS: u32 = 60;
const WRITERS: u32 = 4;

/// Pause of a writer, so that few deliveries are in flight at a cut.
const PAUSE: Duration = Duration::from_millis(250);

/// A value, and the length of the log when the response with it arrived.
#[derive(Clone, Debug)]
pub(super) struct Promised<T> {
    pub(super) at: u64,
    pub(super) value: T,
}

#[derive(Clone, Debug)]
pub(super) struct Upload {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(super) struct Promises {
    pub(super) token: Promised<String>,
    pub(super) connections: Vec<Promised<Value>>,
    pub(super) uploads: Vec<Promised<Upload>>,
    pub(super) posts: Vec<PromisedPost>,
}

impl Promises {
    /// With two connected accounts.
    pub(super) async fn of_new_user<'a>(
        deployment: &'a Deployment,
        disk: &FaultyDisk,
    ) -> Result<(User<'a>, [Value; 2], Self)> {
        let mut user = deployment.new_user().await?;
        let token = Promised { at: disk.position(), value: user.api.token().to_owned() };
        let first = user.connect(0).await?;
        let connections = vec![Promised { at: disk.position(), value: first.clone() }];
        let second = user.connect(1).await?;
        let mut promises = Self { token, connections, uploads: Vec::new(), posts: Vec::new() };
        promises.connections.push(Promised { at: disk.position(), value: second.clone() });
        Ok((user, [first, second], promises))
    }

    /// Successful responses.
    pub(super) fn count(&self) -> usize {
        1 + self.connections.len() + self.uploads.len() + count_acknowledged(&self.posts)
    }
}

pub(super) struct Recording {
    pub(super) log: Log,
    pub(super) promises: Promises,
}

/// Kills the stack once all posts have ended.
pub(super) async fn record(shim: &Shim) -> Result<Recording> {
    let disk = FaultyDisk::new(shim)?;
    let harness = disk.start().await?;
    let deployment = Deployment::new(harness.ready().clone()).await?;
    let (user, [a, b], mut promises) = Promises::of_new_user(&deployment, &disk).await?;
    for shade in 0..3 {
        promises.uploads.push(upload(&user, &disk, shade).await?);
    }

    let later_uploads = async {
        let mut uploads = Vec::new();
        for shade in 3..9 {
            tokio::time::sleep(2 * PAUSE).await;
            uploads.push(upload(&user, &disk, shade).await?);
        }
        Ok::<_, TestError>(uploads)
    };
    let (posts, uploads) = futures::try_join!(write_posts(&user, &disk, [&a, &b], &promises.uploads), later_uploads)?;
    promises.posts.extend(posts);
    promises.uploads.extend(uploads);

    promises::wait_for_publishing(&user, Duration::from_mins(1)).await?;
    disk.wait_until_idle().await?;
    harness.kill()?;
    let log = disk.log()?;
    check_completeness(&log, disk.data())?;
    Ok(Recording { log, promises })
}

/// A different picture for each shade.
pub(super) async fn upload(user: &User<'_>, disk: &FaultyDisk, shade: u8) -> Result<Promised<Upload>> {
    let bytes = picture::png(64, 48, [shade, 120, 90]);
    let path = user.upload("image/png", &bytes).await?;
    Ok(Promised { at: disk.position(), value: Upload { path, bytes } })
}

/// Several writers run at once. Any request that fails is an error.
async fn write_posts(
    user: &User<'_>,
    disk: &FaultyDisk,
    on: [&Value; 2],
    uploads: &[Promised<Upload>],
) -> Result<Vec<PromisedPost>> {
    let next = AtomicU32::new(0);
    let writers = (0..WRITERS).map(|_| async {
        let mut posts = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if POSTS <= number {
                return Ok::<_, TestError>(posts);
            }
            let upload = &uploads[usize::try_from(number)? % uploads.len()].value;
            posts.push(promises::write_post(&user.api, on, &upload.path, number, &|| disk.position()).await?);
            tokio::time::sleep(PAUSE).await;
        }
    });
    Ok(try_join_all(writers).await?.into_iter().flatten().collect())
}

/// A replay of all records makes the folder as it is, so no change escaped the shim.
fn check_completeness(log: &Log, data: &Path) -> Result {
    let mut replay = Replay::new(log);
    replay.advance(log.records.len())?;
    let replayed = replay.after_power_cut(Variant::Kept, 0);
    let mut stored = BTreeMap::new();
    read_folder(data, data, &mut stored)?;
    // The index of the write-ahead log is written by mmap, and made again at the next start.
    let paths = replayed.keys().chain(stored.keys()).filter(|it| !it.to_string_lossy().ends_with("-shm"));
    let differing: Vec<_> = paths.filter(|it| replayed.get(*it) != stored.get(*it)).collect();
    ensure!(differing.is_empty(), "the log does not have all changes of {differing:?}");
    Ok(())
}

fn read_folder(root: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) -> Result {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.strip_prefix(root)?.to_owned();
        if path.is_dir() {
            found.insert(name, None);
            read_folder(root, &path, found)?;
        } else {
            found.insert(name, Some(fs::read(&path)?));
        }
    }
    Ok(())
}
