//! Lets fsync fail for a while. What was written then may never reach the disk.

use std::time::{Duration, Instant};

use futures::future::try_join;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    faulty_disk::{FaultyDisk, Shim},
    log::Log,
    measured::Measured,
    recording::{Promised, Promises, Upload, upload},
    replay::{Replay, Variant},
    restart,
};
use crate::{
    deployment::{Deployment, User},
    ensure,
    error::Result,
    http_response::text,
    picture,
    promises::{self, Broken, write_post},
};

const LASTS: Duration = Duration::from_secs(6);

/// Longer than the lease of a delivery whose result could not be stored, 90 s.
const PUBLISH_TIMEOUT: Duration = Duration::from_mins(4);

pub(super) async fn check(shim: &Shim) -> Result<Measured> {
    let disk = FaultyDisk::new(shim)?;
    let harness = disk.start().await?;
    let deployment = Deployment::new(harness.ready().clone()).await?;
    let (user, accounts, mut promises) = Promises::of_new_user(&deployment, &disk).await?;
    let mut writer = Writer { user: &user, disk: &disk, accounts: &accounts, number: 0 };

    writer.write(&mut promises, 8).await?;
    let mut targets = Vec::new();
    for _ in 0..3 {
        targets.push(user.api.post("/media", &json!({ "mime_type": "image/png" })).await?.ok(201)?);
    }
    disk.inject("eio-fsync")?;
    for (shade, target) in [251, 252, 253].into_iter().zip(&targets) {
        let bytes = picture::png(64, 48, [shade, 120, 90]);
        if user.put(target, &bytes).await? < 300 {
            let stored = Upload { path: text(target, "path")?.to_owned(), bytes };
            promises.uploads.push(Promised { at: disk.position(), value: stored });
        }
    }
    let until = Instant::now() + LASTS;
    let mut refused = 0;
    while Instant::now() < until {
        // A success is a promise, whatever fsync returned.
        refused += u32::from(writer.write(&mut promises, 1).await.is_err());
    }
    let failed_until = disk.position();
    disk.inject("")?;
    ensure!(0 < refused, "no request was refused while fsync failed");
    writer.write(&mut promises, 8).await?;
    promises::wait_for_publishing(&user, PUBLISH_TIMEOUT).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut broken = promises::find_broken(&user, &promises.posts, u64::MAX).await?;
    disk.wait_until_idle().await?;
    harness.kill()?;

    let log = disk.log()?;
    let [meanwhile, end] = [failed_until, u64::MAX].map(|position| after_power_cut(&log, &promises, position));
    let (meanwhile, end) = try_join(meanwhile, end).await?;
    broken.extend(meanwhile);
    broken.extend(end);
    Ok(Measured { starts: 2, acknowledged: promises.count(), broken, is_loss_expected: false })
}

struct Writer<'a> {
    user: &'a User<'a>,
    disk: &'a FaultyDisk,
    accounts: &'a [Value; 2],
    number: u32,
}

impl Writer<'_> {
    async fn write(&mut self, promises: &mut Promises, posts: u32) -> Result {
        let Self { user, disk, accounts: [a, b], .. } = *self;
        // Each upload has its own color.
        let uploaded = upload(user, disk, u8::try_from(self.number % 250)?).await;
        self.number += 1;
        let picture = match (&uploaded, promises.uploads.last()) {
            (Ok(stored), _) => stored.value.path.clone(),
            (Err(_), Some(earlier)) => earlier.value.path.clone(),
            (Err(error), None) => return Err(error.clone()),
        };
        promises.uploads.extend(uploaded.as_ref().ok().cloned());
        for _ in 0..posts {
            promises.posts.push(write_post(&user.api, [a, b], &picture, self.number, &|| disk.position()).await?);
            self.number += 1;
        }
        uploaded.map(|_| ())
    }
}

/// The promises that a power cut after the first `position` bytes of the log breaks, if nothing is
/// left that was not synced.
async fn after_power_cut(log: &Log, promises: &Promises, position: u64) -> Result<Broken> {
    let folder = TempDir::new()?;
    let mut replay = Replay::new(log);
    replay.advance(log.count_until(position))?;
    replay.write_to(folder.path(), Variant::Lost, 0)?;
    restart::find_broken(folder.path(), promises, position).await
}
