//! The container image: what is in it, and whether it runs. Its layers are unpacked and run with `chroot`.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{Machine, account, post};
use crate::{
    deployment::fresh,
    ensure,
    error::{Result, same},
    http_response::{list, text},
    platforms::scenes::{Figures, Scenes},
    tools,
};

/// Compressed.
const MAX_BYTES: u64 = 40_000_000;

pub(super) async fn run(image: &Path, scenes: &mut Scenes<'_>) {
    scenes.measure("it publishes within a minute of its start", first_post(image)).await;
}

async fn first_post(image: &Path) -> Result<Figures> {
    let root = TempDir::new()?;
    let bytes = unpack(image, root.path())?;
    ensure!(bytes <= MAX_BYTES, "the image has {bytes} bytes");
    for name in ["bin", "lib", "usr"] {
        ensure!(!root.path().join(name).exists(), "/{name} is in the image");
    }
    let bill: Value = serde_json::from_slice(&fs::read(root.path().join("social-server.cdx.json"))?)?;
    ensure!(100 < list(&bill, "components")?.len(), "the list of crates is not complete");

    let machine = Machine::with_root(Some(root.path().to_owned())).await?;
    let data = machine.data("data");
    let started = Instant::now();
    let service = machine.start(&data).await?;
    let deployment = machine.deployment().await?;
    let user = machine.user(&deployment, &service.first_link()?).await?;
    let account = account(&machine, &user).await?;
    let content = fresh("from the image");
    let id = post(&user, &account, &content, 0).await?;
    user.reaches(id, "published", 30).await?;
    let took = started.elapsed();
    same(machine.public(&content), 1, "public posts")?;
    ensure!(took < Duration::from_mins(1), "the first post took {took:?}");
    machine.run(&data, &["health"])?;
    service.terminate().await?;
    let milliseconds = |duration: Duration| i64::try_from(duration.as_millis());
    Ok(vec![
        ("bytes, compressed", i64::try_from(bytes)?),
        ("ms from start to ready", milliseconds(service_start(&machine, &data).await?)?),
        ("ms from start to the first post", milliseconds(took)?),
    ])
}

async fn service_start(machine: &Machine, data: &Path) -> Result<Duration> {
    Ok(machine.start(data).await?.started_in)
}

/// Unpacks the layers of the only manifest. Returns their compressed size.
fn unpack(image: &Path, root: &Path) -> Result<u64> {
    let layout = TempDir::new()?;
    tools::run(Command::new("tar").arg("-xf").arg(image).arg("-C").arg(layout.path()))?;
    let read = |digest: &str| -> Result<Value> {
        let blob = layout.path().join("blobs").join(digest.replace(':', "/"));
        Ok(serde_json::from_slice(&fs::read(blob)?)?)
    };
    let index: Value = serde_json::from_slice(&fs::read(layout.path().join("index.json"))?)?;
    let manifests = read(text(&index["manifests"][0], "digest")?)?;
    let manifest = read(text(&manifests["manifests"][0], "digest")?)?;
    let mut bytes = 0;
    for layer in list(&manifest, "layers")? {
        let blob = layout.path().join("blobs").join(text(layer, "digest")?.replace(':', "/"));
        bytes += fs::metadata(&blob)?.len();
        tools::run(Command::new("tar").arg("-xzf").arg(blob).arg("-C").arg(root))?;
    }
    Ok(bytes)
}
