//! Creating posts: drafts, schedules, and all validation errors.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    moment,
    picture::png,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "posts: create",
        [
            draft_keeps_all_fields,
            post_with_a_time_is_scheduled,
            times_accept_any_offset,
            every_field_is_validated,
            files_alone_are_published,
            external_id_and_labels_are_kept_as_written,
            longest_content_is_accepted,
            all_errors_are_returned_together,
            misspelled_field_is_an_error,
            targets_must_be_distinct_own_connections,
            media_paths_are_distinct_and_at_most_thirty,
            platform_rules_apply_only_to_scheduled_posts,
            post_can_be_validated_first,
            validate_finds_the_same_errors_as_create,
        ]
    )
}

async fn draft_keeps_all_fields(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (first, second) = (user.connect(0).await?, user.connect(1).await?);
    let pictures = [user.picture().await?, user.picture().await?];
    let content = "  Grüße, 世界 👋🏽\n\tzwei Zeilen \u{200d}\"quoted\" <b>&amp;</b>  ";
    let mut platforms = targets(&[&second, &first])?;
    platforms[0]["content"] = json!("an override");

    let body = json!({ "content": content, "platforms": platforms, "media": pictures, "scheduled_at": null });
    let post = user.create(&body).await?;

    same(&post["status"], &json!("draft"), "status")?;
    same(text(&post, "content")?, content, "content")?;
    same(&post["creator"]["id"], &json!(user.id), "creator.id")?;
    let entries = list(&post, "platforms")?;
    same(entries.len(), 2, "entries")?;
    for (entry, connection, expected) in [(&entries[0], &second, "an override"), (&entries[1], &first, content)] {
        same(&entry["connected_account_id"], &connection["id"], "connected_account_id")?;
        same(&entry["username"], &connection["username"], "username")?;
        same(text(entry, "content")?, expected, "content of the entry")?;
        same(&entry["status"], &json!("pending"), "status of the entry")?;
        for empty in ["published_at", "platform_post_id", "platform_post_url", "error_message"] {
            same(&entry[empty], &Value::Null, empty)?;
        }
    }
    let media: Vec<_> = list(&post, "media")?.iter().map(|it| it["id"].as_i64()).collect();
    let id = |path: &String| path.rsplit(['/', '.']).nth(1).and_then(|it| it.parse::<i64>().ok());
    same(media, pictures.iter().map(id).collect(), "media in the order given")?;
    let shown = user.show(integer(&post, "id")?).await?;
    same(without_links(shown), without_links(post), "the post as it is shown")
}

/// A post without its links, which are signed anew each time and never equal.
pub(super) fn without_links(mut post: Value) -> Value {
    let remove = |owner: &mut Value| {
        for item in owner["media"].as_array_mut().into_iter().flatten() {
            item["url"] = Value::Null;
        }
    };
    remove(&mut post);
    for target in post["platforms"].as_array_mut().into_iter().flatten() {
        target["segments"].as_array_mut().into_iter().flatten().for_each(remove);
    }
    post
}

async fn post_with_a_time_is_scheduled(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    for ahead in [TimeDelta::minutes(1), TimeDelta::days(5 * 365)] {
        let at = moment::written(moment::now() + ahead);
        let body = json!({ "content": "later", "platforms": targets(&[&connection])?, "scheduled_at": at });
        let post = user.create(&body).await?;
        same(&post["status"], &json!("scheduled"), "status")?;
        same(text(&post, "scheduled_at")?, at.as_str(), "scheduled_at")?;
    }
    Ok(())
}

