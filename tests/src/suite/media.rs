//! Uploading, fetching and using files.

use serde_json::{Value, json};

use crate::{
    checks,
    deployment::Deployment,
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    picture,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "media",
        [
            upload_can_be_used_in_a_post,
            every_type_has_its_extension_and_kind,
            requests_are_validated,
            nothing_is_fetched_from_private_addresses,
            path_must_be_an_upload_of_the_user,
            uploaded_bytes_must_match_the_declared_type,
            upload_requires_its_headers,
            empty_upload_is_invalid,
            declared_size_must_match_the_upload,
            upload_counts_with_its_actual_size,
            upload_url_accepts_one_put,
            upload_over_its_limit_is_deleted,
        ]
    )
}

async fn upload_can_be_used_in_a_post(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let bytes = picture::png(40, 30, [200, 10, 10]);

    let target = user.api.post("/media", &json!({ "mime_type": "image/png", "filename": "a.png" })).await?.ok(201)?;
    let path = text(&target, "path")?;
    same(user.put(&target, &bytes).await? / 100, 2, "class of the status of the PUT")?;
    let post = user.create(&json!({ "content": "with a picture", "media": [path] })).await?;

    same(target.as_object().map(serde_json::Map::len), Some(4), "fields of an upload target")?;
    same(&target["expires_in"], &json!(3600), "expires_in")?;
    let headers = target["upload_headers"].as_object();
    ensure!(headers.is_some_and(|it| it.values().all(Value::is_string)), "upload_headers is no map: {target}");
    ensure!(path.starts_with(&format!("media/{}/", user.id)), "path is {path} for user {}", user.id);
    let item = &list(&post, "media")?[0];
    same(&item["mime_type"], &json!("image/png"), "mime_type")?;
    let received = deployment.http().get(text(item, "url")?).send().await?;
    same(received.status().as_u16(), 200, "status of the media url")?;
    same(received.bytes().await?.to_vec(), bytes, "the bytes behind the media url")
}

async fn every_type_has_its_extension_and_kind(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    for (mime_type, extension) in [
        ("image/jpeg", "jpg"),
        ("image/png", "png"),
        ("image/gif", "gif"),
        ("image/webp", "webp"),
        ("video/mp4", "mp4"),
        ("video/quicktime", "mov"),
        ("application/pdf", "pdf"),
    ] {
        let target = user.api.post("/media", &json!({ "mime_type": mime_type, "filename": null })).await?.ok(201)?;
        let path = text(&target, "path")?;
        ensure!(path.ends_with(&format!(".{extension}")), "{mime_type} has the path {path}");
    }
    for (mime_type, bytes, kind) in [("image/gif", picture::gif(), "image"), ("video/mp4", picture::mp4(), "video")] {
        let path = user.upload(mime_type, &bytes).await?;
        let post = user.create(&json!({ "content": "a file", "media": [path] })).await?;
        same(&post["media"][0]["file_type"], &json!(kind), "file_type")?;
    }
    Ok(())
}

async fn requests_are_validated(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let long = "a".repeat(256);
    let longest = format!("{}.png", "ä".repeat(251));
    let url = format!("https://example.com/{}", "a".repeat(2048));
    let rows: [(Value, &[&str]); 12] = [
        (json!({}), &["mime_type"]),
        (json!({ "mime_type": null }), &["mime_type"]),
        (json!({ "mime_type": "" }), &["mime_type"]),
        (json!({ "mime_type": "image/svg+xml" }), &["mime_type"]),
        (json!({ "mime_type": "text/html" }), &["mime_type"]),
        (json!({ "mime_type": 1 }), &["mime_type"]),
        (json!({ "mime_type": "image/png", "filename": long }), &["filename"]),
        (json!({ "mime_type": "image/png", "filename": 5 }), &["filename"]),
        (json!({ "mime_type": "image/png", "source_url": url }), &["source_url"]),
        (json!({ "mime_type": "image/png", "source_url": "not a url" }), &["source_url"]),
        (json!({ "mime_type": "image/png", "file_name": "a" }), &["file_name"]),
        (json!({ "mime_type": "nope", "filename": long, "source_url": 1 }), &["mime_type", "filename", "source_url"]),
    ];
    for (body, fields) in rows {
        user.api.post("/media", &body).await?.invalid(fields)?;
    }
    let body = json!({ "mime_type": "image/png", "filename": longest, "source_url": null });
    user.api.post("/media", &body).await?.is(201)?;
    Ok(())
}

