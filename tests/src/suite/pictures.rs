//! Pictures that are made to fit before they are posted.

use serde_json::{Value, json};

use crate::{
    answer::{integer, list, text},
    checks, ensure,
    fault::{Result, same},
    moment, picture,
    runner::Check,
    world::{Deployment, User, fresh, targets},
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "pictures",
        [
            a_picture_that_is_too_long_is_made_shorter,
            what_claims_too_much_fails_its_post_and_says_which_file,
            a_damaged_picture_fails_its_post_and_says_so,
        ]
    )
}

/// The longest side of a picture that the sandbox takes as it is, as
/// `libs/platforms/src/sandbox.rs` says.
const LONGEST: u32 = 4_096;

async fn a_picture_that_is_too_long_is_made_shorter(world: &Deployment) -> Result {
    let mut user = world.user().await?;
    let connection = user.connect(0).await?;
    let words = fresh("a long picture");
    let long = user.upload("image/png", &picture::png(2 * LONGEST, 20, [30, 120, 90])).await?;
    let id = posted(&user, &words, &connection, &[&user.picture().await?, &long]).await?;

    user.reaches(id, "published", 90).await?;

    let entry = world.appears(&words, 10).await?;
    let media = list(&entry, "media")?;
    same(media.len(), 2, "pictures on the timeline")?;
    for (shown, size) in media.iter().zip([(64, 48), (LONGEST, 10)]) {
        let link = url::Url::parse(world.origin())?.join(text(shown, "url")?)?;
        let file = world.http().get(link).send().await?.bytes().await?;
        let seen = domain::media::MimeType::Png.picture_size(&file);
        same(seen, Some(size), "the size of what is shown")?;
    }
    Ok(())
}

async fn what_claims_too_much_fails_its_post_and_says_which_file(world: &Deployment) -> Result {
    let file = picture::png_that_claims(60_000, 60_000);
    let said = failed_with(world, "image/png", &file).await?;
    ensure!(said.contains("file 2 of 2 (image/png)") && said.contains("3600000000 pixels"), "it says: {said}");
    Ok(())
}

async fn a_damaged_picture_fails_its_post_and_says_so(world: &Deployment) -> Result {
    let said = failed_with(world, "image/jpeg", &picture::damaged_jpeg(5_000, 5_000, false)).await?;
    ensure!(said.contains("file 2 of 2 (image/jpeg)") && said.contains("not a complete JPEG"), "it says: {said}");
    Ok(())
}

/// What the target says of a post that failed for its second file.
async fn failed_with(world: &Deployment, mime_type: &str, file: &[u8]) -> Result<String> {
    let mut user = world.user().await?;
    let connection = user.connect(0).await?;
    let words = fresh("not a picture");
    let file = user.upload(mime_type, file).await?;
    let id = posted(&user, &words, &connection, &[&user.picture().await?, &file]).await?;
    let post = user.reaches(id, "failed", 90).await?;
    same(world.timeline(&words).await?.len(), 0, "entries on the timeline")?;
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
