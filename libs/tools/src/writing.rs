//! The tools that check or change something.

use client::{Client, CreateMedium, IdempotencyKey, PostChanges, PostStatus};

use crate::input::{self, Account, AfterCancel, files, time};
use crate::reading::stands;
use crate::result::{ToolError, ToolResult};

pub(crate) async fn validate_post(client: &Client, arguments: input::ValidatePost) -> Result<ToolResult, ToolError> {
    let validation = client.validate_post(&arguments.written()?).await?.value;
    let sentence = match validation.warnings.len() {
        0 => "The post is valid. Nothing was created.".to_owned(),
        _ => "The post is valid, with warnings. Nothing was created.".to_owned(),
    };
    Ok(ToolResult::new(sentence, &validation))
}

pub(crate) async fn create_post(client: &Client, arguments: input::CreatePost) -> Result<ToolResult, ToolError> {
    let (key, arguments) = arguments.split_key();
    let key = IdempotencyKey::parse(key)
        .map_err(|_| ToolError::Input("idempotency_key must have 1 to 255 visible ASCII characters".to_owned()))?;
    let created = client.create_post(&arguments.written()?, Some(&key)).await?;
    if !created.replayed {
        return Ok(ToolResult::new(stands(&created.value), &created.value));
    }
    // `made` is the first response; the post may be public by now.
    let post = client.show_post(created.value.id).await?.value;
    Ok(ToolResult::new(format!("This idempotency_key has already created this post. {}", stands(&post)), &post))
}

pub(crate) async fn change_post(client: &Client, arguments: input::ChangePost) -> Result<ToolResult, ToolError> {
    let at = arguments.scheduled_at.map(|it| time(&it)).transpose()?;
    let changes = PostChanges {
        content: arguments.content,
        platforms: arguments.accounts.map(|it| it.into_iter().map(Account::written).collect()),
        media: arguments.media.map(files),
        ..at.map(PostChanges::schedule).unwrap_or_default()
    };
    let post = client.change_post(arguments.post, &changes, arguments.revision).await?.value;
    Ok(ToolResult::new(stands(&post), &post))
}

pub(crate) async fn cancel_post(client: &Client, arguments: input::CancelPost) -> Result<ToolResult, ToolError> {
    match arguments.then {
        AfterCancel::Draft => {
            let unscheduled = PostChanges::unschedule();
            let post = client.change_post(arguments.post, &unscheduled, arguments.revision).await?.value;
            Ok(ToolResult::new(stands(&post), &post))
        }
        AfterCancel::Delete => {
            client.delete_post(arguments.post, arguments.revision).await?;
            Ok(ToolResult::only(format!("Post {} is deleted and will not be published.", arguments.post)))
        }
    }
}

pub(crate) async fn retry_post(client: &Client, arguments: input::RetryPost) -> Result<ToolResult, ToolError> {
    let at = time(arguments.scheduled_at.as_deref().unwrap_or("now"))?;
    // A time would also schedule a draft, which a retry must not do.
    let before = client.show_post(arguments.post).await?.value;
    if before.status != PostStatus::Failed {
        let status = before.status.as_str();
        return Err(ToolError::Input(format!(
            "only a failed post can be retried, but post {} has the status {status}",
            before.id
        )));
    }
    let changes = PostChanges::schedule(at);
    // Retries exactly the revision that was read.
    let revision = arguments.revision.unwrap_or(before.revision);
    let post = client.change_post(arguments.post, &changes, Some(revision)).await?.value;
    Ok(ToolResult::new(stands(&post), &post))
}

pub(crate) async fn upload_media(client: &Client, arguments: input::UploadMedia) -> Result<ToolResult, ToolError> {
    let medium =
        CreateMedium { mime_type: arguments.mime_type, source_url: Some(arguments.url), ..CreateMedium::default() };
    let medium = client.create_medium(&medium, None).await?.value;
    let sentence = format!("The file is uploaded. Use its path {} in the media of a post.", medium.path());
    Ok(ToolResult::new(sentence, &medium))
}
