//! Changing and deleting posts before they are published.

use reqwest::Method;
use serde_json::{Value, json};

use super::posts_create::without_links;
use crate::{
    checks,
    client::Api,
    deployment::{Deployment, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{HttpResponse, integer, list},
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "posts: change",
        [
            omitted_fields_stay,
            null_and_empty_lists_clear_fields,
            text_or_files_can_be_removed_but_not_both,
            external_id_and_labels_of_a_scheduled_post_change,
            replaced_targets_keep_their_ids,
            draft_is_scheduled_and_unscheduled,
            update_is_validated_like_a_new_post,
            refused_update_changes_nothing,
            texts_too_long_together_are_an_error_on_the_largest,
            published_post_is_one_of_all_errors,
            deleted_post_is_gone,
            updated_at_changes_and_created_at_stays,
            revision_grows_with_each_change_and_is_the_etag,
            update_of_another_revision_changes_nothing,
            if_match_is_checked_before_the_body,
            draft_of_a_limited_token_is_scheduled_by_revision,
        ]
    )
}

async fn omitted_fields_stay(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let mut platforms = targets(&[&connection])?;
    platforms[0]["content"] = json!("an override");
    let time = moment::in_seconds(7200);
    let full = json!({
        "content": "first",
        "platforms": platforms,
        "media": [user.picture().await?],
        "scheduled_at": time,
    });
    let post = user.create(&full).await?;
    let id = integer(&post, "id")?;
    let later = moment::in_seconds(9000);

    for change in [json!({}), json!({ "content": "second" }), json!({ "scheduled_at": later })] {
        let before = without_links(user.show(id).await?);
        let mut after = without_links(user.change(id, &change).await?);
        for name in ["updated_at", "revision"] {
            after[name] = before[name].clone();
        }
        let mut expected = before;
        for (name, value) in change.as_object().into_iter().flatten() {
            expected[name] = value.clone();
        }
        same(after, expected, &format!("the post after {change}"))?;
    }
    Ok(())
}

async fn null_and_empty_lists_clear_fields(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    for empty in [Value::Null, json!([])] {
        let body = json!({ "content": "a", "platforms": targets(&[&connection])?, "media": [user.picture().await?] });
        let id = integer(&user.create(&body).await?, "id")?;
        let post = user.change(id, &json!({ "media": empty })).await?;
        same((list(&post, "media")?.len(), list(&post, "platforms")?.len()), (0, 1), "media and platforms")?;
        let post = user.change(id, &json!({ "platforms": empty })).await?;
        same(list(&post, "platforms")?.len(), 0, "platforms")?;
        user.api.patch(&format!("/posts/{id}"), &json!({ "content": null })).await?.invalid(&["content"])?;
    }
    let id = user.schedule("a", &[&connection], 7200).await?;
    for empty in [Value::Null, json!([])] {
        user.api.patch(&format!("/posts/{id}"), &json!({ "platforms": empty })).await?.invalid(&["platforms"])?;
    }
    let post = user.change(id, &json!({ "platforms": null, "scheduled_at": null })).await?;
    same((&post["status"], list(&post, "platforms")?.len()), (&json!("draft"), 0), "status and platforms")
}

async fn text_or_files_can_be_removed_but_not_both(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    for blank in [Value::Null, json!(""), json!(" ")] {
        let body = json!({ "content": "a", "platforms": targets(&[&connection])?, "media": [user.picture().await?] });
        let id = integer(&user.create(&body).await?, "id")?;
        let path = format!("/posts/{id}");
        let both = json!({ "content": blank, "media": [] });
        user.api.patch(&path, &both).await?.invalid(&["content"])?;
        let post = user.change(id, &json!({ "content": blank })).await?;
        same((&post["content"], list(&post, "media")?.len()), (&Value::Null, 1), "content and media")?;
        user.api.patch(&path, &json!({ "media": [] })).await?.invalid(&["content"])?;
        user.change(id, &json!({ "content": "b", "media": [] })).await?;
    }
    Ok(())
}

