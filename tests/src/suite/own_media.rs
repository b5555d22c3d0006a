//! Media of single targets, which replace the post's.

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
        "media of accounts",
        [
            targets_publish_their_own_media,
            update_replaces_the_media_of_a_target,
            media_errors_are_reported_by_field,
            number_of_media_paths_is_limited,
        ]
    )
}

async fn targets_publish_their_own_media(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let (first, second) = (user.connect(0).await?, user.connect(1).await?);
    let content = fresh("with files of its own");
    let own = json!([{ "path": user.picture().await?, "alt_text": "for the second alone" }, user.picture().await?]);
    let body = json!({
        "content": content,
        "platforms": [
            { "connected_account_id": first["id"] },
            { "connected_account_id": second["id"], "media": own },
        ],
        "media": [{ "path": user.picture().await?, "alt_text": "for all others" }],
        "scheduled_at": moment::in_seconds(0),
    });

    let post = user.create(&body).await?;
    same(post["platforms"][0].get("media"), None, "media of the first entry")?;
    same(list(&post["platforms"][1], "media")?.len(), 2, "files of the second entry")?;
    user.reaches(integer(&post, "id")?, "published", 60).await?;

    let shown = deployment.timeline(&content).await?;
    same(shown.len(), 2, "posts on the timeline")?;
    for entry in shown {
        let alt_texts: Vec<_> = list(&entry, "media")?.iter().map(|it| it["alt_text"].clone()).collect();
        let is_first = entry["account"] == first["username"];
        let expected =
            if is_first { vec![json!("for all others")] } else { vec![json!("for the second alone"), Value::Null] };
        same(alt_texts, expected, "words on the timeline")?;
    }
    Ok(())
}

async fn update_replaces_the_media_of_a_target(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let account = user.connect(0).await?["id"].clone();
    let (one, other) = (user.picture().await?, user.picture().await?);
    let with = |media: Value| json!({ "platforms": [{ "connected_account_id": account, "media": media }] });
    let mut body = with(json!([one]));
    body["content"] = json!("a");
    let id = integer(&user.create(&body).await?, "id")?;

    let kept = user.change(id, &json!({ "content": "b" })).await?;
    same(list(&kept["platforms"][0], "media")?.len(), 1, "files after another change")?;
    let both = user.change(id, &with(json!([other, one]))).await?;
    same(list(&both["platforms"][0], "media")?.len(), 2, "files after they were replaced")?;
    let none = user.change(id, &with(json!([]))).await?;
    same(&none["platforms"][0]["media"], &json!([]), "files of an entry that has none")?;
    let as_all = user.change(id, &with(Value::Null)).await?;
    same(as_all["platforms"][0].get("media"), None, "files of an entry that has the post's")
}

async fn media_errors_are_reported_by_field(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let account = user.connect(0).await?["id"].clone();
    let (path, second) = (user.picture().await?, user.picture().await?);
    for (entry, field) in [
        (json!("media/1/2.png"), "platforms.0.media.1"),
        (json!(path), "platforms.0.media.1"),
        (json!({ "path": second, "alt_text": " " }), "platforms.0.media.1.alt_text"),
        (json!(7), "platforms.0.media.1"),
    ] {
        let platforms = json!([{ "connected_account_id": account, "media": [path, entry] }]);
        let body = json!({ "content": "a", "platforms": platforms });
        user.api.post("/posts", &body).await?.invalid(&[field])?;
    }
    let platforms = json!([{ "connected_account_id": account, "media": vec![json!(path); 31] }]);
    let body = json!({ "content": "a", "platforms": platforms });
    user.api.post("/posts", &body).await?.invalid(&["platforms.0.media"])?;

    let media = json!([{ "path": path, "alt_text": "x".repeat(1001) }]);
    let platforms = json!([{ "connected_account_id": account, "media": media }]);
    let body = json!({ "content": "a", "platforms": platforms, "scheduled_at": moment::in_seconds(3600) });
    user.api.post("/posts", &body).await?.invalid(&["platforms.0.media"])?;
    Ok(())
}

async fn number_of_media_paths_is_limited(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let files = |from: u64| (from..from + 30).map(|it| format!("media/1/{it}.png")).collect::<Vec<_>>();
    let platforms: Vec<_> =
        (1..4_u64).map(|it| json!({ "connected_account_id": it, "media": files(it * 100) })).collect();
    let response = user.api.post("/posts", &json!({ "content": "a", "platforms": platforms })).await?;
    let errors = response.invalid(&[
        "media",
        "platforms.0.connected_account_id",
        "platforms.1.connected_account_id",
        "platforms.2.connected_account_id",
    ])?;
    let message = "media and the media of thread and platforms may name 60 different files together, these name 90";
    same(&errors["media"], &json!([message]), "errors")
}
