//! Filling the store, and the remains of an erased user.

use futures::{StreamExt, TryStreamExt, stream};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Attack, AttackTargets, laptop::signed};
use crate::{
    attacks,
    deployment::{Deployment, User, fresh},
    ensure,
    error::Result,
    harness::{Harness, LIFTED},
    http_response::text,
    picture,
};

const MIB: usize = 1 << 20;

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(9, [
        "more or fewer bytes than declared are uploaded", "403; exactly the declared size is accepted" => undeclared_size;
        "a size over the limit is declared", "422 on size" => oversized_declaration;
        "1,020 uploads are requested, 16 at a time", "1,000 are granted" => upload_count_limit;
        "videos are requested without a size", "10 uploads of 1 GiB are granted" => upload_bytes_limit;
        "a file over its limit is uploaded and used in a post", "422, and the file is deleted" => oversized_upload;
        "an erased user's data remains in a table", "no item, no file, and the token is invalid" => erased_user_data;
    ])
}

async fn request_upload(user: &User<'_>, body: &Value) -> Result<(u16, Value)> {
    let response = user.api.post("/media", body).await?;
    Ok((response.status, response.json()?))
}

async fn undeclared_size(deployments: &AttackTargets) -> Result<String> {
    let user = deployments.lifted().new_user().await?;
    let bytes = picture::png(4, 4, [0, 0, 0]);
    let (status, target) = request_upload(&user, &json!({ "mime_type": "image/png", "size": bytes.len() })).await?;
    ensure!(status == 201, "{status} {target}");
    let mut statuses = Vec::new();
    for other in [[&bytes[..], b"!"].concat(), bytes[1..].to_vec(), Vec::new()] {
        // The client sends the actual length.
        let mut target_without_length = target.clone();
        if let Some(headers) = target_without_length["upload_headers"].as_object_mut() {
            headers.remove("content-length");
        }
        let status = user.put(&target_without_length, &other).await?;
        ensure!(status == 403, "{} bytes instead of {}: {status}", other.len(), bytes.len());
        statuses.push(status.to_string());
    }
    let status = user.put(&target, &bytes).await?;
    ensure!(status / 100 == 2, "as many as said: {status}");
    user.create(&json!({ "content": fresh("sized"), "media": [text(&target, "path")?] })).await?;
    Ok(format!("{}, then {status}", statuses.join(", ")))
}

async fn oversized_declaration(deployments: &AttackTargets) -> Result<String> {
    let user = deployments.lifted().new_user().await?;
    let body = json!({ "mime_type": "image/png", "size": 20 * MIB + 1 });
    let errors = user.api.post("/media", &body).await?.invalid(&["size"])?;
    Ok(format!("422: {}", errors["size"][0]))
}

async fn places(user: &User<'_>, body: &Value, requests: usize) -> Result<usize> {
    let responses_in_flight = stream::iter(0..requests).map(async |_| request_upload(user, body).await);
    let responses: Vec<_> = responses_in_flight.buffer_unordered(16).try_collect().await?;
    let field = if body["size"].is_null() { "mime_type" } else { "size" };
    for (status, response) in &responses {
        let is_right = *status == 201 || *status == 422 && !response["errors"][field].is_null();
        ensure!(is_right, "{status} {response}");
    }
    Ok(responses.iter().filter(|it| it.0 == 201).count())
}

async fn upload_count_limit(deployments: &AttackTargets) -> Result<String> {
    let user = deployments.lifted().new_user().await?;
    let granted = places(&user, &json!({ "mime_type": "image/png", "size": 1 }), 1_020).await?;
    ensure!(granted == 1_000, "{granted} places");
    Ok(format!("{granted} places, then 422"))
}

async fn upload_bytes_limit(deployments: &AttackTargets) -> Result<String> {
    let user = deployments.lifted().new_user().await?;
    let body = json!({ "mime_type": "video/mp4" });
    let granted = places(&user, &body, 30).await?;
    ensure!(granted == 10, "{granted} places");
    Ok(format!("{granted} places, then 422"))
}

