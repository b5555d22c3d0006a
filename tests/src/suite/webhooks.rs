//! Managing webhooks through the API. Deliveries are tested in `webhook_calls`, where the service
//! may call an endpoint of the tests.

use domain::webhook::EventKind;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, User},
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "webhooks",
        [
            webhook_secret_is_shown_once,
            webhook_is_changed_and_deleted,
            webhook_is_hidden_from_other_users,
            private_address_is_refused,
            all_webhook_errors_are_returned_together,
            user_may_have_ten_webhooks,
            public_key_is_public,
        ]
    )
}

const URL: &str = "https://example.com/hooks?of=social";

async fn create_webhook(user: &User<'_>) -> Result<Value> {
    user.api.post("/webhooks", &json!({ "url": URL })).await?.ok(201)
}

async fn webhook_secret_is_shown_once(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;

    let created = create_webhook(&user).await?;
    let path = format!("/webhooks/{}", integer(&created, "id")?);
    let shown = user.api.get(&path).await?.ok(200)?;
    let listed = user.api.get("/webhooks").await?.ok(200)?;
    let rotated = user.api.post(&format!("{path}/rotate"), &json!({})).await?.ok(200)?;

    ensure!(text(&created, "secret")?.starts_with("whsec_"), "secret is {}", created["secret"]);
    ensure!(rotated["secret"] != created["secret"], "the secret was not replaced");
    let until = moment::read(&rotated["previous_secret_until"])? - moment::now();
    ensure!((23..=24).contains(&until.num_hours()), "both sign for {until}");
    let mut without = created.clone();
    without.as_object_mut().map(|it| it.remove("secret"));
    same(&shown, &without, "the webhook without its secret")?;
    same(list(&listed, "data")?, &[without], "the list")?;
    same(&shown["status"], &json!("unverified"), "status")?;
    same((&shown["url"], &shown["events"], &shown["disabled"]), (&json!(URL), &json!([]), &json!(false)), "the webhook")
}

async fn webhook_is_changed_and_deleted(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let created = create_webhook(&user).await?;
    let path = format!("/webhooks/{}", integer(&created, "id")?);

    let body = json!({ "events": ["post.failed"], "disabled": true });
    let changed = user.api.patch(&path, &body).await?.ok(200)?;
    same((&changed["url"], &changed["events"]), (&json!(URL), &json!(["post.failed"])), "url and events")?;
    same((&changed["disabled"], &changed["disabled_reason"]), (&json!(true), &json!("owner")), "disabled")?;
    same(&changed["status"], &json!("disabled"), "status")?;
    user.api.post(&format!("{path}/test"), &json!({})).await?.invalid(&["disabled"])?;
    let restored = user.api.patch(&path, &json!({ "events": null, "disabled": false })).await?.ok(200)?;
    same((&restored["disabled_at"], &restored["events"]), (&Value::Null, &json!([])), "after it was revoked")?;
    user.api.delete(&path).await?.is(204)?;
    for response in [user.api.get(&path).await?, user.api.delete(&path).await?] {
        response.refused(404)?;
    }
    Ok(())
}

async fn webhook_is_hidden_from_other_users(deployment: &Deployment) -> Result {
    let (user, other) = (deployment.new_user().await?, deployment.new_user().await?);
    let path = format!("/webhooks/{}", integer(&create_webhook(&user).await?, "id")?);
    let delivery = format!("{path}/deliveries/evt_{}/redeliver", "x".repeat(43));

    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::PATCH, path.clone()),
        (Method::DELETE, path.clone()),
        (Method::POST, format!("{path}/rotate")),
        (Method::POST, format!("{path}/test")),
        (Method::GET, format!("{path}/deliveries")),
        (Method::POST, delivery.clone()),
    ] {
        other.api.call(method, &path).send().await?.refused(404)?;
    }
    user.api.post(&delivery, &json!({})).await?.refused(404)?;
    let listed = other.api.get("/webhooks").await?.ok(200)?;
    same(list(&listed, "data")?.len(), 0, "webhooks of the other")
}

async fn private_address_is_refused(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    for url in [
        "http://example.com/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:169.254.169.254]/latest",
        "https://169.254.169.254/latest",
        "https://10.0.0.1/",
        "https://example.com:25/",
        "https://name:word@example.com/",
        "https://example.com/#x",
        "ftp://example.com/",
        "example.com",
        "",
    ] {
        let errors = user.api.post("/webhooks", &json!({ "url": url })).await?.invalid(&["url"])?;
        ensure!(errors["url"][0].as_str().is_some_and(|it| it.len() > 10), "no reason for {url}: {errors}");
    }
    Ok(())
}

async fn all_webhook_errors_are_returned_together(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let body = json!({ "events": ["post.publishd", 7], "urls": [] });
    user.api.post("/webhooks", &body).await?.invalid(&["url", "events.0", "events.1", "urls"])?;
    let twice = json!({ "url": URL, "events": ["post.failed", "post.failed"] });
    user.api.post("/webhooks", &twice).await?.invalid(&["events.1"])?;
    user.api
        .post("/webhooks", &json!({ "url": URL, "events": vec!["x"; EventKind::ALL.len() + 1] }))
        .await?
        .invalid(&["events"])?;
    let path = format!("/webhooks/{}", integer(&create_webhook(&user).await?, "id")?);
    user.api.patch(&path, &json!({ "url": null, "disabled": "no" })).await?.invalid(&["url", "disabled"])?;
    for query in ["per_page=0", "per_page=101", "before=x", "page=2"] {
        let field = query.split('=').next().unwrap_or_default();
        user.api.get(&format!("{path}/deliveries?{query}")).await?.invalid(&[field])?;
    }
    user.api.delete(&path).await?.is(204)?;
    Ok(())
}

async fn user_may_have_ten_webhooks(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let body = json!({ "url": URL });
    let requests = (0..14).map(|_| user.api.post("/webhooks", &body));
    let mut created = 0;
    for response in futures::future::join_all(requests).await {
        let response = response?;
        if response.status == 201 {
            created += 1;
        } else {
            response.invalid(&["url"])?;
        }
    }
    ensure!(created <= 10, "{created} were made at once");
    while user.api.post("/webhooks", &body).await?.status == 201 {
        created += 1;
    }
    same(created, 10, "webhooks")
}

async fn public_key_is_public(deployment: &Deployment) -> Result {
    let (one, other) = (deployment.stranger()?, deployment.stranger()?);
    let key = one.get("/webhooks/key").await?.ok(200)?;
    ensure!(text(&key, "public_key")?.starts_with("whpk_"), "public_key is {key}");
    same(other.get("/webhooks/key").await?.ok(200)?, key, "the key, asked for again")
}