async fn external_id_and_labels_of_a_scheduled_post_change(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let id = user.schedule("a", &[&connection], 7200).await?;
    let mut expected = user.show(id).await?;
    for (change, external_id, labels) in [
        (json!({ "labels": ["spring", "offer"] }), json!(null), json!(["spring", "offer"])),
        (json!({ "external_id": "order-4711" }), json!("order-4711"), json!(["spring", "offer"])),
        (json!({ "labels": ["offer"], "external_id": "order-4712" }), json!("order-4712"), json!(["offer"])),
        (json!({ "external_id": null }), json!(null), json!(["offer"])),
        (json!({ "labels": [] }), json!(null), json!([])),
        (json!({ "labels": ["again"] }), json!(null), json!(["again"])),
        (json!({ "labels": null }), json!(null), json!([])),
    ] {
        let post = user.change(id, &change).await?;
        expected["revision"] = json!(integer(&expected, "revision")? + 1);
        expected["updated_at"] = post["updated_at"].clone();
        (expected["external_id"], expected["labels"]) = (external_id, labels);
        same(&post, &expected, &format!("the post after {change}"))?;
    }
    let path = format!("/posts/{id}");
    let invalid = json!({ "external_id": "", "labels": ["a", ""] });
    user.api.patch(&path, &invalid).await?.invalid(&["external_id", "labels.1"])?;
    same(user.show(id).await?, expected, "the post after an invalid change")
}

async fn replaced_targets_keep_their_ids(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let (a, b, c) = (user.connect(0).await?, user.connect(1).await?, user.connect(2).await?);
    let body = json!({ "content": "text", "platforms": targets(&[&a, &b])?, "scheduled_at": moment::in_seconds(7200) });
    let post = user.create(&body).await?;
    let id = integer(&post, "id")?;

    let mut platforms = targets(&[&c, &b])?;
    platforms[1]["content"] = json!("new words");
    let post_after = user.change(id, &json!({ "platforms": platforms })).await?;

    let (before, after) = (list(&post, "platforms")?, list(&post_after, "platforms")?);
    same(after.len(), 2, "entries")?;
    same(&after[0]["connected_account_id"], &c["id"], "account of the first entry")?;
    same(&after[1]["id"], &before[1]["id"], "id of the entry that stayed")?;
    ensure!(before.iter().all(|it| it["id"] != after[0]["id"]), "a new entry has an old id: {post_after}");
    same(&after[1]["content"], &json!("new words"), "override of the entry that stayed")?;
    let again = user.change(id, &json!({ "platforms": targets(&[&b])? })).await?;
    same(&again["platforms"][0]["content"], &json!("text"), "content once the override is gone")?;
    // Removed targets do not prevent disconnecting any more.
    for removed in [&a, &c] {
        user.api.delete(&format!("/connections/{}", integer(removed, "id")?)).await?.is(204)?;
    }
    user.api.delete(&format!("/connections/{}", integer(&b, "id")?)).await?.error(422, "has_pending_posts")?;
    Ok(())
}

async fn draft_is_scheduled_and_unscheduled(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let body = json!({ "content": "a", "platforms": targets(&[&connection])? });
    let id = integer(&user.create(&body).await?, "id")?;
    for _ in 0..3 {
        let post = user.change(id, &json!({ "scheduled_at": moment::in_seconds(3600) })).await?;
        same(&post["status"], &json!("scheduled"), "status with a time")?;
        let totals = totals(&user).await?;
        same(totals, (0, 1), "drafts and scheduled posts")?;
        let post = user.change(id, &json!({ "scheduled_at": null })).await?;
        same(&post["status"], &json!("draft"), "status without a time")?;
        same(&post["platforms"][0]["status"], &json!("pending"), "status of the entry")?;
    }
    // Removing the time of a draft that has none is allowed.
    user.change(id, &json!({ "scheduled_at": null })).await?;
    same(self::totals(&user).await?, (1, 0), "drafts and scheduled posts")
}

async fn totals(user: &crate::deployment::User<'_>) -> Result<(i64, i64)> {
    let draft = user.api.get("/posts?status=draft").await?.ok(200)?;
    let scheduled = user.api.get("/posts?status=scheduled").await?.ok(200)?;
    Ok((integer(&draft["meta"], "total")?, integer(&scheduled["meta"], "total")?))
}

