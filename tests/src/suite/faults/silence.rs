//! The platform does not respond: the outcome of the call is unknown.

use serde_json::{Value, json};

use super::{FaultFixture, MEADOW, WINDMILL};
use crate::{
    checks,
    deployment::{Deployment, fresh},
    ensure,
    error::{Result, TestError, same},
    http_response::{integer, list, text},
    moment,
    runner::Check,
    suite::{pages::check_page, publishing::once},
};

pub(super) fn checks() -> Vec<Check> {
    let mut all = checks!(
        "faults",
        WINDMILL.0,
        [call_that_takes_effect_after_the_timeout_is_found, call_slower_than_the_timeout_is_found,]
    );
    all.extend(checks!(
        "faults",
        MEADOW.0,
        [
            lost_response_does_not_publish_twice,
            lost_call_is_repeated_after_the_look_up,
            failed_look_up_is_retried,
            post_cannot_be_changed_while_a_slow_platform_publishes,
        ]
    ));
    all
}

async fn lost_response_does_not_publish_twice(deployment: &Deployment) -> Result {
    let mut faulty = FaultFixture::new(deployment, MEADOW).await?;

    let out = faulty.publish_once(json!({ "kind": "lose_answer" }), &["cut off"], 150).await?;

    attempts_say_that_the_post_was_found(&faulty, &out.post).await?;
    page_shows_that_the_post_was_found(&mut faulty, &out.post).await
}

/// The page of the attempts links to the post, and shows how the call ended before how the post was found.
async fn page_shows_that_the_post_was_found(faulty: &mut FaultFixture<'_>, post: &Value) -> Result {
    let page = faulty.open_attempts(integer(post, "id")?).await?;
    check_page(&page, true)?;
    let link = format!("href=\"{}\"", text(&post["platforms"][0], "platform_post_url")?);
    let expected = ["Published once", &link, "Publish call: Unknown outcome", "cut off", "Look-up: Found"];
    let places: Vec<_> = expected.iter().map(|it| page.html.find(it)).collect();
    ensure!(places.iter().all(Option::is_some), "{}", page.test_error(&format!("not all of {expected:?} are shown")));
    ensure!(places.is_sorted(), "{}", page.test_error(&format!("the order is not {expected:?}")));
    Ok(())
}

/// The record of the calls is that of a lost response, and has no text of the post.
async fn attempts_say_that_the_post_was_found(faulty: &FaultFixture<'_>, post: &Value) -> Result {
    let path = format!("/posts/{}/attempts?per_page=100", integer(post, "id")?);
    let response = faulty.user.api.get(&path).await?;
    let words = text(post, "content")?;
    ensure!(!response.text.contains(words), "{}", response.test_error("the text of the post is in its attempts"));
    let attempts = response.ok(200)?;
    let data = list(&attempts, "data")?;
    same(&attempts["meta"]["total"], &json!(data.len()), "total of the attempts")?;
    let (Some(newest), Some(oldest)) = (data.first(), data.last()) else {
        return Err(TestError::new(format!("no attempts of the post: {attempts}")));
    };
    same((&oldest["step"], &oldest["outcome"]), (&json!("publish"), &json!("unknown")), "the first attempt")?;
    same(&oldest["http_status"], &Value::Null, "HTTP status of a lost response")?;
    ensure!(text(oldest, "message")?.contains("cut off"), "message of a lost response: {oldest}");
    same((&newest["step"], &newest["outcome"]), (&json!("look_up"), &json!("found")), "the last attempt")?;
    same((&newest["http_status"], &newest["message"]), (&json!(200), &Value::Null), "a look-up that found the post")?;
    same(&newest["connected_account_id"], &faulty.connection["id"], "connected_account_id")?;
    ensure!(moment::read(&oldest["at"])? < moment::read(&newest["at"])?, "newest first: {attempts}");
    let publishes = data.iter().filter(|it| it["step"] == "publish").count();
    same(publishes, 1, "publish calls")
}

async fn lost_call_is_repeated_after_the_look_up(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, MEADOW).await?;

    let published = faulty.publish_once(json!({ "kind": "lose_call" }), &["cut off"], 180).await?;

    // The service must have waited, because a call that was cut off can take effect for more than a
    // minute.
    let waited = moment::read(&published.entry["received_at"])? - moment::read(&published.post["scheduled_at"])?;
    ensure!(
        60 <= waited.num_seconds(),
        "it was sent again after {waited}, when the first call could still take effect"
    );
    Ok(())
}

async fn call_that_takes_effect_after_the_timeout_is_found(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, WINDMILL).await?;
    faulty.publish_once(json!({ "kind": "late", "delay_ms": 8000 }), &["cut off"], 120).await.map(|_| ())
}

async fn call_slower_than_the_timeout_is_found(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, WINDMILL).await?;
    faulty
        .publish_once(json!({ "kind": "slow", "delay_ms": 20_000 }), &["did not respond in time"], 120)
        .await
        .map(|_| ())
}

async fn failed_look_up_is_retried(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, MEADOW).await?;
    faulty.arm(json!({ "kind": "look_error", "count": 2 })).await?;
    faulty.publish_once(json!({ "kind": "lose_answer" }), &["internal error"], 150).await.map(|_| ())
}

async fn post_cannot_be_changed_while_a_slow_platform_publishes(deployment: &Deployment) -> Result {
    let faulty = FaultFixture::new(deployment, MEADOW).await?;
    let content = fresh("slow");
    faulty.arm(json!({ "kind": "slow", "delay_ms": 5000 })).await?;

    let id = faulty.schedule(&content).await?;
    let user = &faulty.user;
    user.reaches(id, "publishing", 20).await?;
    let path = format!("/posts/{id}");
    let connected = format!("/connections/{}", integer(&faulty.connection, "id")?);
    for change in [json!({ "content": "new" }), json!({ "scheduled_at": null })] {
        user.api.patch(&path, &change).await?.invalid(&["status"])?;
    }
    user.api.delete(&path).await?.invalid(&["status"])?;
    user.api.delete(&connected).await?.error(422, "has_pending_posts")?;
    same(deployment.timeline(&content).await?.len(), 0, "entries on the timeline while it is slow")?;
    user.reaches(id, "published", 60).await?;

    once(deployment, &content).await.map(|_| ())
}