async fn nothing_is_fetched_from_private_addresses(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let own = deployment.origin();
    for url in [
        "http://127.0.0.1/a.png",
        "http://localhost/a.png",
        &format!("{own}/sandbox/posts.json"),
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/a.png",
        "http://[::ffff:127.0.0.1]/a.png",
        "http://[64:ff9b::7f00:1]/a.png",
        "http://[2002:7f00:1::]/a.png",
        "http://2130706433/a.png",
        "http://0x7f.1/a.png",
        "http://0.0.0.0/a.png",
        "http://10.0.0.1/a.png",
        "http://172.16.0.1/a.png",
        "http://192.168.1.1/a.png",
        "http://100.64.0.1/a.png",
        "http://[fd00::1]/a.png",
        "http://[fe80::1]/a.png",
        "file:///etc/passwd",
        "ftp://example.com/a.png",
        "data:image/png;base64,AAAA",
        "http://user:secret@127.0.0.1/a.png",
        // The platform address of Azure, and ports of mail servers and databases.
        "http://168.63.129.16/machine/?comp=goalstate",
        "http://[::ffff:168.63.129.16]/",
        "http://example.com:25/",
        "https://example.com:6379/",
        "http://8.8.8.8:22/",
        "//example.com/a.png",
        "javascript:alert(1)",
    ] {
        let body = json!({ "mime_type": "image/png", "source_url": url });
        let started = std::time::Instant::now();
        user.api.post("/media", &body).await?.invalid(&["source_url"])?;
        let took = started.elapsed();
        // A connection to such an address would hang, so a quick response shows that none was
        // tried.
        ensure!(took.as_secs() < 45, "refusing {url} took {took:?}");
    }
    Ok(())
}

async fn path_must_be_an_upload_of_the_user(deployment: &Deployment) -> Result {
    let (user, other) = (deployment.new_user().await?, deployment.new_user().await?);
    let (own_path, other_path) = (user.picture().await?, other.picture().await?);
    let target = user.api.post("/media", &json!({ "mime_type": "image/png" })).await?.ok(201)?;
    let never = text(&target, "path")?;
    let id = own_path.trim_end_matches(".png").rsplit('/').next().unwrap_or_default();
    let renamed = format!("media/{}/{id}.jpg", user.id);
    let borrowed = format!("media/{}/{id}.png", other.id);

    for wrong in [
        never,
        other_path.as_str(),
        &renamed,
        &borrowed,
        "",
        "x",
        "media/1/1.png",
        "../secret",
        &format!("/{own_path}"),
        &format!("media/{}/../{}/{id}.png", user.id, user.id),
        &"x".repeat(3000),
    ] {
        let body = json!({ "content": "a", "media": [own_path, wrong] });
        user.api.post("/posts", &body).await?.invalid(&["media.1"])?;
    }
    let post = user.create(&json!({ "content": "a", "media": [own_path] })).await?;
    let path = format!("/posts/{}", integer(&post, "id")?);
    user.api.patch(&path, &json!({ "media": [other_path] })).await?.invalid(&["media.0"])?;
    same(list(&user.show(integer(&post, "id")?).await?, "media")?.len(), 1, "media after a refused change")
}

async fn uploaded_bytes_must_match_the_declared_type(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let html = b"<html><script>alert(1)</script></html>".to_vec();
    for (mime_type, bytes) in [
        ("image/jpeg", picture::png(4, 4, [0, 0, 0])),
        ("image/png", html.clone()),
        ("image/webp", html.clone()),
        ("video/mp4", picture::gif()),
        ("image/gif", html),
    ] {
        let path = user.upload(mime_type, &bytes).await?;
        let body = json!({ "content": "a", "media": [path] });
        user.api.post("/posts", &body).await?.invalid(&["media.0"])?;
    }
    Ok(())
}

async fn upload_requires_its_headers(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let mut target = user.api.post("/media", &json!({ "mime_type": "image/png" })).await?.ok(201)?;
    target["upload_headers"] = json!({ "content-type": "text/html" });

    let status = user.put(&target, b"<html></html>").await?;

    same(status, 403, "status of a PUT with another content type than the signed one")
}

async fn empty_upload_is_invalid(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let path = user.upload("image/png", b"").await?;
    let body = json!({ "content": "a", "media": [path] });
    user.api.post("/posts", &body).await?.invalid(&["media.0"])?;
    Ok(())
}

