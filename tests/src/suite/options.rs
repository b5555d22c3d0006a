//! Platform options of targets.

use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, fresh},
    error::{Result, same},
    http_response::{integer, list},
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "options",
        [
            options_apply_to_their_target,
            update_replaces_the_options_of_a_target,
            unknown_option_is_refused_even_for_drafts,
            null_omits_an_option_but_not_an_unknown_one,
            option_values_are_checked_on_scheduling,
            invalid_options_are_reported_by_field,
            platforms_describe_their_options,
            platforms_list_the_values_of_an_option,
        ]
    )
}

fn targets_with_options(connection: &Value, options: &Value) -> Result<Value> {
    Ok(json!([{ "connected_account_id": integer(connection, "id")?, "options": options }]))
}

async fn options_apply_to_their_target(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let (first, second) = (user.connect(0).await?, user.connect(1).await?);
    let options =
        json!({ "visibility": "unlisted", "content_warning": "Boats", "sensitive": true, "language": "pt-BR" });
    let content = fresh("with options");
    let mut platforms = targets_with_options(&first, &options)?;
    platforms.as_array_mut().into_iter().for_each(|it| it.push(json!({ "connected_account_id": second["id"] })));
    let body = json!({ "content": content, "platforms": platforms, "scheduled_at": moment::in_seconds(0) });
    let post = user.create(&body).await?;
    same(&post["platforms"][0]["options"], &options, "options of the first entry")?;
    same(&post["platforms"][1]["options"], &json!({}), "options of the second entry")?;

    user.reaches(integer(&post, "id")?, "published", 60).await?;

    for entry in deployment.timeline(&content).await? {
        let expected = if entry["account"] == first["username"] { options.clone() } else { Value::Null };
        same(&entry["options"], &expected, "options on the timeline")?;
    }
    Ok(())
}

async fn platforms_list_the_values_of_an_option(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let path = format!("/connections/{}/choices", integer(&connection, "id")?);

    let boards = user.api.get(&format!("{path}/board?query=TIDE")).await?.ok(200)?;
    same(&boards, &json!({ "data": [{ "value": "tides", "label": "Tides and weather" }] }), "boards")?;
    let all = user.api.get(&format!("{path}/board")).await?.ok(200)?;
    same(&json!(list(&all, "data")?.len()), &json!(3), "number of boards")?;
    same(user.api.get(&format!("{path}/board?query=")).await?.ok(200)?, all, "boards for an empty query")?;
    let none = user.api.get(&format!("{path}/board?query=nosuch")).await?.ok(200)?;
    same(none, json!({ "data": [] }), "boards for a query that nothing matches")?;
    for wrong in [&format!("{path}/language"), &format!("{path}/%FF"), "/connections/x/choices/board"] {
        user.api.get(wrong).await?.refused(404)?;
    }
    user.api.get(&format!("{path}/board?search=tide")).await?.invalid(&["search"])?;
    user.api.get(&format!("{path}/board?query={}", "a".repeat(201))).await?.invalid(&["query"])?;
    let other = deployment.user().await?;
    other.api.get(&format!("{path}/board")).await?.refused(404).map(drop)
}

async fn update_replaces_the_options_of_a_target(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let body = json!({ "content": "a", "platforms": targets_with_options(&connection, &json!({ "sensitive": true, "language": "de" }))? });
    let id = integer(&user.create(&body).await?, "id")?;

    let kept = user.change(id, &json!({ "content": "b" })).await?;
    same(&kept["platforms"][0]["options"], &json!({ "sensitive": true, "language": "de" }), "options that stay")?;
    let replaced = user
        .change(id, &json!({ "platforms": targets_with_options(&connection, &json!({ "language": "en" }))? }))
        .await?;
    same(&replaced["platforms"][0]["options"], &json!({ "language": "en" }), "options after a change")?;
    let none = user.change(id, &json!({ "platforms": targets_with_options(&connection, &Value::Null)? })).await?;
    same(&none["platforms"][0]["options"], &json!({}), "options that are removed")
}

async fn unknown_option_is_refused_even_for_drafts(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let body = json!({ "content": "a", "platforms": targets_with_options(&connection, &json!({ "visibilities": "public", "playlist": "1" }))? });
    let errors = user
        .api
        .post("/posts", &body)
        .await?
        .invalid(&["platforms.0.options.visibilities", "platforms.0.options.playlist"])?;
    let message = "platforms.0.options.visibilities is not an option of sandbox; did you mean visibility?";
    same(&errors["platforms.0.options.visibilities"], &json!([message]), "message")
}

