//! Images that are resized before they are posted.

use serde_json::{Value, json};

use crate::{
    answer::{integer, list, text},
    checks,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    moment, picture,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "pictures",
        [too_tall_image_is_resized, image_with_huge_dimensions_fails_its_post, damaged_image_fails_its_post,]
    )
}

/// The longest side of an image that the sandbox accepts, as in `libs/platforms/src/sandbox.rs`.
const LONGEST: u32 = 4_096;

async fn too_tall_image_is_resized(deployment: &Deployment) -> Result {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let words = fresh("a long picture");
    let long = user.upload("image/png", &picture::png(2 * LONGEST, 20, [30, 120, 90])).await?;
    let id = posted(&user, &words, &connection, &[&user.picture().await?, &long]).await?;

    user.reaches(id, "published", 90).await?;

    let entry = deployment.appears(&words, 10).await?;
    let media = list(&entry, "media")?;
    same(media.len(), 2, "pictures on the timeline")?;
    for (shown, size) in media.iter().zip([(64, 48), (LONGEST, 10)]) {
        let link = url::Url::parse(deployment.origin())?.join(text(shown, "url")?)?;
        let file = deployment.http().get(link).send().await?.bytes().await?;
        let seen = domain::media::MimeType::Png.picture_size(&file);
        same(seen, Some(size), "the size of what is shown")?;
    }
    Ok(())
}

async fn image_with_huge_dimensions_fails_its_post(deployment: &Deployment) -> Result {
    let file = picture::png_that_claims(60_000, 60_000);
    let said = failed_with(deployment, "image/png", &file).await?;
    ensure!(said.contains("file 2 of 2 (image/png)") && said.contains("3600000000 pixels"), "it says: {said}");
    Ok(())
}

async fn damaged_image_fails_its_post(deployment: &Deployment) -> Result {
    let said = failed_with(deployment, "image/jpeg", &picture::damaged_jpeg(5_000, 5_000, false)).await?;
    ensure!(said.contains("file 2 of 2 (image/jpeg)") && said.contains("not a complete JPEG"), "it says: {said}");
    Ok(())
}

/// The error of the target when the second file fails its post.
async fn failed_with(deployment: &Deployment, mime_type: &str, file: &[u8]) -> Result<String> {
    let mut user = deployment.user().await?;
    let connection = user.connect(0).await?;
    let words = fresh("not a picture");
    let file = user.upload(mime_type, file).await?;
    let id = posted(&user, &words, &connection, &[&user.picture().await?, &file]).await?;
    let post = user.reaches(id, "failed", 90).await?;
    same(deployment.timeline(&words).await?.len(), 0, "entries on the timeline")?;
    Ok(text(&post["platforms"][0], "error_message")?.to_owned())
}

/// A post that is due now.
async fn posted(user: &User<'_>, words: &str, connection: &Value, media: &[&str]) -> Result<i64> {
    let body = json!({
        "content": words,
        "platforms": targets(&[connection])?,
        "media": media,
        "scheduled_at": moment::in_seconds(0),
    });
    integer(&user.create(&body).await?, "id")
}
