//! Images that are resized before they are posted.

use serde_json::{Value, json};

use crate::{
    checks,
    deployment::{Deployment, User, fresh, targets},
    error::{Result, same},
    http_response::{integer, list, text},
    moment, picture,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!("pictures", [too_tall_image_is_resized,])
}

/// The longest side of an image that the sandbox accepts, as in `libs/platforms/src/sandbox.rs`.
const LONGEST: u32 = 4_096;

async fn too_tall_image_is_resized(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let content = fresh("a long picture");
    let long = user.upload("image/png", &picture::png(2 * LONGEST, 20, [30, 120, 90])).await?;
    let id = publish_post(&user, &content, &connection, &[&user.picture().await?, &long]).await?;

    user.reaches(id, "published", 90).await?;

    let entry = deployment.appears(&content, 10).await?;
    let media = list(&entry, "media")?;
    same(media.len(), 2, "pictures on the timeline")?;
    for (shown, size) in media.iter().zip([(64, 48), (LONGEST, 10)]) {
        let link = url::Url::parse(deployment.origin())?.join(text(shown, "url")?)?;
        let file = deployment.http().get(link).send().await?.bytes().await?;
        let actual_size = domain::media::MimeType::Png.picture_size(&file);
        same(actual_size, Some(size), "the size of what is shown")?;
    }
    Ok(())
}

async fn publish_post(user: &User<'_>, content: &str, connection: &Value, media: &[&str]) -> Result<i64> {
    let body = json!({
        "content": content,
        "platforms": targets(&[connection])?,
        "media": media,
        "scheduled_at": moment::in_seconds(0),
    });
    integer(&user.create(&body).await?, "id")
}
