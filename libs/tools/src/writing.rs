//! The tools that check or change something.

use client::{Client, CreateMedium, IdempotencyKey, PostChanges, PostStatus};

use crate::input::{self, Account, Then, files, time};
use crate::reading::stands;
use crate::result::{ToolError, ToolResult};

pub(crate) async fn validate_post(client: &Client, asked: input::ValidatePost) -> Result<ToolResult, ToolError> {
    let checked = client.validate_post(&asked.written()?).await?.value;
    let sentence = match checked.warnings.len() {
        0 => "The post is valid. Nothing was created.".to_owned(),
        _ => "The post is valid, with warnings. Nothing was created.".to_owned(),
    };
    Ok(ToolResult::of(sentence, &checked))
}

pub(crate) async fn create_post(client: &Client, asked: input::CreatePost) -> Result<ToolResult, ToolError> {
    let (key, asked) = asked.parted();
    let key = IdempotencyKey::parse(key)
        .map_err(|_| ToolError::Input("idempotency_key must have 1 to 255 visible ASCII characters".to_owned()))?;
    let made = client.create_post(&asked.written()?, Some(&key)).await?;
    if !made.replayed {
        return Ok(ToolResult::of(stands(&made.value), &made.value));
    }
    // `made` is the first response; the post may be public by now.
    let post = client.show_post(made.value.id).await?.value;
    Ok(ToolResult::of(format!("This idempotency_key has already created this post. {}", stands(&post)), &post))
}

pub(crate) async fn change_post(client: &Client, asked: input::ChangePost) -> Result<ToolResult, ToolError> {
    let changes = PostChanges {
        content: asked.content,
        platforms: asked.accounts.map(|it| it.into_iter().map(Account::written).collect()),
        scheduled_at: asked.scheduled_at.map(|it| time(&it)).transpose()?.map(Some),
        media: asked.media.map(files),
    };
    let post = client.change_post(asked.post, &changes, asked.revision).await?.value;
    Ok(ToolResult::of(stands(&post), &post))
}

pub(crate) async fn cancel_post(client: &Client, asked: input::CancelPost) -> Result<ToolResult, ToolError> {
    match asked.then {
        Then::Draft => {
            let unscheduled = PostChanges { scheduled_at: Some(None), ..PostChanges::default() };
            let post = client.change_post(asked.post, &unscheduled, asked.revision).await?.value;
            Ok(ToolResult::of(stands(&post), &post))
        }
        Then::Delete => {
            client.delete_post(asked.post, asked.revision).await?;
            Ok(ToolResult::only(format!("Post {} is deleted and will not be published.", asked.post)))
        }
    }
}

pub(crate) async fn retry_post(client: &Client, asked: input::RetryPost) -> Result<ToolResult, ToolError> {
    let at = time(asked.scheduled_at.as_deref().unwrap_or("now"))?;
    // A time would also schedule a draft, which a retry must not do.
    let before = client.show_post(asked.post).await?.value;
    if before.status != PostStatus::Failed {
        let status = before.status.as_str();
        return Err(ToolError::Input(format!(
            "only a failed post can be retried, but post {} has the status {status}",
            before.id
        )));
    }
    let again = PostChanges { scheduled_at: Some(Some(at)), ..PostChanges::default() };
    // Retries exactly the revision that was read.
    let revision = asked.revision.unwrap_or(before.revision);
    let post = client.change_post(asked.post, &again, Some(revision)).await?.value;
    Ok(ToolResult::of(stands(&post), &post))
}

pub(crate) async fn upload_media(client: &Client, asked: input::UploadMedia) -> Result<ToolResult, ToolError> {
    let medium = CreateMedium { mime_type: asked.mime_type, source_url: Some(asked.url), ..CreateMedium::default() };
    let medium = client.create_medium(&medium, None).await?.value;
    let sentence = format!("The file is uploaded. Use its path {} in the media of a post.", medium.path());
    Ok(ToolResult::of(sentence, &medium))
}
