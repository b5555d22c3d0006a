//! The `Idempotency-Key` header on POST /posts and POST /media.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, User, fresh},
    ensure,
    error::{Result, same},
    http_response::{HttpResponse, integer, text},
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "idempotency",
        [
            response_is_replayed,
            another_body_is_refused,
            repeated_now_is_the_same_request,
            malformed_key_is_refused,
            refused_request_leaves_the_key_unused,
            concurrent_requests_create_one_post,
            keys_belong_to_user_and_route,
            media_request_is_replayed,
            replay_is_unchanged_after_later_edits,
        ]
    )
}

async fn send(user: &User<'_>, path: &str, key: &str, body: &Value) -> Result<HttpResponse> {
    user.api.call(Method::POST, path).header("idempotency-key", key).json(body).send().await
}

async fn response_is_replayed(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    for key in [fresh("key"), "!".to_owned(), "~".repeat(255)] {
        let body = json!({ "content": key });

        let first = send(&user, "/posts", &key, &body).await?.is(201)?;
        let second = send(&user, "/posts", &key, &body).await?.is(201)?;
        let third = send(&user, "/posts", &key, &json!({ "content": key })).await?.is(201)?;

        same(first.header("idempotent-replayed"), "", "idempotent-replayed of the first response")?;
        for again in [second, third] {
            same(again.header("idempotent-replayed"), "true", "idempotent-replayed")?;
            same(again.json()?, first.json()?, "the replayed body")?;
        }
    }
    ensure_post_count(&user, 3).await
}

async fn repeated_now_is_the_same_request(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = integer(&user.connect(0).await?, "id")?;
    let content = fresh("once, and now");
    let platforms = json!([{ "connected_account_id": connection }]);
    let body = json!({ "content": content, "platforms": platforms, "scheduled_at": "now" });

    let first = send(&user, "/posts", "now", &body).await?.ok(201)?;
    user.reaches(integer(&first, "id")?, "published", 30).await?;
    let second = send(&user, "/posts", "now", &body).await?;

    same(&second.ok(201)?["id"], &first["id"], "the post of the second request")?;
    same(deployment.timeline(&content).await?.len(), 1, "how often it is public")
}

async fn ensure_post_count(user: &User<'_>, expected: i64) -> Result {
    let all = user.api.get("/posts").await?.ok(200)?;
    same(integer(&all["meta"], "total")?, expected, "number of posts")
}

async fn another_body_is_refused(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let key = fresh("key");
    send(&user, "/posts", &key, &json!({ "content": "one" })).await?.is(201)?;

    send(&user, "/posts", &key, &json!({ "content": "two" })).await?.expect_invalid_under("")?;

    send(&user, "/posts", &key, &json!({ "content": "one" })).await?.is(201)?;
    ensure_post_count(&user, 1).await
}

async fn malformed_key_is_refused(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    for key in ["", "   ", "with space", "ä", "tab\there", &"x".repeat(256)] {
        for (path, body) in [("/posts", json!({ "content": "a" })), ("/media", json!({ "mime_type": "image/png" }))] {
            send(&user, path, key, &body).await?.invalid(&["idempotency-key"])?;
        }
    }
    ensure_post_count(&user, 0).await
}

async fn refused_request_leaves_the_key_unused(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let key = fresh("key");
    send(&user, "/posts", &key, &json!({ "content": "" })).await?.invalid(&["content"])?;
    send(&user, "/posts", &key, &json!({ "content": "", "media": ["x"] })).await?.is(422)?;

    let response = send(&user, "/posts", &key, &json!({ "content": "right" })).await?.is(201)?;

    same(response.header("idempotent-replayed"), "", "idempotent-replayed")?;
    ensure_post_count(&user, 1).await
}

async fn concurrent_requests_create_one_post(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    for round in 1..=5 {
        let (key, body) = (fresh("key"), json!({ "content": "at once" }));

        let responses = join_all((0..5).map(|_| send(&user, "/posts", &key, &body))).await;

        let mut ids = Vec::new();
        let mut first = 0;
        for response in responses {
            let response = response?;
            if response.status == 409 {
                response.refused(409)?;
                continue;
            }
            let response = response.is(201)?;
            first += i32::from(response.header("idempotent-replayed").is_empty());
            ids.push(integer(&response.json()?, "id")?);
        }
        same(first, 1, "responses that are not replays")?;
        ids.dedup();
        same(ids.len(), 1, "different posts")?;
        ensure_post_count(&user, round).await?;
    }
    Ok(())
}

async fn keys_belong_to_user_and_route(deployment: &Deployment) -> Result {
    let (user, other) = (deployment.new_user().await?, deployment.new_user().await?);
    let (key, body) = (fresh("key"), json!({ "content": "same" }));

    let own = send(&user, "/posts", &key, &body).await?.ok(201)?;
    let others = send(&other, "/posts", &key, &body).await?.ok(201)?;
    let media = send(&user, "/media", &key, &json!({ "mime_type": "image/png" })).await?.is(201)?;

    ensure!(own["id"] != others["id"], "a key of one user replays to another");
    same(media.header("idempotent-replayed"), "", "idempotent-replayed on another route")
}

async fn media_request_is_replayed(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let (key, body) = (fresh("key"), json!({ "mime_type": "image/png" }));

    let first = send(&user, "/media", &key, &body).await?.ok(201)?;
    let same_request = json!({ "filename": null, "mime_type": "image/png" });
    let second = send(&user, "/media", &key, &same_request).await?.is(201)?;

    same(second.header("idempotent-replayed"), "true", "idempotent-replayed")?;
    same(text(&second.json()?, "path")?, text(&first, "path")?, "path")?;
    send(&user, "/media", &key, &json!({ "mime_type": "image/gif" })).await?.expect_invalid_under("")?;
    Ok(())
}

async fn replay_is_unchanged_after_later_edits(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let (key, body) = (fresh("key"), json!({ "content": "before" }));
    let first = send(&user, "/posts", &key, &body).await?.ok(201)?;
    user.change(integer(&first, "id")?, &json!({ "content": "after" })).await?;

    let again = send(&user, "/posts", &key, &body).await?.ok(201)?;
    same(&again, &first, "the replay after a change")?;
    user.api.delete(&format!("/posts/{}", integer(&first, "id")?)).await?.is(204)?;
    let again = send(&user, "/posts", &key, &body).await?.ok(201)?;

    same(&again, &first, "the replay after deleting")?;
    ensure_post_count(&user, 0).await
}