async fn update_is_validated_like_a_new_post(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let body = json!({ "content": "a", "platforms": targets(&[&connection])? });
    let path = format!("/posts/{}", integer(&user.create(&body).await?, "id")?);
    let rows: Vec<(Value, &[&str])> = vec![
        (json!({ "content": "" }), &["content"]),
        (json!({ "content": 1 }), &["content"]),
        (json!({ "content": "x".repeat(65_001) }), &["content"]),
        (json!({ "scheduled_at": "x" }), &["scheduled_at"]),
        (json!({ "scheduled_at": "2099-01-01T00:00:00" }), &["scheduled_at"]),
        (json!({ "scheduled_at": moment::in_seconds(-400) }), &["scheduled_at"]),
        (json!({ "scheduled_at": moment::in_seconds(6 * 366 * 86_400) }), &["scheduled_at"]),
        (json!({ "scheduled_at": moment::in_seconds(600), "platforms": [] }), &["platforms"]),
        (json!({ "platforms": [{ "connected_account_id": 1 }] }), &["platforms.0.connected_account_id"]),
        (json!({ "platforms": [{ "content": "a" }] }), &["platforms.0.connected_account_id"]),
        (json!({ "media": ["x"] }), &["media.0"]),
        (json!({ "media": 1 }), &["media"]),
        (json!({ "contents": "a" }), &["contents"]),
        (json!({ "status": "draft" }), &["status"]),
        (json!({ "id": 1 }), &["id"]),
        (json!({ "content": "", "media": [1], "scheduled_at": 1 }), &["content", "media.0", "scheduled_at"]),
    ];
    for (change, fields) in rows {
        user.api.patch(&path, &change).await?.invalid(fields)?;
    }
    let errors = user.api.patch(&path, &json!({ "schedule_at": null })).await?.invalid(&["schedule_at"])?;
    ensure!(errors.to_string().contains("did you mean scheduled_at"), "no suggestion: {errors}");
    Ok(())
}

async fn refused_update_changes_nothing(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let id = user.schedule("as it was", &[&connection], 3600).await?;
    let before = user.show(id).await?;

    let change = json!({ "content": "new", "media": ["x"], "scheduled_at": null });
    user.api.patch(&format!("/posts/{id}"), &change).await?.invalid(&["media.0"])?;

    same(user.show(id).await?, before, "the post after a refused change")
}

async fn texts_too_long_together_are_an_error_on_the_largest(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (first, second) = (user.connect(0).await?, user.connect(1).await?);
    // Four bytes each.
    let id = integer(&user.create(&json!({ "content": "😀".repeat(65_000) })).await?, "id")?;
    let path = format!("/posts/{id}");
    let mut platforms = targets(&[&first, &second])?;
    platforms[0]["content"] = json!("small");
    platforms[1]["content"] = json!("x".repeat(39_996));

    let errors = user.api.patch(&path, &json!({ "platforms": platforms })).await?.invalid(&["platforms.1.content"])?;

    let message = errors["platforms.1.content"][0].as_str().unwrap_or_default();
    ensure!(message.contains("300000 bytes") && message.contains("300001"), "the message is {message:?}");
    platforms[1]["content"] = json!("x".repeat(39_995));
    user.change(id, &json!({ "platforms": platforms })).await?;
    Ok(())
}

async fn published_post_is_one_of_all_errors(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let id = user.schedule(&fresh("public"), &[&connection], 0).await?;
    user.reaches(id, "published", 30).await?;

    let change = json!({ "contnt": "x", "content": 1, "media": [1] });
    let fields = ["status", "contnt", "content", "media.0"];
    user.api.patch(&format!("/posts/{id}"), &change).await?.invalid(&fields)?;
    Ok(())
}

async fn deleted_post_is_gone(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let draft = integer(&user.create(&json!({ "content": "a" })).await?, "id")?;
    let scheduled = user.schedule("b", &[&connection], 3600).await?;
    for id in [draft, scheduled] {
        let path = format!("/posts/{id}");
        let response = user.api.delete(&path).await?.is(204)?;
        ensure!(response.text.is_empty(), "{}", response.test_error("204 has a body"));
        user.api.get(&path).await?.refused(404)?;
        user.api.patch(&path, &json!({ "content": "b" })).await?.refused(404)?;
        user.api.call(Method::DELETE, &path).send().await?.refused(404)?;
    }
    same(totals(&user).await?, (0, 0), "drafts and scheduled posts")
}

async fn updated_at_changes_and_created_at_stays(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let post = user.create(&json!({ "content": "a" })).await?;
    same(&post["created_at"], &post["updated_at"], "updated_at of a new post")?;
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;

    let changed = user.change(integer(&post, "id")?, &json!({ "content": "b" })).await?;

    same(&changed["created_at"], &post["created_at"], "created_at")?;
    ensure!(moment::read(&post["updated_at"])? < moment::read(&changed["updated_at"])?, "updated_at stayed");
    Ok(())
}

/// The request with this `If-Match`.
async fn patch_if(api: &Api, path: &str, tag: &str, change: &Value) -> Result<HttpResponse> {
    api.call(Method::PATCH, path).header("if-match", tag).json(change).send().await
}

