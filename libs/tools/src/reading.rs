//! The tools that only read: they list platforms, connections and posts.

use client::{Client, ListConnections, ListPosts, Post, PostPlatform, PostSegment, PostStatus, TargetStatus};

use crate::output::{AccountSummary, PlatformSummary, PostSummary, SegmentSummary};
use crate::result::{ToolError, ToolResult};
use crate::{Server, input};

/// Characters of a text in a list.
const BEGINNING: usize = 280;

const PER_PAGE: u64 = 10;
const MAX_PER_PAGE: u64 = 50;

pub(crate) async fn list_platforms(client: &Client, arguments: input::ListPlatforms) -> Result<ToolResult, ToolError> {
    let all = client.list_platforms().await?.value.data;
    let Some(name) = arguments.platform else {
        let summary = |it: client::Platform| {
            let client::Platform { name, title, usable, missing, access, .. } = it;
            PlatformSummary { name, title, usable, missing, access }
        };
        let all: Vec<_> = all.into_iter().map(summary).collect();
        let sentence = format!("{} platforms. Name one to see its options and rules.", all.len());
        return Ok(ToolResult::new(sentence, "platforms", &all));
    };
    if let Some(platform) = all.iter().find(|it| it.name == name) {
        return Ok(ToolResult::new(format!("{}: options and rules.", platform.title), "platform", platform));
    }
    let names: Vec<_> = all.iter().map(|it| it.name.as_str()).collect();
    Err(ToolError::Input(format!("unknown platform; use one of {}", names.join(", "))))
}

pub(crate) async fn list_connections(
    client: &Client,
    arguments: input::ListConnections,
) -> Result<ToolResult, ToolError> {
    if let Some(connection) = arguments.connection {
        let account = client.show_connection(connection).await?.value;
        return Ok(ToolResult::new("meta has the limits of this account.", "account", &account));
    }
    let filter = ListConnections { provider: arguments.platform, status: None, profile_id: arguments.profile };
    let accounts = client.list_connections(&filter).await?.value.data;
    let disconnected = accounts.iter().filter(|it| it.needs_reconnection).count();
    let sentence = match (accounts.len(), disconnected) {
        (0, _) => {
            "No account is connected. The person can connect one with `social connect` or on the service's pages."
                .to_owned()
        }
        (1, 0) => "1 account.".to_owned(),
        (all, 0) => format!("{all} accounts."),
        (1, _) => "1 account, which cannot publish until the person reconnects it.".to_owned(),
        (all, disconnected) => {
            format!("{all} accounts; {disconnected} cannot publish until the person reconnects them.")
        }
    };
    Ok(ToolResult::new(sentence, "accounts", &accounts))
}

pub(crate) async fn list_posts(client: &Client, arguments: input::ListPosts) -> Result<ToolResult, ToolError> {
    let filter = ListPosts {
        per_page: Some(arguments.per_page.unwrap_or(PER_PAGE).clamp(1, MAX_PER_PAGE)),
        page: arguments.page,
        profile_id: arguments.profile,
        ..ListPosts::by_status(arguments.status.map(status))
    };
    let page = client.list_posts(&filter).await?.value;
    let posts: Vec<_> = page.data.iter().map(summary).collect();
    let meta = page.meta;
    let noun = if meta.total == 1 { "post" } else { "posts" };
    let sentence = format!("{} {noun} in total, page {} of {}.", meta.total, meta.current_page, meta.last_page);
    Ok(ToolResult::new(sentence, "posts", &posts))
}

pub(crate) async fn get_post(server: &Server, arguments: input::GetPost) -> Result<ToolResult, ToolError> {
    let post = server.client.show_post(arguments.post).await?.value;
    Ok(ToolResult::new(post_summary(server, &post), "post", &post))
}

