//! Files that the service fetches from an allowed server.

use reqwest::Method;
use serde_json::json;

use crate::{
    checks,
    deployment::{Deployment, User, fresh},
    ensure,
    error::{Result, TestError, same},
    file_server,
    http_response::{HttpResponse, text},
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "fetching",
        [
            fetched_file_can_be_used,
            up_to_five_redirects_are_followed,
            every_redirect_is_checked,
            file_of_another_type_is_refused,
            refused_file_leaves_its_idempotency_key_unused,
            too_large_file_is_refused,
            too_slow_file_is_refused,
        ]
    )
}

async fn fetch(user: &User<'_>, path: &str) -> Result<HttpResponse> {
    let files = user.deployment.files().ok_or_else(|| TestError::new("there is no server with files"))?;
    let body = json!({ "mime_type": "image/png", "source_url": format!("http://{files}{path}") });
    user.api.post("/media", &body).await
}

async fn ensure_refused(user: &User<'_>, path: &str) -> Result {
    let errors = fetch(user, path).await?.invalid(&["source_url"])?;
    ensure!(errors["source_url"][0].as_str().is_some_and(|it| it.len() > 15), "no reason is given: {errors}");
    Ok(())
}

async fn fetched_file_can_be_used(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    for path in ["/good.png", "/unlabeled"] {
        let fetched = fetch(&user, path).await?.ok(201)?;
        same(fetched.as_object().map(serde_json::Map::len), Some(4), "fields of a fetched file")?;
        same(&fetched["mime_type"], &json!("image/png"), "mime_type")?;
        same(&fetched["size"], &json!(file_server::small_image().len()), "size")?;
        let received = deployment.http().get(text(&fetched, "url")?).send().await?;
        same(received.bytes().await?.to_vec(), file_server::small_image(), "the bytes behind the url")?;
        let post = user.create(&json!({ "content": "fetched", "media": [fetched["path"]] })).await?;
        same(&post["media"][0]["file_type"], &json!("image"), "file_type")?;
    }
    Ok(())
}

async fn up_to_five_redirects_are_followed(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    for hops in [1, 5] {
        fetch(&user, &format!("/hops/{hops}")).await?.is(201)?;
    }
    ensure_refused(&user, "/hops/6").await
}

async fn every_redirect_is_checked(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    for path in ["/to-metadata", "/to-loopback", "/to-file"] {
        ensure_refused(&user, path).await?;
    }
    Ok(())
}

async fn file_of_another_type_is_refused(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    for path in ["/page.png", "/empty.png", "/nothing-here"] {
        ensure_refused(&user, path).await?;
    }
    let files = deployment.files().ok_or_else(|| TestError::new("there is no server with files"))?;
    let body = json!({ "mime_type": "image/jpeg", "source_url": format!("http://{files}/good.png") });
    user.api.post("/media", &body).await?.invalid(&["source_url"])?;
    Ok(())
}

async fn refused_file_leaves_its_idempotency_key_unused(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let files = deployment.files().ok_or_else(|| TestError::new("there is no server with files"))?;
    let key = fresh("a key of a file");
    let send = |path: &str| {
        let body = json!({ "mime_type": "image/png", "source_url": format!("http://{files}{path}") });
        user.api.call(Method::POST, "/media").header("idempotency-key", &key).json(&body).send()
    };

    send("/nothing-here").await?.invalid(&["source_url"])?;

    send("/good.png").await?.is(201)?;
    Ok(())
}

async fn too_large_file_is_refused(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    ensure_refused(&user, "/large.png").await?;
    ensure_refused(&user, "/endless.png").await
}

async fn too_slow_file_is_refused(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let started = std::time::Instant::now();
    ensure_refused(&user, "/slow.png").await?;
    let seconds = started.elapsed().as_secs();
    ensure!((20..=32).contains(&seconds), "given up after {seconds} s instead of 25");
    Ok(())
}