async fn revision_grows_with_each_change_and_is_the_etag(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let is_tagged = |response: HttpResponse| {
        let post = response.json()?;
        same(response.header("etag"), &format!("\"{}\"", post["revision"]), "etag")?;
        integer(&post, "revision")
    };
    let created = user.api.post("/posts", &json!({ "content": "a" })).await?.is(201)?;
    let path = format!("/posts/{}", created.json()?["id"]);

    let first = is_tagged(created)?;
    same(is_tagged(user.api.get(&path).await?.is(200)?)?, first, "revision of the same post")?;
    let second = is_tagged(user.api.patch(&path, &json!({ "content": "b" })).await?.is(200)?)?;
    ensure!(first < second, "{first} grew to {second}");
    same(is_tagged(user.api.get(&path).await?.is(200)?)?, second, "revision of the changed post")?;
    let listed = user.api.get("/posts?per_page=100").await?.ok(200)?;
    let listed = list(&listed, "data")?.iter().find(|it| path.ends_with(&it["id"].to_string())).cloned();
    same(&listed.unwrap_or_default()["revision"], &json!(second), "revision in a list")
}

async fn update_of_another_revision_changes_nothing(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let id = integer(&user.create(&json!({ "content": "a" })).await?, "id")?;
    let (path, change) = (format!("/posts/{id}"), json!({ "content": "b" }));
    let before = user.show(id).await?;
    let revision = integer(&before, "revision")?;

    let (now, next) = (format!("\"{revision}\""), format!("\"{}\"", revision + 1));
    let stale = [next.clone(), format!("W/{now}"), revision.to_string(), String::new(), format!("{now}, x")];
    for tag in &stale {
        patch_if(&user.api, &path, tag, &change).await?.refused(412)?;
        user.api.call(Method::DELETE, &path).header("if-match", tag).send().await?.refused(412)?;
    }
    same(user.show(id).await?, before, "the post after refused changes")?;

    for tag in [now.clone(), "*".to_owned(), format!("{now}, \"{}\"", revision + 2)] {
        patch_if(&user.api, &path, &tag, &change).await?.is(200)?;
    }
    patch_if(&user.api, &path, &now, &change).await?.refused(412)?;
    let last = format!("\"{}\"", user.show(id).await?["revision"]);
    let call = user.api.call(Method::DELETE, &path);
    // Several headers are one list.
    call.header("if-match", &now).header("if-match", &last).send().await?.is(204)?;
    patch_if(&user.api, &path, &last, &change).await?.refused(404).map(drop)
}

async fn if_match_is_checked_before_the_body(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let path = format!("/posts/{}", user.create(&json!({ "content": "a" })).await?["id"]);
    let large = "x".repeat(300 * 1024);
    let rows = [("application/json", large.as_str(), 413), ("text/plain", "{}", 415), ("application/json", "{", 400)];
    for (kind, body, status) in rows {
        let call = || user.api.call(Method::PATCH, &path).raw(kind, body.as_bytes());
        call().header("if-match", "\"0\"").send().await?.refused(412)?;
        call().header("if-match", "*").send().await?.refused(status)?;
    }
    let call = user.api.call(Method::DELETE, &format!("{path}?really=yes")).header("if-match", "\"0\"");
    call.send().await?.refused(412).map(drop)
}

async fn draft_of_a_limited_token_is_scheduled_by_revision(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (connection, email) = (user.connect(0).await?, user.email.clone());
    let drafts = deployment.grant(&mut user.browser, &email, &["posts:draft"]).await?;
    let draft = drafts.post("/posts", &json!({ "content": "a", "platforms": targets(&[&connection])? })).await?;
    let (tag, path) = (draft.header("etag").to_owned(), format!("/posts/{}", draft.json()?["id"]));
    let at = json!({ "scheduled_at": moment::in_seconds(3600) });

    // Checked before all other validation, and after the scope.
    for change in [at.clone(), json!({ "scheduled_at": "soon", "content": "" })] {
        user.api.patch(&path, &change).await?.refused(428)?;
        patch_if(&user.api, &path, "*", &change).await?.refused(428)?;
        patch_if(&drafts, &path, &tag, &change).await?.refused(403)?;
    }
    let scheduled = patch_if(&user.api, &path, &tag, &at).await?.ok(200)?;
    same(&scheduled["status"], &json!("scheduled"), "status")?;

    // Scheduled by a token with `posts:write`, it needs no `If-Match`.
    user.api.patch(&path, &json!({ "scheduled_at": null })).await?.is(200)?;
    user.api.patch(&path, &at).await?.is(200).map(drop)
}
