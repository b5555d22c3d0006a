//! Posts are published on time and once.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "publishing",
        [
            post_due_now_is_published_with_its_image,
            post_is_published_on_time_and_never_early,
            targets_publish_their_own_text,
            overdue_post_is_published_immediately,
            changed_post_is_published_as_changed,
            post_moved_forward_is_published_then,
            published_post_cannot_be_changed,
            many_posts_due_together_are_published_once_each,
            last_moment_change_is_respected,
        ]
    )
}

/// Long enough for a duplicate to appear.
const A_WHILE: Duration = Duration::from_secs(4);

/// The only entry on the timeline with this text, after enough time for a duplicate.
pub(super) async fn once(deployment: &Deployment, content: &str) -> Result<Value> {
    tokio::time::sleep(A_WHILE).await;
    let mut found = deployment.timeline(content).await?;
    same(found.len(), 1, &format!("entries on the timeline for “{content}”"))?;
    Ok(found.remove(0))
}

fn received_at(entry: &Value) -> Result<chrono::DateTime<chrono::Utc>> {
    Ok(text(entry, "received_at")?.parse()?)
}

async fn post_due_now_is_published_with_its_image(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let content = fresh("due now with a picture");
    let body = json!({
        "content": content,
        "platforms": targets(&[&connection])?,
        "media": [user.picture().await?],
        "scheduled_at": moment::in_seconds(0),
    });

    let post = user.create(&body).await?;
    let published = user.reaches(integer(&post, "id")?, "published", 20).await?;

    same(&post["status"], &json!("scheduled"), "status of the answer")?;
    let entry = once(deployment, &content).await?;
    same(&entry["account"], &connection["username"], "account on the timeline")?;
    let media = list(&entry, "media")?;
    same(media.len(), 1, "pictures on the timeline")?;
    same(&media[0]["mime_type"], &json!("image/png"), "mime_type on the timeline")?;
    let link = url::Url::parse(deployment.origin())?.join(text(&media[0], "url")?)?;
    let picture = deployment.http().get(link).send().await?;
    same(picture.status().as_u16(), 200, "status of the picture")?;
    same(picture.headers()["content-type"].to_str()?, "image/png", "type of the picture")?;
    let target = &published["platforms"][0];
    same(&target["status"], &json!("published"), "status of the entry")?;
    text(target, "platform_post_id")?;
    let page = deployment.http().get(text(target, "platform_post_url")?).send().await?;
    same(page.status().as_u16(), 200, "status of the post's page")?;
    ensure!(page.text().await?.contains(&content), "the post's page does not show it");
    same(&target["error_message"], &Value::Null, "error_message")
}

async fn post_is_published_on_time_and_never_early(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(1).await?;
    for seconds in [2, 3, 5] {
        let content = fresh("in some seconds");
        let post = user.schedule(&content, &[&connection], seconds).await?;
        let due = moment::read(&user.show(post).await?["scheduled_at"])?;

        let published = user.reaches(post, "published", 20).await?;

        let entry = once(deployment, &content).await?;
        let late = received_at(&entry)? - due;
        ensure!(0 <= late.num_milliseconds(), "published {} ms early", -late.num_milliseconds());
        ensure!(late.num_seconds() < 5, "published {} ms late", late.num_milliseconds());
        ensure!(due <= moment::read(&published["platforms"][0]["published_at"])?, "published_at is before the time");
    }
    Ok(())
}

async fn targets_publish_their_own_text(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let (a, b) = (user.connect(0).await?, user.connect(1).await?);
    let (content, special) = (fresh("for everyone 👋🏽"), fresh("for one"));
    let mut platforms = targets(&[&a, &b])?;
    platforms[1]["content"] = json!(special);
    let body = json!({ "content": content, "platforms": platforms, "scheduled_at": moment::in_seconds(1) });
    let id = integer(&user.create(&body).await?, "id")?;

    let post = user.reaches(id, "published", 20).await?;

    same(&once(deployment, &content).await?["account"], &a["username"], "account of the post's text")?;
    same(&once(deployment, &special).await?["account"], &b["username"], "account of the override")?;
    same(&post["platforms"][1]["content"], &json!(special), "content of the entry")
}

async fn overdue_post_is_published_immediately(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let content = fresh("four minutes ago");
    let given = moment::in_seconds(-240);
    let body = json!({ "content": content, "platforms": targets(&[&connection])?, "scheduled_at": given });

    let post = user.create(&body).await?;

    same((&post["status"], &post["scheduled_at"]), (&json!("scheduled"), &json!(given)), "status and time")?;
    user.reaches(integer(&post, "id")?, "published", 20).await?;
    once(deployment, &content).await.map(|_| ())
}

async fn changed_post_is_published_as_changed(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let (a, b) = (user.connect(0).await?, user.connect(1).await?);
    let (old, new) = (fresh("old words"), fresh("new words"));
    let id = user.schedule(&old, &[&a], 5).await?;

    let change = json!({ "content": new, "platforms": targets(&[&b])?, "media": [user.picture().await?] });
    user.change(id, &change).await?;
    user.reaches(id, "published", 25).await?;

    let entry = once(deployment, &new).await?;
    same(&entry["account"], &b["username"], "account")?;
    same(list(&entry, "media")?.len(), 1, "pictures")?;
    same(deployment.timeline(&old).await?.len(), 0, "entries with the old text")
}