async fn times_accept_any_offset(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let year = moment::now().format("%Y").to_string().parse::<i32>()? + 1;
    for (given, expected) in [
        (format!("{year}-11-21T09:30:00Z"), format!("{year}-11-21T09:30:00.000Z")),
        (format!("{year}-11-21T09:30:00.5+02:00"), format!("{year}-11-21T07:30:00.500Z")),
        (format!("{year}-01-01T00:00:00-11:30"), format!("{year}-01-01T11:30:00.000Z")),
        (format!("{year}-11-21t09:30:00.123456789z"), format!("{year}-11-21T09:30:00.123Z")),
        (format!("{year}-11-21T09:30:00.{}Z", "123456789".repeat(20)), format!("{year}-11-21T09:30:00.123Z")),
    ] {
        let body = json!({ "content": "later", "platforms": targets(&[&connection])?, "scheduled_at": given });
        let post = user.create(&body).await?;
        same(text(&post, "scheduled_at")?, expected.as_str(), &format!("scheduled_at given as {given}"))?;
    }
    Ok(())
}

async fn every_field_is_validated(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let on = targets(&[&connection])?;
    let with = |name: &str, value: Value| {
        let mut body = json!({ "content": "a", "platforms": on });
        body[name] = value;
        body
    };
    let long = "x".repeat(65_001);
    let entry = |name: &str, value: Value| {
        let mut entry = on[0].clone();
        entry[name] = value;
        with("platforms", json!([entry]))
    };
    let in_a_year = moment::now() + TimeDelta::days(365);
    let at = |time| with("scheduled_at", time);
    let rows: Vec<(Value, &[&str])> = vec![
        (json!({}), &["content"]),
        (with("content", json!(null)), &["content"]),
        (with("content", json!("")), &["content"]),
        (with("content", json!(" \n\t\u{a0}\u{3000}")), &["content"]),
        (with("content", json!(7)), &["content"]),
        (with("content", json!(["a"])), &["content"]),
        (with("content", json!(long)), &["content"]),
        (with("platforms", json!("x")), &["platforms"]),
        (with("platforms", json!({})), &["platforms"]),
        (with("platforms", json!([5])), &["platforms.0"]),
        (with("platforms", json!([null])), &["platforms.0"]),
        (with("platforms", json!([{}])), &["platforms.0.connected_account_id"]),
        (entry("connected_account_id", json!(null)), &["platforms.0.connected_account_id"]),
        (entry("connected_account_id", json!("x")), &["platforms.0.connected_account_id"]),
        (entry("connected_account_id", json!(1.5)), &["platforms.0.connected_account_id"]),
        (entry("connected_account_id", json!(0)), &["platforms.0.connected_account_id"]),
        (entry("connected_account_id", json!(-5)), &["platforms.0.connected_account_id"]),
        (entry("connected_account_id", json!(u64::MAX)), &["platforms.0.connected_account_id"]),
        (entry("content", json!("  ")), &["platforms.0.content"]),
        (entry("content", json!("")), &["platforms.0.content"]),
        (entry("content", json!(1)), &["platforms.0.content"]),
        (entry("content", json!(long)), &["platforms.0.content"]),
        (entry("contnt", json!("x")), &["platforms.0.contnt"]),
        (at(json!("tomorrow")), &["scheduled_at"]),
        (at(json!("")), &["scheduled_at"]),
        (at(json!(1_795_000_000)), &["scheduled_at"]),
        (at(json!(in_a_year.format("%Y-%m-%dT%H:%M:%S").to_string())), &["scheduled_at"]),
        (at(json!(in_a_year.format("%Y-%m-%d").to_string())), &["scheduled_at"]),
        (at(json!(in_a_year.format("%Y-02-30T10:00:00Z").to_string())), &["scheduled_at"]),
        (at(json!(in_a_year.format("%Y-06-30T23:59:60Z").to_string())), &["scheduled_at"]),
        (at(json!(in_a_year.format("%Y-06-30T10:00:00\u{2212}05:00").to_string())), &["scheduled_at"]),
        (at(json!(moment::in_seconds(-330))), &["scheduled_at"]),
        (at(json!(moment::in_seconds(-86_400))), &["scheduled_at"]),
        (at(json!(moment::in_seconds(6 * 366 * 86_400))), &["scheduled_at"]),
        (with("media", json!("x")), &["media"]),
        (with("media", json!([5])), &["media.0"]),
        (with("media", json!([null])), &["media.0"]),
        (with("external_id", json!("")), &["external_id"]),
        (with("external_id", json!(47)), &["external_id"]),
        (with("external_id", json!("é".repeat(256))), &["external_id"]),
        (with("labels", json!("spring")), &["labels"]),
        (with("labels", json!((0..21).map(|it| it.to_string()).collect::<Vec<_>>())), &["labels"]),
        (
            with("labels", json!(["a", "", "b", "a", 5, "é".repeat(51)])),
            &["labels.1", "labels.3", "labels.4", "labels.5"],
        ),
        (with("status", json!("published")), &["status"]),
        (json!({ "content": "a", "scheduled_at": moment::in_seconds(60) }), &["platforms"]),
        (json!({ "content": "a", "scheduled_at": moment::in_seconds(60), "platforms": [] }), &["platforms"]),
        (json!({ "content": "a", "scheduled_at": moment::in_seconds(60), "platforms": null }), &["platforms"]),
    ];
    for (body, fields) in rows {
        user.api.post("/posts", &body).await?.invalid(fields)?;
    }
    for body in [
        with("media", json!(null)),
        with("platforms", json!(null)),
        with("scheduled_at", json!(null)),
        with("external_id", json!(null)),
        with("labels", json!(null)),
        with("labels", json!([])),
        entry("content", json!(null)),
        json!({ "content": "a" }),
    ] {
        same(&user.create(&body).await?["status"], &json!("draft"), "status")?;
    }
    Ok(())
}