fn summary(post: &Post) -> PostSummary {
    let text = post.content.as_deref();
    let content: Option<String> = text.map(|it| it.chars().take(BEGINNING).collect());
    let account = |it: &PostPlatform| AccountSummary {
        connected_account_id: it.connected_account_id,
        platform: it.provider.clone(),
        username: it.username.clone(),
        status: it.status.clone(),
        url: it.platform_post_url.clone(),
        handed_over: it.handed_over,
        segments: segments(it),
    };
    PostSummary {
        id: post.id,
        revision: post.revision,
        status: post.status.clone(),
        scheduled_at: post.scheduled_at,
        is_cut: content.as_ref().map(String::len) < text.map(str::len),
        content,
        files: post.media.len(),
        replies: post.thread.len(),
        accounts: post.platforms.iter().map(account).collect(),
    }
}

/// Without texts; empty if the post is the only segment.
pub(crate) fn segments(target: &PostPlatform) -> Vec<SegmentSummary> {
    let summary = |(index, segment): (usize, &PostSegment)| SegmentSummary {
        segment: index,
        kind: segment.kind.clone(),
        status: segment.status.clone(),
        url: segment.platform_post_url.clone(),
        error_of_platform: segment.error_message.clone(),
    };
    target.segments.iter().enumerate().filter(|_| 1 < target.segments.len()).map(summary).collect()
}

/// The state of a post as a sentence that is explicit about what is public.
pub(crate) fn post_summary(server: &Server, post: &Post) -> String {
    let id = post.id;
    match (&post.status, post.scheduled_at) {
        (PostStatus::Draft, _) => {
            format!(
                "Post {id} is a draft and is not public. To schedule it, set a time with change_post, or give the person \
                 this link, where they review and approve it: {}/account/posts/{id}",
                server.origin
            )
        }
        (PostStatus::Scheduled, Some(at)) => {
            let all = post.platforms.len();
            let public = post.platforms.iter().filter(|it| it.status == TargetStatus::Published).count();
            let now = match public {
                0 => "scheduled, not public yet".to_owned(),
                _ => format!("public on {public} of {all} accounts, and scheduled for the others"),
            };
            let to = all - public;
            format!(
                "Post {id} is {now}: it is published at {at} on {to} {}. Call get_post afterwards to see whether it is public.",
                if to == 1 { "account" } else { "accounts" }
            )
        }
        (PostStatus::Publishing, _) => {
            format!(
                "Post {id} is being published and is not public on every account yet. Call get_post again in a minute."
            )
        }
        (PostStatus::Published, _) if has_failed_comment(post) => format!(
            "Post {id} is public on all its accounts, but a first comment failed. Call explain_error to see why."
        ),
        (PostStatus::Published, _) if post.platforms.iter().any(|it| it.handed_over) => format!(
            "Post {id} is handed over where handed_over is true: the person finishes it in the platform's app, and it is \
             not public before that. It is public on its other accounts."
        ),
        (PostStatus::Published, _) => format!("Post {id} is public on all its accounts."),
        (PostStatus::Failed, _) if has_public_part(post) => format!(
            "Post {id} is not public on every account, and only a part of its thread is public somewhere: segments \
             shows which. Call explain_error to see why."
        ),
        (PostStatus::Failed, _) => format!("Post {id} is not public on every account. Call explain_error to see why."),
        (other, _) => format!("Post {id} is {}.", other.as_str()),
    }
}

fn has_failed_comment(post: &Post) -> bool {
    post.platforms.iter().flat_map(|it| &it.segments).any(|it| it.status == TargetStatus::Failed)
}

fn has_public_part(post: &Post) -> bool {
    let failed = post.platforms.iter().filter(|it| it.status == TargetStatus::Failed);
    failed.flat_map(|it| &it.segments).any(|it| it.status == TargetStatus::Published)
}

fn status(status: input::Status) -> PostStatus {
    match status {
        input::Status::Draft => PostStatus::Draft,
        input::Status::Scheduled => PostStatus::Scheduled,
        input::Status::Publishing => PostStatus::Publishing,
        input::Status::Published => PostStatus::Published,
        input::Status::Failed => PostStatus::Failed,
    }
}