async fn post_moved_forward_is_published_then(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let (sooner, later) = (fresh("sooner"), fresh("later"));
    let first = user.schedule(&sooner, &[&connection], 3600).await?;
    let second = user.schedule(&later, &[&connection], 3).await?;

    user.change(first, &json!({ "scheduled_at": moment::in_seconds(2) })).await?;
    user.change(second, &json!({ "scheduled_at": moment::in_seconds(9) })).await?;

    user.reaches(first, "published", 20).await?;
    let due = moment::read(&user.show(second).await?["scheduled_at"])?;
    user.reaches(second, "published", 30).await?;
    once(deployment, &sooner).await?;
    let entry = once(deployment, &later).await?;
    ensure!(due <= received_at(&entry)?, "a rescheduled post was published at its old time");
    Ok(())
}

async fn published_post_cannot_be_changed(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(1).await?;
    let content = fresh("final");
    let id = user.schedule(&content, &[&connection], 0).await?;
    let before = user.reaches(id, "published", 20).await?;
    let path = format!("/posts/{id}");

    for change in [
        json!({ "content": "new" }),
        json!({ "scheduled_at": null }),
        json!({ "scheduled_at": moment::in_seconds(600) }),
        json!({ "media": [] }),
        json!({ "platforms": [] }),
    ] {
        user.api.patch(&path, &change).await?.invalid(&["status"])?;
    }
    user.api.delete(&path).await?.invalid(&["status"])?;

    same(user.show(id).await?, before, "the published post")?;
    for (status, expected) in [("published", 1), ("scheduled", 0), ("publishing", 0), ("draft", 0), ("failed", 0)] {
        let all = user.api.get(&format!("/posts?status={status}")).await?.ok(200)?;
        same(integer(&all["meta"], "total")?, expected, &format!("{status} posts"))?;
    }
    // No pending post prevents disconnecting any more.
    user.api.delete(&format!("/connections/{}", integer(&connection, "id")?)).await?.is(204)?;
    let after = user.show(id).await?;
    same(&after["platforms"][0]["username"], &connection["username"], "username once it is disconnected")
}

async fn many_posts_due_together_are_published_once_each(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (a, b) = (user.connect(0).await?, user.connect(1).await?);
    let start = fresh("together");
    let at = moment::in_seconds(8);
    let bodies: Vec<_> = (0..40)
        .map(|number| {
            let on = targets(&[&a, &b][..if number % 3 == 0 { 2 } else { 1 }])?;
            Ok(json!({ "content": format!("{start} {number}"), "platforms": on, "scheduled_at": at }))
        })
        .collect::<Result<_>>()?;
    let posts = futures::future::join_all(bodies.iter().map(|body| user.create(body))).await;

    for post in posts {
        user.reaches(integer(&post?, "id")?, "published", 40).await?;
    }

    tokio::time::sleep(A_WHILE).await;
    let all = deployment.all_posts().await?;
    for number in 0..40 {
        let content = format!("{start} {number}");
        let expected = if number % 3 == 0 { 2 } else { 1 };
        same(all.iter().filter(|it| it["text"] == content.as_str()).count(), expected, &content)?;
    }
    Ok(())
}

/// Changes posts around the second in which they are due. A change that got a 200 is what is
/// published; one that was refused arrived after the publish call.
async fn last_moment_change_is_respected(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let at = moment::now() + chrono::TimeDelta::seconds(4);
    let mut posts = Vec::new();
    for number in 0..16 {
        let content = fresh(&format!("race {number}"));
        let body = json!({
            "content": content,
            "platforms": targets(&[&connection])?,
            "scheduled_at": moment::written(at),
        });
        posts.push((integer(&user.create(&body).await?, "id")?, content));
    }
    let wait = at - moment::now() - chrono::TimeDelta::milliseconds(120);
    tokio::time::sleep(wait.to_std().unwrap_or_default()).await;

    let mut changes = Vec::new();
    for (number, (id, content)) in posts.iter().enumerate() {
        let change = if number % 2 == 0 {
            json!({ "content": format!("{content} new") })
        } else {
            json!({ "scheduled_at": null })
        };
        let response = user.api.patch(&format!("/posts/{id}"), &change).await?;
        ensure!([200, 422].contains(&response.status), "{}", response.test_error("neither changed nor refused"));
        changes.push(response.status == 200);
    }

    tokio::time::sleep(Duration::from_secs(8)).await;
    for ((number, (_, content)), changed) in posts.iter().enumerate().zip(changes) {
        let old = deployment.timeline(content).await?.len();
        let new = deployment.timeline(&format!("{content} new")).await?.len();
        let expected = match (changed, number % 2) {
            (false, _) => (1, 0),
            (true, 0) => (0, 1),
            (true, _) => (0, 0),
        };
        same((old, new), expected, &format!("old and new of “{content}” (changed: {changed})"))?;
    }
    Ok(())
}