async fn declared_size_must_match_the_upload(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let bytes = picture::png(8, 8, [1, 2, 3]);
    for size in [json!(0), json!("x"), json!(-1), json!(1.5), json!((20 << 20) + 1)] {
        let body = json!({ "mime_type": "image/png", "size": size });
        user.api.post("/media", &body).await?.invalid(&["size"])?;
    }
    let several = json!({ "mime_type": "image/png", "size": 1_u64 << 40, "filename": "x".repeat(256) });
    user.api.post("/media", &several).await?.invalid(&["size", "filename"])?;
    let both = json!({ "mime_type": "image/png", "size": 1, "source_url": "https://example.com/a.png" });
    user.api.post("/media", &both).await?.invalid(&["size"])?;

    let body = json!({ "mime_type": "image/png", "size": bytes.len() });
    let target = user.api.post("/media", &body).await?.ok(201)?;
    same(&target["upload_headers"]["content-length"], &json!(bytes.len().to_string()), "content-length")?;
    same(user.put(&target, &bytes).await? / 100, 2, "class of the status of the PUT")?;
    user.create(&json!({ "content": "of that size", "media": [target["path"]] })).await?;
    Ok(())
}

async fn upload_counts_with_its_actual_size(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    // A user may store 10 GiB, and a video without a declared size may have 1 GiB.
    let video = json!({ "mime_type": "video/mp4" });
    let mut targets = Vec::new();
    for _ in 0..10 {
        targets.push(user.api.post("/media", &video).await?.ok(201)?);
    }
    user.api.post("/media", &video).await?.invalid(&["mime_type"])?;
    user.api.post("/media", &json!({ "mime_type": "video/mp4", "size": 1_u64 << 30 })).await?.invalid(&["size"])?;
    // A file of another type than declared counts with its actual size, too.
    for (target, bytes) in targets.iter().zip([picture::mp4(), b"<html></html>".to_vec()]) {
        same(user.put(target, &bytes).await? / 100, 2, "class of the status of the PUT")?;
    }

    user.api.post("/media", &video).await?.is(201)?;
    user.api.post("/media", &video).await?.invalid(&["mime_type"])?;
    user.create(&json!({ "content": "small", "media": [targets[0]["path"]] })).await?;
    let body = json!({ "content": "no video", "media": [targets[1]["path"]] });
    user.api.post("/posts", &body).await?.invalid(&["media.0"])?;
    Ok(())
}

async fn upload_url_accepts_one_put(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    for _ in 0..5 {
        let target = user.api.post("/media", &json!({ "mime_type": "image/png" })).await?.ok(201)?;
        let pictures: Vec<_> = (0..12).map(|it| picture::png(64, 48, [it, 0, 0])).collect();

        let puts = futures::future::join_all(pictures.iter().map(|it| user.put(&target, it))).await;

        let puts: Vec<_> = puts.into_iter().collect::<Result<_>>()?;
        let taken: Vec<_> = (0..).zip(&puts).filter(|it| it.1 / 100 == 2).map(|it| it.0).collect();
        ensure!(taken.len() == 1 && puts.iter().all(|it| [200, 409, 412].contains(it)), "the PUTs ended with {puts:?}");
        let post = user.create(&json!({ "content": "one", "media": [target["path"]] })).await?;
        let url = text(&list(&post, "media")?[0], "url")?.to_owned();
        let stored = deployment.http().get(url).send().await?.bytes().await?;
        let put: &[u8] = &pictures[taken[0]];
        ensure!(put == stored, "the stored file is not the accepted one");
    }
    Ok(())
}

async fn upload_over_its_limit_is_deleted(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let target = user.api.post("/media", &json!({ "mime_type": "image/png" })).await?.ok(201)?;
    let mut bytes = picture::png(8, 8, [1, 2, 3]);
    bytes.resize((20 << 20) + 1, 0);
    same(user.put(&target, &bytes).await? / 100, 2, "class of the status of the PUT")?;
    let body = json!({ "content": "too large", "media": [target["path"]] });

    user.api.post("/posts", &body).await?.invalid(&["media.0"])?;

    // The store does not overwrite an existing file.
    same(user.put(&target, &picture::png(8, 8, [1, 2, 3])).await? / 100, 2, "class of the status of a second PUT")?;
    user.api.post("/posts", &body).await?.invalid(&["media.0"])?;
    Ok(())
}