async fn oversized_upload(deployments: &AttackTargets) -> Result<String> {
    let user = deployments.lifted().new_user().await?;
    let (_, target) = request_upload(&user, &json!({ "mime_type": "image/png" })).await?;
    let mut large = picture::png(4, 4, [0, 0, 0]);
    large.resize(20 * MIB + 1, 0);
    ensure!(user.put(&target, &large).await? / 100 == 2, "the store takes it");
    ensure!(user.put(&target, &large).await? == 412, "it is there");

    let body = json!({ "content": fresh("large"), "media": [text(&target, "path")?] });
    user.api.post("/posts", &body).await?.invalid(&["media.0"])?;

    let status = user.put(&target, &picture::png(4, 4, [0, 0, 0])).await?;
    ensure!(status / 100 == 2, "it is still there: {status}");
    user.api.post("/posts", &body).await?.invalid(&["media.0"])?;
    Ok("422; the file is gone, and its link brings none back that could be used".to_owned())
}

async fn erased_user_data(_: &AttackTargets) -> Result<String> {
    let mut arguments = vec!["--dynamodb-port", "0"];
    arguments.extend(LIFTED);
    let stack = Harness::start(&arguments).await?;
    let deployment = Deployment::new(stack.ready().clone()).await?;
    let user = user_in_every_table(&deployment).await?;
    let mut other = deployment.new_user().await?;
    other.connect(1).await?;
    let (found, others_before) =
        (count_items_by_table(&stack, user.id).await?, count_items_by_table(&stack, other.id).await?);
    ensure!(8 <= found.len(), "the user is in {found:?} only");

    let mut passes = 0;
    loop {
        let response =
            deployment.http().post(format!("{}/dev/erase-user/{}", deployment.origin(), user.id)).send().await?;
        let (status, body) = (response.status(), response.text().await?);
        ensure!(status == StatusCode::OK, "{status} {body}");
        passes += 1;
        if body.contains("\"done\":true") {
            break;
        }
        ensure!(passes < 10, "erasing does not end: {body}");
    }

    let remaining = count_items_by_table(&stack, user.id).await?;
    ensure!(remaining.is_empty(), "left: {remaining:?}");
    let others_after = count_items_by_table(&stack, other.id).await?;
    ensure!(others_after == others_before, "another user had {others_before:?} and has {others_after:?}");
    let status_of_token = user.api.get("/user").await?.status;
    ensure!(status_of_token == 401, "the token gets {status_of_token}");
    Ok(format!("{} tables before, none after {passes} passes, 401", found.len()))
}

/// An account, a published post, a scheduled one, an image, an idempotency key, and an open connect
/// flow.
async fn user_in_every_table(deployment: &Deployment) -> Result<User<'_>> {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let picture = user.picture().await?;
    let published = user.schedule(&fresh("out"), &[&connection], 0).await?;
    user.reaches(published, "published", 60).await?;
    user.schedule(&fresh("waits"), &[&connection], 3_600).await?;
    user.create(&json!({ "content": fresh("draft"), "media": [picture] })).await?;
    let keyed = json!({ "content": fresh("keyed") });
    user.api.call(Method::POST, "/posts").json(&keyed).header("idempotency-key", "k").send().await?.is(201)?;
    user.api.call(Method::POST, "/connections/connect/sandbox").send().await?.is(201)?;
    deployment.device(&user.api, &[]).await?;
    Ok(user)
}

/// Counts items that contain this number anywhere; only tables with such items are listed.
async fn count_items_by_table(stack: &Harness, user: i64) -> Result<Vec<(String, usize)>> {
    let (url, secret) = (format!("{}/", text(stack.stores(), "dynamodb")?), text(stack.stores(), "secret")?);
    let call = async |operation: &str, body: &Value| -> Result<Value> {
        let keys = ("local", secret);
        let response =
            signed(&Method::POST, &url, "dynamodb", keys, Some(operation), &body.to_string())?.send().await?;
        let (status, text_body) = (response.status(), response.text().await?);
        ensure!(status.is_success(), "{operation}: {status} {text_body}");
        Ok(serde_json::from_str(&text_body)?)
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
