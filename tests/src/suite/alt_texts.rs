//! Alternative texts of files: given with a post, and published with it.

use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, targets},
    error::{Result, same},
    http_response::{integer, list},
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "alt texts",
        [
            alt_texts_belong_to_the_post,
            alt_text_errors_name_field_and_limit,
            platform_limit_applies_only_to_scheduled_posts,
        ]
    )
}

const WORDS: &str = "A boat: \"Zoë\" & crew <am>\n船着場 🚣";

fn list_alt_texts(media: &Value) -> Result<Vec<Value>> {
    Ok(list(media, "media")?.iter().map(|it| it["alt_text"].clone()).collect())
}

async fn alt_texts_belong_to_the_post(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let (first, second) = (user.picture().await?, user.picture().await?);
    let media = json!([{ "path": first, "alt_text": WORDS }, second]);
    let post = user.create(&json!({ "content": "described", "media": media })).await?;
    same(list_alt_texts(&post)?, vec![json!(WORDS), Value::Null], "alt texts of the post")?;
    let id = integer(&post, "id")?;
    same(
        list_alt_texts(&user.show(id).await?)?,
        vec![json!(WORDS), Value::Null],
        "alt texts of the post as it is shown",
    )?;

    let media = json!([{ "path": first, "alt_text": null }, { "path": second, "alt_text": "other words" }]);
    let changed = user.change(id, &json!({ "media": media })).await?;
    same(list_alt_texts(&changed)?, vec![Value::Null, json!("other words")], "alt texts after a change")?;
    let other = user.create(&json!({ "content": "not described", "media": [first] })).await?;
    same(list_alt_texts(&other)?, vec![Value::Null], "alt texts of another post with the same file")
}

async fn alt_text_errors_name_field_and_limit(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let path = user.picture().await?;
    for (entry, field) in [
        (json!({ "path": path, "alt_text": "  " }), "media.0.alt_text"),
        (json!({ "path": path, "alt_text": 7 }), "media.0.alt_text"),
        (json!({ "path": path, "alt_text": "x".repeat(10_001) }), "media.0.alt_text"),
        (json!({ "path": path, "alt": "misspelt" }), "media.0.alt"),
        (json!({ "alt_text": "of nothing" }), "media.0.path"),
        (json!({ "path": "media/1/2.png" }), "media.0"),
    ] {
        let body = json!({ "content": "a", "media": [entry] });
        user.api.post("/posts", &body).await?.invalid(&[field])?;
    }
    let twice = json!([path, { "path": path, "alt_text": "again" }]);
    user.api.post("/posts", &json!({ "content": "a", "media": twice })).await?.invalid(&["media.1"])?;
    Ok(())
}

async fn platform_limit_applies_only_to_scheduled_posts(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let media = json!([{ "path": user.picture().await?, "alt_text": "x".repeat(1001) }]);
    let platforms = targets(&[&connection])?;
    let post = user.create(&json!({ "content": "long words", "platforms": platforms, "media": media })).await?;
    let change = json!({ "scheduled_at": moment::in_seconds(3600) });
    let path = format!("/posts/{}", integer(&post, "id")?);
    let errors = user.api.patch(&path, &change).await?.invalid(&["platforms.0.media"])?;
    let message = "Sandbox accepts alt texts of at most 1000 characters; the alt text of file 1 has 1001";
    same(&errors["platforms.0.media"], &json!([message]), "errors")
}
