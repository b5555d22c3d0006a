//! Backups of a running service, restored after more was published.

use std::{fs, path::Path};

use fakes::conformance::fake_platform::FakePlatform;

use super::{Machine, account, post};
use crate::{
    deployment::fresh,
    ensure,
    error::{Result, same},
    http_response::text,
    platforms::scenes::{Figures, Scenes},
};

/// Posts that are published after the backup.
const IN_THE_WINDOW: usize = 8;

/// When they are due, in seconds: after the backup, on a busy machine, too.
const DUE_AFTER: i64 = 20;

pub(super) async fn run(scenes: &mut Scenes<'_>) {
    scenes.measure("a restored backup publishes nothing twice and loses nothing", restore()).await;
    scenes.play("a folder that was copied back by hand needs a restore", copied_folder()).await;
}

async fn restore() -> Result<Figures> {
    let machine = Machine::new().await?;
    let (data, restored, backups) = (machine.data("data"), machine.data("restored"), machine.data("backups"));
    let service = machine.start(&data).await?;
    let deployment = machine.deployment().await?;
    let user = machine.user(&deployment, &service.first_link()?).await?;
    let account = account(&machine, &user).await?;
    let before = fresh("before");
    let published = post(&user, &account, &before, 0).await?;
    user.reaches(published, "published", 30).await?;
    // Due soon after the backup, with files, and long after it.
    let picture = user.picture().await?;
    let mut window = Vec::new();
    for _ in 0..IN_THE_WINDOW {
        let content = fresh("window");
        window.push((post(&user, &account, &content, DUE_AFTER * 1_000).await?, content));
    }
    let with_picture = fresh("picture");
    // Due after the restore: in the lost window, the outcome of a post with files would stay unknown.
    let body = serde_json::json!({
        "content": with_picture, "platforms": crate::deployment::targets(&[&account])?, "media": [picture],
        "scheduled_at": crate::moment::in_seconds(3 * DUE_AFTER),
    });
    let due_later = crate::http_response::integer(&user.create(&body).await?, "id")?;
    let file = machine.run(&data, &["backup", &backups.display().to_string()])?;

    let mut ids = Vec::new();
    for (id, _) in &window {
        let shown = user.reaches(*id, "published", 60).await?;
        ids.push(text(&shown["platforms"][0], "platform_post_id")?.to_owned());
    }
    let unknown = fresh("unknown");
    let lost = post(&user, &account, &unknown, 0).await?;
    user.reaches(lost, "published", 30).await?;
    drop(service);

    fs::create_dir(&restored)?;
    fs::copy(data.join("sealing.key"), restored.join("sealing.key"))?;
    let printed = machine.run(&restored, &["restore", &file])?;
    ensure!(printed.ends_with(&format!("published: {}.", IN_THE_WINDOW + 1)), "{printed}");
    let _service = machine.start(&restored).await?;
    for ((id, content), platform_id) in window.iter().zip(&ids) {
        let shown = user.reaches(*id, "published", 180).await?;
        same(text(&shown["platforms"][0], "platform_post_id")?, platform_id, "the post that was found")?;
        same(machine.public(content), 1, content)?;
    }
    user.reaches(due_later, "published", 180).await?;
    let shown = machine.mastodon.public_posts().into_iter().filter(|it| it.text == with_picture).collect::<Vec<_>>();
    same((shown.len(), shown.first().map(|it| it.media.len())), (1, Some(1)), "the post with a picture")?;
    same((machine.public(&before), machine.public(&unknown)), (1, 1), "public posts")?;
    same(user.api.get(&format!("/posts/{lost}")).await?.status, 404, "the status of a lost post")?;
    let size = i64::try_from(fs::metadata(&file)?.len())?;
    Ok(vec![
        ("deliveries of the lost window, each public once", i64::try_from(IN_THE_WINDOW)?),
        ("bytes of the backup", size),
    ])
}

async fn copied_folder() -> Result {
    let machine = Machine::new().await?;
    let (data, copy) = (machine.data("data"), machine.data("copy"));
    let service = machine.start(&data).await?;
    let deployment = machine.deployment().await?;
    let user = machine.user(&deployment, &service.first_link()?).await?;
    let account = account(&machine, &user).await?;
    let content = fresh("copied");
    let id = post(&user, &account, &content, 3_000).await?;
    service.terminate().await?;
    let copied_at = crate::moment::written(crate::moment::now());
    fs::create_dir(&copy)?;
    for entry in fs::read_dir(&data)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_file() && name != "instance.json" {
            fs::copy(entry.path(), copy.join(name))?;
        }
    }
    let service = machine.start(&data).await?;
    user.reaches(id, "published", 60).await?;
    service.terminate().await?;

    let refused = machine.output(&copy, &[])?;
    let printed = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(!refused.status.success() && printed.contains("restore --in-place"), "{printed}");
    machine.run(&copy, &["restore", "--in-place", &copied_at])?;
    let older = machine.data("older");
    fs::create_dir(&older)?;
    copy_database(&copy, &older)?;
    let service = machine.start(&copy).await?;
    user.reaches(id, "published", 180).await?;
    same(machine.public(&content), 1, "public posts")?;
    service.terminate().await?;

    // The folder has published since.
    copy_database(&older, &copy)?;
    let refused = machine.output(&copy, &[])?;
    let printed = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(!refused.status.success() && printed.contains("restore --in-place"), "{printed}");
    Ok(())
}

/// Includes the write-ahead log.
fn copy_database(from: &Path, to: &Path) -> Result {
    for end in ["", "-wal", "-shm"] {
        let name = format!("dynamodb.sqlite{end}");
        let (from, to) = (from.join(&name), to.join(&name));
        if to.exists() {
            fs::remove_file(&to)?;
        }
        if from.exists() {
            fs::copy(from, to)?;
        }
    }
    Ok(())
}
