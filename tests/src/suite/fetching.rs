//! Files that the service fetches itself, from a server that it is allowed to ask.

use reqwest::Method;
use serde_json::json;

use crate::{
    answer::{Answer, text},
    checks, ensure,
    fault::{Fault, Result, same},
    file_server,
    runner::Check,
    world::User,
    world::{Deployment, fresh},
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "fetching",
        [
            a_file_is_fetched_and_can_be_used,
            up_to_five_redirects_are_followed,
            every_hop_is_checked,
            what_is_not_the_declared_type_is_refused,
            a_file_that_is_refused_leaves_its_key_free,
            what_is_too_large_is_refused,
            what_takes_too_long_is_refused,
        ]
    )
}

async fn fetch(user: &User<'_>, path: &str) -> Result<Answer> {
    let files = user.world.files().ok_or_else(|| Fault::new("there is no server with files"))?;
    let body = json!({ "mime_type": "image/png", "source_url": format!("http://{files}{path}") });
    user.api.post("/media", &body).await
}

async fn refused(user: &User<'_>, path: &str) -> Result {
    let errors = fetch(user, path).await?.invalid(&["source_url"])?;
    ensure!(errors["source_url"][0].as_str().is_some_and(|it| it.len() > 15), "no reason is given: {errors}");
    Ok(())
}

async fn a_file_is_fetched_and_can_be_used(world: &Deployment) -> Result {
    let user = world.user().await?;
    for path in ["/good.png", "/unlabelled"] {
        let fetched = fetch(&user, path).await?.ok(201)?;
        same(fetched.as_object().map(serde_json::Map::len), Some(4), "fields of a fetched file")?;
        same(&fetched["mime_type"], &json!("image/png"), "mime_type")?;
        same(&fetched["size"], &json!(file_server::good_file().len()), "size")?;
        let got = world.http().get(text(&fetched, "url")?).send().await?;
        same(got.bytes().await?.to_vec(), file_server::good_file(), "the bytes behind the url")?;
        let post = user.create(&json!({ "content": "fetched", "media": [fetched["path"]] })).await?;
        same(&post["media"][0]["file_type"], &json!("image"), "file_type")?;
    }
    Ok(())
}

async fn up_to_five_redirects_are_followed(world: &Deployment) -> Result {
    let user = world.user().await?;
    for hops in [1, 5] {
        fetch(&user, &format!("/hops/{hops}")).await?.is(201)?;
    }
    refused(&user, "/hops/6").await
}

async fn every_hop_is_checked(world: &Deployment) -> Result {
    let user = world.user().await?;
    for path in ["/to-metadata", "/to-loopback", "/to-file"] {
        refused(&user, path).await?;
    }
    Ok(())
}

async fn what_is_not_the_declared_type_is_refused(world: &Deployment) -> Result {
    let user = world.user().await?;
    for path in ["/page.png", "/empty.png", "/nothing-here"] {
        refused(&user, path).await?;
    }
    let files = world.files().ok_or_else(|| Fault::new("there is no server with files"))?;
    let body = json!({ "mime_type": "image/jpeg", "source_url": format!("http://{files}/good.png") });
    user.api.post("/media", &body).await?.invalid(&["source_url"])?;
    Ok(())
}

async fn a_file_that_is_refused_leaves_its_key_free(world: &Deployment) -> Result {
    let user = world.user().await?;
    let files = world.files().ok_or_else(|| Fault::new("there is no server with files"))?;
    let key = fresh("a key of a file");
    let send = |path: &str| {
        let body = json!({ "mime_type": "image/png", "source_url": format!("http://{files}{path}") });
        user.api.call(Method::POST, "/media").header("idempotency-key", &key).json(&body).send()
    };

    send("/nothing-here").await?.invalid(&["source_url"])?;

    send("/good.png").await?.is(201)?;
    Ok(())
}

async fn what_is_too_large_is_refused(world: &Deployment) -> Result {
    let user = world.user().await?;
    refused(&user, "/large.png").await?;
    refused(&user, "/endless.png").await
}

async fn what_takes_too_long_is_refused(world: &Deployment) -> Result {
    let user = world.user().await?;
    let started = std::time::Instant::now();
    refused(&user, "/slow.png").await?;
    let seconds = started.elapsed().as_secs();
    ensure!((20..=32).contains(&seconds), "given up after {seconds} s instead of 25");
    Ok(())
}
