//! Images that are made to crash, fill or block the function that decodes them.

use futures::future::try_join_all;
use serde_json::{Value, json};

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::Result,
    http_response::{integer, text},
    moment, picture,
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(10, [
        "a PNG of 60 bytes that claims 3.6 billion pixels", "the post fails with the reason, another user's is published in its second"
            => png_with_false_dimensions;
        "a JPEG without an end, and one whose pixels mean nothing",
            "the posts fail with the reason, another user's is published in its second" => damaged_jpegs;
        "eight pictures that grow 150 times in memory, by one user at once",
            "another user's image is resized meanwhile and published in its second" => bombs;
    ])
}

/// The maximum for the other user's post.
const LATE_MS: i64 = 2_000;

async fn png_with_false_dimensions(deployments: &AttackTargets) -> Result<String> {
    struck(deployments, 30, &[("image/png", picture::png_with_claimed_size(60_000, 60_000), "pixels")]).await
}

async fn damaged_jpegs(deployments: &AttackTargets) -> Result<String> {
    let files = [
        ("image/jpeg", picture::damaged_jpeg(5_000, 5_000, false), "not a complete JPEG"),
        ("image/jpeg", picture::damaged_jpeg(5_000, 5_000, true), "damaged"),
    ];
    struck(deployments, 30, &files).await
}

async fn bombs(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (mut attacker, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let (attacker_connection, other_connection) = (attacker.connect(0).await?, other.connect(1).await?);
    let bomb = picture::bomb(5_000, 3_000);
    let due = moment::in_seconds(60);
    let mut posts = Vec::new();
    for _ in 0..8 {
        let path = attacker.upload("image/png", &bomb).await?;
        posts.push(post(&attacker, &attacker_connection, &path, &due).await?.0);
    }
    let late_ms = publish_on_time(&other, deployment, &other_connection, &due).await?;
    let statuses = posts.iter().map(|id| wait_for_end(&attacker, *id));
    let statuses = try_join_all(statuses).await?;
    ensure!(statuses.iter().all(|it| it == "published"), "they are pictures, and they end as {statuses:?}");
    Ok(format!(
        "{} KB each; the other user's is {late_ms} ms late, and theirs end as {}",
        bomb.len() / 1_000,
        statuses[0]
    ))
}

/// An attacker posts these files, each of which must fail with its text; another user's post of the
/// same second must be published.
async fn struck(deployments: &AttackTargets, seconds: i64, files: &[(&str, Vec<u8>, &str)]) -> Result<String> {
    let deployment = deployments.lifted();
    let (mut attacker, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let (attacker_connection, other_connection) = (attacker.connect(0).await?, other.connect(1).await?);
    let due = moment::in_seconds(seconds);
    let mut posts = Vec::new();
    for (mime_type, file, expected) in files {
        let path = attacker.upload(mime_type, file).await?;
        posts.push((post(&attacker, &attacker_connection, &path, &due).await?.0, expected));
    }
    let late_ms = publish_on_time(&other, deployment, &other_connection, &due).await?;
    let mut message = String::new();
    for (id, expected) in posts {
        let post = attacker.reaches(id, "failed", 120).await?;
        text(&post["platforms"][0], "error_message")?.clone_into(&mut message);
        ensure!(message.contains(expected), "it says: {message}");
    }
    Ok(format!("the other user's is {late_ms} ms late; {message}"))
}

/// The image must be resized. Returns the lateness.
async fn publish_on_time(user: &User<'_>, deployment: &Deployment, connection: &Value, due: &str) -> Result<i64> {
    let path = user.upload("image/png", &picture::png(5_000, 20, [30, 120, 90])).await?;
    let (id, content) = post(user, connection, &path, due).await?;
    let shown = user.reaches(id, "published", 150).await?;
    let entry = deployment.appears(&content, 10).await?;
    let received: chrono::DateTime<chrono::Utc> = text(&entry, "received_at")?.parse()?;
    let late_ms = (received - moment::read(&shown["scheduled_at"])?).num_milliseconds();
    ensure!((0..=LATE_MS).contains(&late_ms), "another user's post is {late_ms} ms late");
    Ok(late_ms)
}

async fn post(user: &User<'_>, connection: &Value, path: &str, due: &str) -> Result<(i64, String)> {
    let content = fresh("a picture");
    let platforms = targets(&[connection])?;
    let body = json!({ "content": content, "platforms": platforms, "media": [path], "scheduled_at": due });
    Ok((integer(&user.create(&body).await?, "id")?, content))
}

/// Returns the final status and error.
async fn wait_for_end(user: &User<'_>, id: i64) -> Result<String> {
    let ended = || async {
        let status = text(&user.show(id).await?, "status")?.to_owned();
        Ok(["published", "failed"].contains(&status.as_str()).then_some(status))
    };
    moment::eventually(std::time::Duration::from_mins(4), "the end of a post", ended).await
}
