//! The data of one machine move to the stack.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use super::Stack;
use crate::{
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, TestError, same},
    http_response::{integer, list},
    moment,
    one_machine::{FIRST_USER, Machine},
};

/// Posts that come due after the move.
const SCHEDULED: i64 = 24;

/// The move is killed repeatedly and then completed. Afterwards, the user of the machine signs in
/// at the stack's issuer and finds everything, the stack publishes what is scheduled, each post
/// once, and the machine does not start again.
pub async fn machine_moves_to_the_stack(stack: &mut Stack, deployment: &Deployment) -> Result {
    let machine = Machine::new().await?.with_sandbox(deployment.sandbox());
    let data = machine.data("data");
    let service = machine.start(&data).await?;
    let here = machine.deployment().await?.with_sandbox(deployment.sandbox().to_owned());
    let mut user = machine.user(&here, &service.first_link()?).await?;
    let account = user.connect(0).await?;
    let published = fresh("before the move");
    let first = user.schedule(&published, &[&account], 1).await?;
    user.reaches(first, "published", 30).await?;
    let posts = schedule(&user, &account).await?;
    user.api.post("/webhooks", &json!({ "url": "https://endpoint.invalid/" })).await?.is(201)?;
    let before = state(&user).await?;
    let token = user.api.token().to_owned();
    back_up_to_bucket(stack, &machine, &data).await?;
    service.terminate().await?;

    let unknown = move_command(stack, &machine, &data, Some("another"))?.output()?;
    ensure!(printed(&unknown).contains("stack another: "), "{}", printed(&unknown));
    let moved = move_between_kills(stack, &machine, &data).await?;
    if let Some(moved) = moved {
        ensure!(moved.status.success() && printed(&moved).contains("2 files"), "{}", printed(&moved));
    }
    let again = move_command(stack, &machine, &data, None)?.output()?;
    ensure!(printed(&again).contains("was moved to"), "{}", printed(&again));
    let refused = machine.output(&data, &[])?;
    ensure!(printed(&refused).contains("was moved to"), "{}", printed(&refused));

    stack.enable_schedules().await?;
    let mut browser = deployment.browser()?;
    let api = deployment.grant(&mut browser, FIRST_USER, &[]).await?;
    let moved = User::from_token(deployment, api, browser).await?;
    same(moved.id, user.id, "the user who signs in at the issuer")?;
    let by_token = User::from_token(deployment, deployment.stranger()?.with_token(Some(&token)), deployment.browser()?);
    same(by_token.await?.id, user.id, "the user of the token")?;
    same(state(&moved).await?, before, "connections, webhooks and media after the move")?;
    for (id, content) in &posts {
        moved.reaches(*id, "published", 180).await?;
        same(deployment.timeline(content).await?.len(), 1, &format!("entries on the timeline for post {id}"))?;
    }
    same(deployment.timeline(&published).await?.len(), 1, "entries for the post that was published before")?;

    // As after a restore of the stack's tables.
    let content = fresh("marked");
    let id = moved.schedule(&content, &[&account], 30).await?;
    let mut command = machine.command(&data, &["mark-restored", "--as-of", &moment::in_seconds(-1), "--stack"])?;
    let name = stack.administer(&mut command);
    let marked = command.arg(name).output()?;
    ensure!(printed(&marked).ends_with("published: 1.\n"), "{}", printed(&marked));
    moved.reaches(id, "published", 180).await?;
    same(deployment.timeline(&content).await?.len(), 1, "entries for the marked post")
}

/// The posts are due after the move; two of them have a picture.
async fn schedule(user: &User<'_>, account: &Value) -> Result<Vec<(i64, String)>> {
    let mut posts = Vec::new();
    for number in 0..SCHEDULED {
        let content = fresh("after the move");
        let media = if number < 2 { vec![user.picture().await?] } else { Vec::new() };
        let body = json!({
            "content": content, "platforms": targets(&[account])?, "media": media,
            "scheduled_at": moment::in_seconds(40 + number),
        });
        posts.push((integer(&user.create(&body).await?, "id")?, content));
    }
    Ok(posts)
}

/// Without posts, which change.
async fn state(user: &User<'_>) -> Result<Value> {
    let connections = user.api.get("/connections").await?.ok(200)?;
    let webhooks = user.api.get("/webhooks").await?.ok(200)?;
    let posts = user.api.get("/posts?per_page=50").await?.ok(200)?;
    let ids: Vec<_> = list(&posts, "data")?.iter().map(|it| it["id"].clone()).collect();
    Ok(json!({ "connections": connections, "webhooks": webhooks, "posts": ids }))
}

async fn back_up_to_bucket(stack: &Stack, machine: &Machine, data: &Path) -> Result {
    stack.root().create_bucket("backups").await?;
    let mut command = machine.command(data, &["backup", "s3://backups/social"])?;
    stack.administer(&mut command);
    let written = command.output()?;
    let printed = printed(&written);
    let object = printed.trim().strip_prefix("s3://backups/").filter(|it| it.starts_with("social/social-"));
    let object = object.ok_or_else(|| TestError::new(printed.clone()))?;
    let (file, restored) = (machine.data("backup"), machine.data("restored"));
    fs::write(&file, stack.root().object("backups", object).await?)?;
    fs::create_dir(&restored)?;
    fs::copy(data.join("sealing.key"), restored.join("sealing.key"))?;
    let printed = machine.run(&restored, &["restore", &file.display().to_string()])?;
    ensure!(printed.ends_with(&format!("published: {SCHEDULED}.")), "{printed}");
    Ok(())
}

/// As an administrator; without a name for the stack under test.
fn move_command(stack: &Stack, machine: &Machine, data: &Path, name: Option<&str>) -> Result<Command> {
    let mut command = machine.command(data, &["move", "--to-stack"])?;
    let own = stack.administer(&mut command);
    command.arg(name.unwrap_or(own));
    Ok(command)
}

/// Starts the move again and again, and kills it a little later each time, until one has ended.
/// Returns its output, unless it was killed between its end and that of its process.
async fn move_between_kills(stack: &Stack, machine: &Machine, data: &Path) -> Result<Option<Output>> {
    let (mut after, mut interrupted) = (Duration::ZERO, 0);
    loop {
        after += Duration::from_millis(25);
        let mut child = move_command(stack, machine, data, None)?.stdout(Stdio::piped()).spawn()?;
        tokio::time::sleep(after).await;
        if child.try_wait()?.is_some() {
            ensure!(2 <= interrupted, "only {interrupted} moves were killed while they copied");
            return Ok(Some(child.wait_with_output()?));
        }
        child.kill()?;
        child.wait()?;
        if fs::read_to_string(data.join("instance.json"))?.contains("moving") {
            interrupted += 1;
            let refused = printed(&machine.output(data, &[])?);
            if refused.contains("was moved to") {
                ensure!(3 <= interrupted, "only {interrupted} moves were killed while they copied");
                return Ok(None);
            }
            ensure!(refused.contains("is being moved to"), "{refused}");
        }
    }
}

fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}