/// Without a text anywhere, and with a text that one account does not have.
async fn files_alone_are_published(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (first, second) = (user.connect(0).await?, user.connect(1).await?);
    let on = targets(&[&first, &second])?;
    for blank in [Value::Null, json!(""), json!(" \n")] {
        let body = json!({ "content": blank, "media": [user.picture().await?], "platforms": on });
        let draft = user.create(&body).await?;
        same((&draft["content"], &draft["platforms"][0]["content"]), (&Value::Null, &Value::Null), "content")?;
    }
    let picture = user.picture().await?;
    let mut platforms = on.clone();
    platforms[0]["content"] = json!("");
    let body = json!({
        "content": fresh("not on the first account"),
        "media": [picture],
        "platforms": platforms,
        "scheduled_at": moment::in_seconds(0),
    });
    let id = integer(&user.create(&body).await?, "id")?;

    let post = user.reaches(id, "published", 30).await?;

    let contents: Vec<_> = list(&post, "platforms")?.iter().map(|it| &it["segments"][0]["content"]).collect();
    same(contents, vec![&Value::Null, &body["content"]], "content of the first segments")?;
    platforms[0]["media"] = json!([]);
    let without = json!({ "content": "a", "media": [picture], "platforms": platforms });
    user.api.post("/posts", &without).await?.invalid(&["platforms.0.content"])?;
    Ok(())
}

async fn external_id_and_labels_are_kept_as_written(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let mut labels = vec!["é".repeat(50), " Spring ".to_owned(), "spring".to_owned()];
    labels.extend((0..17).map(|it| format!("label {it}")));
    let body = json!({ "content": "a", "external_id": "船".repeat(255), "labels": labels });

    let post = user.create(&body).await?;

    for name in ["external_id", "labels"] {
        same(&post[name], &body[name], name)?;
    }
    same(user.show(integer(&post, "id")?).await?, post, "the post as it is shown")?;
    let bare = user.create(&json!({ "content": "a" })).await?;
    same((&bare["external_id"], &bare["labels"]), (&Value::Null, &json!([])), "without the fields")
}

async fn longest_content_is_accepted(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    // Four bytes each: characters are counted, not bytes.
    let content = "😀".repeat(65_000);
    let post = user.create(&json!({ "content": content })).await?;
    let shown = user.show(integer(&post, "id")?).await?;
    ensure!(shown["content"] == content.as_str(), "65,000 characters came back changed");
    Ok(())
}

