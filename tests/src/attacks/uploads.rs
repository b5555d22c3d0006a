//! Filling the store, and the remains of an erased user.

use futures::{StreamExt, TryStreamExt, stream};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Arena, Attack, laptop::signed};
use crate::{
    answer::text,
    attacks,
    deployment::{Deployment, User, fresh},
    ensure,
    error::Result,
    harness::{Harness, LIFTED},
    picture,
};

const MIB: usize = 1 << 20;

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(9, [
        "more or fewer bytes than declared are uploaded", "403; exactly the declared size is accepted" => other_size;
        "a size over the limit is declared", "422 on size" => too_large_a_size;
        "1,020 uploads are requested, 16 at a time", "1,000 are granted" => as_many_as_possible;
        "videos are requested without a size", "10 uploads of 1 GiB are granted" => as_much_as_possible;
        "a file over its limit is uploaded and used in a post", "422, and the file is deleted" => over_the_limit;
        "an erased user's data remains in a table", "no item, no file, and the token is invalid" => erased;
    ])
}

async fn ask(user: &User<'_>, body: &Value) -> Result<(u16, Value)> {
    let answer = user.api.post("/media", body).await?;
    Ok((answer.status, answer.json()?))
}

async fn other_size(arena: &Arena) -> Result<String> {
    let user = arena.lifted().new_user().await?;
    let bytes = picture::png(4, 4, [0, 0, 0]);
    let (status, place) = ask(&user, &json!({ "mime_type": "image/png", "size": bytes.len() })).await?;
    ensure!(status == 201, "{status} {place}");
    let mut seen = Vec::new();
    for other in [[&bytes[..], b"!"].concat(), bytes[1..].to_vec(), Vec::new()] {
        // The client sends the actual length.
        let mut freely = place.clone();
        if let Some(headers) = freely["upload_headers"].as_object_mut() {
            headers.remove("content-length");
        }
        let status = user.put(&freely, &other).await?;
        ensure!(status == 403, "{} bytes instead of {}: {status}", other.len(), bytes.len());
        seen.push(status.to_string());
    }
    let status = user.put(&place, &bytes).await?;
    ensure!(status / 100 == 2, "as many as said: {status}");
    user.create(&json!({ "content": fresh("sized"), "media": [text(&place, "path")?] })).await?;
    Ok(format!("{}, then {status}", seen.join(", ")))
}

async fn too_large_a_size(arena: &Arena) -> Result<String> {
    let user = arena.lifted().new_user().await?;
    let body = json!({ "mime_type": "image/png", "size": 20 * MIB + 1 });
    let faults = user.api.post("/media", &body).await?.invalid(&["size"])?;
    Ok(format!("422: {}", faults["size"][0]))
}

/// The number of requests that get an upload URL.
async fn places(user: &User<'_>, body: &Value, requests: usize) -> Result<usize> {
    let asked = stream::iter(0..requests).map(async |_| ask(user, body).await);
    let answers: Vec<_> = asked.buffer_unordered(16).try_collect().await?;
    let field = if body["size"].is_null() { "mime_type" } else { "size" };
    for (status, answer) in &answers {
        let is_right = *status == 201 || *status == 422 && !answer["errors"][field].is_null();
        ensure!(is_right, "{status} {answer}");
    }
    Ok(answers.iter().filter(|it| it.0 == 201).count())
}

async fn as_many_as_possible(arena: &Arena) -> Result<String> {
    let user = arena.lifted().new_user().await?;
    let places = places(&user, &json!({ "mime_type": "image/png", "size": 1 }), 1_020).await?;
    ensure!(places == 1_000, "{places} places");
    Ok(format!("{places} places, then 422"))
}

async fn as_much_as_possible(arena: &Arena) -> Result<String> {
    let user = arena.lifted().new_user().await?;
    let body = json!({ "mime_type": "video/mp4" });
    let places = places(&user, &body, 30).await?;
    ensure!(places == 10, "{places} places");
    Ok(format!("{places} places, then 422"))
}

