//! The tools that check or change something.

use client::{Client, CreateMedium, IdempotencyKey, NewPost, PostChanges, PostStatus, PostTime};

use crate::Server;
use crate::input::{self, AfterCancel};
use crate::reading::post_summary;
use crate::result::{ToolError, ToolResult};

pub(crate) async fn validate_post(client: &Client, post: &NewPost) -> Result<ToolResult, ToolError> {
    let validation = client.validate_post(post).await?.value;
    let sentence = match validation.warnings.len() {
        0 => "The post is valid. Nothing was created.".to_owned(),
        _ => "The post is valid, with warnings. Nothing was created.".to_owned(),
    };
    Ok(ToolResult::new(sentence, "validation", &validation))
}

pub(crate) async fn create_post(
    server: &Server,
    arguments: input::CreatePost,
    post: &NewPost,
) -> Result<ToolResult, ToolError> {
    let key = IdempotencyKey::parse(arguments.idempotency_key)
        .map_err(|_| ToolError::Input("idempotency_key must have 1 to 255 visible ASCII characters".to_owned()))?;
    let created = server.client.create_post(post, Some(&key)).await?;
    if !created.replayed {
        return Ok(ToolResult::new(post_summary(server, &created.value), "post", &created.value));
    }
    // `made` is the first response; the post may be public by now.
    let post = server.client.show_post(created.value.id).await?.value;
    Ok(ToolResult::new(
        format!("This idempotency_key has already created this post. {}", post_summary(server, &post)),
        "post",
        &post,
    ))
}

pub(crate) async fn change_post(
    server: &Server,
    arguments: &input::ChangePost,
    changes: &PostChanges,
) -> Result<ToolResult, ToolError> {
    let post = server.client.change_post(arguments.post, changes, arguments.revision).await?.value;
    Ok(ToolResult::new(post_summary(server, &post), "post", &post))
}

pub(crate) async fn cancel_post(server: &Server, arguments: input::CancelPost) -> Result<ToolResult, ToolError> {
    match arguments.then {
        AfterCancel::Draft => {
            let unscheduled = PostChanges::unschedule();
            let post = server.client.change_post(arguments.post, &unscheduled, arguments.revision).await?.value;
            Ok(ToolResult::new(post_summary(server, &post), "post", &post))
        }
        AfterCancel::Delete => {
            server.client.delete_post(arguments.post, arguments.revision).await?;
            Ok(ToolResult::only(format!("Post {} is deleted and will not be published.", arguments.post)))
        }
    }
}

pub(crate) async fn retry_post(server: &Server, arguments: input::RetryPost) -> Result<ToolResult, ToolError> {
    let at = arguments.scheduled_at.unwrap_or(PostTime::Now);
    // A time would also schedule a draft, which a retry must not do.
    let before = server.client.show_post(arguments.post).await?.value;
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
    let post = server.client.change_post(arguments.post, &changes, Some(revision)).await?.value;
    Ok(ToolResult::new(post_summary(server, &post), "post", &post))
}

pub(crate) async fn upload_media(client: &Client, file: &CreateMedium) -> Result<ToolResult, ToolError> {
    if file.source_url.is_none() {
        return Err(ToolError::Input("source_url is required".to_owned()));
    }
    let medium = client.create_medium(file, None).await?.value;
    let sentence = format!("The file is uploaded. Use its path {} in the media of a post.", medium.path());
    Ok(ToolResult::new(sentence, "file", &medium))
}