async fn all_errors_are_returned_together(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let body = json!({
        "content": " ",
        "scheduled_at": "soon",
        "platforms": [{ "connected_account_id": "x", "content": 1 }, {}],
        "media": [1],
        "external_id": "",
        "labels": ["a", "a"],
        "extra": true,
    });
    let fields = [
        "content",
        "scheduled_at",
        "platforms.0.connected_account_id",
        "platforms.0.content",
        "platforms.1.connected_account_id",
        "media.0",
        "external_id",
        "labels.1",
        "extra",
    ];
    user.api.post("/posts", &body).await?.invalid(&fields)?;
    Ok(())
}

async fn misspelled_field_is_an_error(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    for (wrong, right) in [
        ("schedule_at", "scheduled_at"),
        ("scheduledAt", "scheduled_at"),
        ("platform", "platforms"),
        ("medias", "media"),
    ] {
        let errors = user.api.post("/posts", &json!({ "content": "a", wrong: "x" })).await?.invalid(&[wrong])?;
        let message = errors[wrong][0].as_str().unwrap_or_default();
        ensure!(message.contains(wrong) && message.contains(&format!("did you mean {right}")), "said: {message}");
    }
    Ok(())
}

async fn targets_must_be_distinct_own_connections(deployment: &Deployment) -> Result {
    let (mut user, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let (own_connection, other_connection) = (user.connect(0).await?, other.connect(0).await?);
    let deleted_connection = user.connect(1).await?;
    user.api.delete(&format!("/connections/{}", integer(&deleted_connection, "id")?)).await?.is(204)?;
    let field: &[&str] = &["platforms.1.connected_account_id"];

    for second in [&other_connection, &deleted_connection, &own_connection, &json!({ "id": 9_007_199_254_740_990_i64 })]
    {
        for time in [Value::Null, json!(moment::in_seconds(600))] {
            let body =
                json!({ "content": "a", "platforms": targets(&[&own_connection, second])?, "scheduled_at": time });
            user.api.post("/posts", &body).await?.invalid(field)?;
        }
    }
    let many = vec![targets(&[&own_connection])?[0].clone(); 31];
    user.api.post("/posts", &json!({ "content": "a", "platforms": many })).await?.expect_invalid_under("platforms")?;
    Ok(())
}

async fn media_paths_are_distinct_and_at_most_thirty(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let picture = user.picture().await?;
    let twice = json!({ "content": "a", "media": [picture, picture] });
    user.api.post("/posts", &twice).await?.invalid(&["media.1"])?;
    let many: Vec<_> = (0..31).map(|it| format!("media/{}/{it}.png", user.id)).collect();
    user.api.post("/posts", &json!({ "content": "a", "media": many })).await?.expect_invalid_under("media")?;
    Ok(())
}

fn limit(connection: &Value, name: &str) -> Result<usize> {
    let entry = list(connection, "meta")?.iter().find(|it| it["name"] == name);
    Ok(usize::try_from(integer(entry.unwrap_or(&Value::Null), "value")?)?)
}

async fn platform_rules_apply_only_to_scheduled_posts(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let shown = user.api.get(&format!("/connections/{}", integer(&connection, "id")?)).await?.ok(200)?;
    let (max_text, max_images) = (limit(&shown, "max_text")?, limit(&shown, "max_images")?);
    let pictures = several_pictures(&user, max_images + 1).await?;
    let long = "y".repeat(max_text + 1);
    let on = targets(&[&connection])?;

    for (content, media, field) in
        [(long.as_str(), vec![], "platforms.0.content"), ("a", pictures, "platforms.0.media")]
    {
        let mut body = json!({ "content": content, "platforms": on, "media": media });
        let draft = user.create(&body).await?;
        let at = json!({ "scheduled_at": moment::in_seconds(600) });
        body["scheduled_at"] = at["scheduled_at"].clone();
        let refused = user.api.post("/posts", &body).await?.invalid(&[field])?;
        let path = format!("/posts/{}", integer(&draft, "id")?);
        let again = user.api.patch(&path, &at).await?.invalid(&[field])?;
        same(&again, &refused, "the errors when a draft is scheduled")?;
        let message = refused[field][0].as_str().unwrap_or_default().to_lowercase().replace(',', "");
        let (most, given) = if media.is_empty() { (max_text, max_text + 1) } else { (max_images, max_images + 1) };
        for word in ["sandbox", &most.to_string(), &given.to_string()] {
            ensure!(message.contains(word), "the error on {field} does not name {word}: {message}");
        }
    }
    // A target's own text that fits replaces a content that does not.
    let mut fitting = on.clone();
    fitting[0]["content"] = json!("short");
    let body = json!({ "content": long, "platforms": fitting, "scheduled_at": moment::in_seconds(600) });
    user.create(&body).await?;
    Ok(())
}

async fn several_pictures(user: &User<'_>, count: usize) -> Result<Vec<String>> {
    futures::future::join_all((0..count).map(|_| user.picture())).await.into_iter().collect()
}

async fn validate_finds_the_same_errors_as_create(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let (platforms, at) = (targets(&[&connection])?, moment::in_seconds(3600));
    let long = "x".repeat(501);
    let rows: Vec<(Value, &[&str])> = vec![
        (json!({ "content": "a", "scheduled_at": "soon" }), &["scheduled_at", "platforms"]),
        (json!({ "content": "a", "scheduled_at": moment::in_seconds(-400) }), &["scheduled_at", "platforms"]),
        (json!({ "content": "a", "scheduled_at": 7, "platforms": [] }), &["scheduled_at", "platforms"]),
        (
            json!({ "content": long, "scheduled_at": "soon", "platforms": platforms }),
            &["scheduled_at", "platforms.0.content"],
        ),
        (json!({ "content": long, "scheduled_at": at, "platforms": platforms }), &["platforms.0.content"]),
        (json!({ "scheduled_at": at, "platforms": platforms }), &["content"]),
        (json!({ "content": "a", "scheduled_at": at }), &["platforms"]),
    ];
    for (body, fields) in rows {
        let created = user.api.post("/posts", &body).await?.invalid(fields)?;
        let checked = user.api.post("/posts/validate", &body).await?.invalid(fields)?;
        same(checked, created, &format!("errors of {body}"))?;
    }
    Ok(())
}

async fn post_can_be_validated_first(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let (plain, described) = (user.picture().await?, user.picture().await?);
    let large = user.upload("image/png", &png(5000, 3, [9, 9, 9])).await?;
    let media = json!([
        plain,
        { "path": described, "alt_text": "A boat" },
        { "path": large, "alt_text": "A long boat" },
    ]);
    let body = json!({ "content": "checked", "platforms": targets(&[&connection])?, "media": media });

    let warned = user.api.post("/posts/validate", &body).await?.ok(200)?;
    let fields: Vec<_> = list(&warned, "warnings")?.iter().map(|it| it["field"].clone()).collect();
    same(fields, vec![json!("media.0.alt_text"), json!("media.2")], "fields that are warned of")?;
    ensure!(text(&warned["warnings"][0], "message")?.contains("Sandbox"), "the warning says not where: {warned}");
    let smaller = "media.2 is made smaller for Sandbox: 4096 pixels on its longer side instead of 5000";
    same(&warned["warnings"][1]["message"], &json!(smaller), "of a picture that is too large")?;

    let fine = json!({ "content": "checked", "platforms": targets(&[&connection])? });
    same(user.api.post("/posts/validate", &fine).await?.ok(200)?, json!({ "warnings": [] }), "of a post that is fine")?;
    // Validated as if it were scheduled, so a post without a target is invalid.
    user.api.post("/posts/validate", &json!({ "content": "a" })).await?.invalid(&["platforms"])?;
    let long = json!({ "content": "x".repeat(501), "platforms": targets(&[&connection])? });
    user.api.post("/posts/validate", &long).await?.invalid(&["platforms.0.content"])?;
    user.api.post("/posts/validate", &json!({ "contnt": "a" })).await?.invalid(&["contnt", "content", "platforms"])?;

    let all = user.api.get("/posts").await?.ok(200)?;
    ensure!(list(&all, "data")?.is_empty(), "something was kept: {all}");
    Ok(())
}