async fn over_the_limit(arena: &Arena) -> Result<String> {
    let user = arena.lifted().new_user().await?;
    let (_, place) = ask(&user, &json!({ "mime_type": "image/png" })).await?;
    let mut large = picture::png(4, 4, [0, 0, 0]);
    large.resize(20 * MIB + 1, 0);
    ensure!(user.put(&place, &large).await? / 100 == 2, "the store takes it");
    ensure!(user.put(&place, &large).await? == 412, "it is there");

    let body = json!({ "content": fresh("large"), "media": [text(&place, "path")?] });
    user.api.post("/posts", &body).await?.invalid(&["media.0"])?;

    let again = user.put(&place, &picture::png(4, 4, [0, 0, 0])).await?;
    ensure!(again / 100 == 2, "it is still there: {again}");
    user.api.post("/posts", &body).await?.invalid(&["media.0"])?;
    Ok("422; the file is gone, and its link brings none back that could be used".to_owned())
}

async fn erased(_: &Arena) -> Result<String> {
    let mut arguments = vec!["--dynamodb-port", "0"];
    arguments.extend(LIFTED);
    let stack = Harness::start(&arguments).await?;
    let deployment = Deployment::new(stack.ready().clone()).await?;
    let user = busy(&deployment).await?;
    let mut other = deployment.new_user().await?;
    other.connect(1).await?;
    let (found, stays) = (items_of(&stack, user.id).await?, items_of(&stack, other.id).await?);
    ensure!(8 <= found.len(), "the user is in {found:?} only");

    let mut passes = 0;
    loop {
        let answer =
            deployment.http().post(format!("{}/dev/erase-user/{}", deployment.origin(), user.id)).send().await?;
        let (status, said) = (answer.status(), answer.text().await?);
        ensure!(status == StatusCode::OK, "{status} {said}");
        passes += 1;
        if said.contains("\"done\":true") {
            break;
        }
        ensure!(passes < 10, "erasing does not end: {said}");
    }

    let left = items_of(&stack, user.id).await?;
    ensure!(left.is_empty(), "left: {left:?}");
    let theirs = items_of(&stack, other.id).await?;
    ensure!(theirs == stays, "another user had {stays:?} and has {theirs:?}");
    let dead = user.api.get("/user").await?.status;
    ensure!(dead == 401, "the token gets {dead}");
    Ok(format!("{} tables before, none after {passes} passes, 401", found.len()))
}

/// A user with an item in every table: an account, a published post, a scheduled one, an image, an
/// idempotency key, an open connect flow.
async fn busy(deployment: &Deployment) -> Result<User<'_>> {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let picture = user.picture().await?;
    let out = user.schedule(&fresh("out"), &[&connection], 0).await?;
    user.reaches(out, "published", 60).await?;
    user.schedule(&fresh("waits"), &[&connection], 3_600).await?;
    user.create(&json!({ "content": fresh("draft"), "media": [picture] })).await?;
    let keyed = json!({ "content": fresh("keyed") });
    user.api.call(Method::POST, "/posts").json(&keyed).header("idempotency-key", "k").send().await?.is(201)?;
    user.api.call(Method::POST, "/connections/connect/sandbox").send().await?.is(201)?;
    deployment.device(&user.api, &[]).await?;
    Ok(user)
}

/// The tables that contain this number anywhere, with the number of items.
async fn items_of(stack: &Harness, user: i64) -> Result<Vec<(String, usize)>> {
    let (url, secret) = (format!("{}/", text(stack.stores(), "dynamodb")?), text(stack.stores(), "secret")?);
    let call = async |operation: &str, body: &Value| -> Result<Value> {
        let keys = ("local", secret);
        let answer = signed(&Method::POST, &url, "dynamodb", keys, Some(operation), &body.to_string())?.send().await?;
        let (status, said) = (answer.status(), answer.text().await?);
        ensure!(status.is_success(), "{operation}: {status} {said}");
        Ok(serde_json::from_str(&said)?)
    };
    let tables = call("ListTables", &json!({})).await?;
    let mut found = Vec::new();
    for table in tables["TableNames"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let mut body = json!({ "TableName": table });
        let mut count = 0;
        loop {
            let page = call("Scan", &body).await?;
            let items = page["Items"].as_array().into_iter().flatten();
            count += items.filter(|it| it.to_string().contains(&user.to_string())).count();
            if page["LastEvaluatedKey"].is_null() {
                break;
            }
            body["ExclusiveStartKey"] = page["LastEvaluatedKey"].clone();
        }
        if count != 0 {
            found.push((table.to_owned(), count));
        }
    }
    Ok(found)
}