async fn null_omits_an_option_but_not_an_unknown_one(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let unsaid = json!({ "language": null, "sensitive": true });
    let post =
        user.create(&json!({ "content": "a", "platforms": targets_with_options(&connection, &unsaid)? })).await?;
    same(&post["platforms"][0]["options"], &json!({ "sensitive": true }), "options without the one that is null")?;

    let unknown = json!({ "platforms": targets_with_options(&connection, &json!({ "visibilities": null, "language": null }))?, "content": "a" });
    let path = format!("/posts/{}", integer(&post, "id")?);
    for refused in [user.api.post("/posts", &unknown).await?, user.api.patch(&path, &unknown).await?] {
        let errors = refused.invalid(&["platforms.0.options.visibilities"])?;
        let message = "platforms.0.options.visibilities is not an option of sandbox; did you mean visibility?";
        same(&errors["platforms.0.options.visibilities"], &json!([message]), "message")?;
    }
    Ok(())
}

async fn option_values_are_checked_on_scheduling(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let wrong = json!({ "visibility": "secret", "sensitive": "yes", "language": "english", "content_warning": " " });
    let body = json!({ "content": "a", "platforms": targets_with_options(&connection, &wrong)? });
    let id = integer(&user.create(&body).await?, "id")?;
    let path = format!("/posts/{id}");
    let fields =
        ["visibility", "sensitive", "language", "content_warning"].map(|it| format!("platforms.0.options.{it}"));
    let fields: Vec<_> = fields.iter().map(String::as_str).collect();

    let later = json!({ "scheduled_at": moment::in_seconds(3600) });
    user.api.patch(&path, &later).await?.invalid(&fields)?;
    let right = json!({ "platforms": targets_with_options(&connection, &json!({ "visibility": "unlisted" }))?, "scheduled_at": moment::in_seconds(3600) });
    user.change(id, &right).await?;
    let change = json!({ "platforms": targets_with_options(&connection, &wrong)? });
    user.api.patch(&path, &change).await?.invalid(&fields)?;
    user.api.delete(&path).await?.is(204)?;
    Ok(())
}

async fn invalid_options_are_reported_by_field(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let many: serde_json::Map<_, _> = (0..31).map(|it| (format!("o{it}"), json!(1))).collect();
    for (options, field) in [
        (json!("public"), "platforms.0.options"),
        (json!({ "visibility": { "to": "all" } }), "platforms.0.options.visibility"),
        (json!({ "visibility": 1.5 }), "platforms.0.options.visibility"),
        (json!({ "visibility": [1] }), "platforms.0.options.visibility"),
        (json!({ "visibility": "x".repeat(10_001) }), "platforms.0.options.visibility"),
        (json!(many), "platforms.0.options"),
    ] {
        let body = json!({ "content": "a", "platforms": targets_with_options(&connection, &options)? });
        user.api.post("/posts", &body).await?.invalid(&[field])?;
    }
    Ok(())
}

async fn platforms_describe_their_options(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let platforms = user.api.get("/platforms").await?.ok(200)?;
    let names: Vec<_> = list(&platforms, "data")?.iter().map(|it| it["name"].clone()).collect();
    let registered: Vec<_> = platforms::platform_infos().iter().map(|it| Value::from(it.name)).collect();
    same(names, registered, "names of platforms")?;
    let of = |name: &str| platforms["data"].as_array().into_iter().flatten().find(|it| it["name"] == name);
    let (sandbox, mastodon) = (of("sandbox").unwrap_or(&Value::Null), of("mastodon").unwrap_or(&Value::Null));
    same(&sandbox["usable"], &json!(true), "usable")?;
    same(&sandbox["missing"], &json!([]), "missing")?;
    let choices = &sandbox["options"]["properties"]["visibility"]["enum"];
    same(choices, &json!(["public", "unlisted"]), "choices of visibility")?;
    let max_text = json!({ "name": "max_text", "value": 500, "unit": "characters" });
    same(&sandbox["rules"][0], &max_text, "the first rule")?;
    let fields: Vec<_> = list(mastodon, "fields")?.iter().map(|it| it["name"].clone()).collect();
    same(fields, vec![json!("server")], "fields of Mastodon")
}
