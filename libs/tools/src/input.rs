//! The arguments of the tools. Their doc comments are descriptions that assistants read.

use client::{DescribedMedia, NewPost, NewPostMedia, NewPostPlatform, PostTime};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::result::ToolError;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ListPlatforms {
    /// The name of a platform, to see its options and rules. Default: all platforms.
    #[schemars(length(max = 64))]
    pub(crate) platform: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ListConnections {
    /// The id of an account, to see its limits. Default: all accounts.
    pub(crate) connection: Option<u64>,
    /// Only accounts of this platform.
    #[schemars(length(max = 64))]
    pub(crate) platform: Option<String>,
}

/// An account to publish to.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with connection, the id of an account")]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct Account {
    /// The id of the account, from `list_connections`.
    pub(crate) connection: u64,
    /// A different text for this account.
    #[schemars(length(min = 1, max = 65_000))]
    pub(crate) content: Option<String>,
    /// Different files for this account.
    #[schemars(length(max = 30))]
    pub(crate) media: Option<Vec<Medium>>,
    /// Options of the platform; `list_platforms` lists them.
    pub(crate) options: Option<Map<String, Value>>,
}

/// A file of a post.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with path, from upload_media_from_url")]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct Medium {
    /// The path that `upload_media_from_url` returned.
    #[schemars(length(min = 1, max = 255))]
    pub(crate) path: String,
    /// Alt text: what the image or video shows.
    #[schemars(length(min = 1, max = 10_000))]
    pub(crate) alt_text: Option<String>,
}

/// The text, accounts, time and files of a post.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ValidatePost {
    /// The text of the post.
    #[schemars(length(min = 1, max = 65_000))]
    pub(crate) content: String,
    /// The accounts to publish to, each once.
    #[serde(default)]
    #[schemars(length(max = 30))]
    pub(crate) accounts: Vec<Account>,
    /// When to publish: a time with an offset, such as 2026-11-21T09:30:00+01:00, or "now". Default: a draft.
    #[schemars(length(max = 40))]
    pub(crate) scheduled_at: Option<String>,
    /// The files, each once.
    #[serde(default)]
    #[schemars(length(max = 30))]
    pub(crate) media: Vec<Medium>,
}

// Not flattened, because serde ignores unknown fields next to flattened ones.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct CreatePost {
    /// A unique string of your choice: a new one for each post, and the same one if you repeat the call for the same
    /// post. Within a day, a repeated call creates no second post.
    #[schemars(length(min = 1, max = 255), regex(pattern = "^[!-~]+$"))]
    pub(crate) idempotency_key: String,
    /// The text of the post.
    #[schemars(length(min = 1, max = 65_000))]
    pub(crate) content: String,
    /// The accounts to publish to, each once.
    #[serde(default)]
    #[schemars(length(max = 30))]
    pub(crate) accounts: Vec<Account>,
    /// When to publish: a time with an offset, such as 2026-11-21T09:30:00+01:00, or "now". Default: a draft.
    #[schemars(length(max = 40))]
    pub(crate) scheduled_at: Option<String>,
    /// The files, each once.
    #[serde(default)]
    #[schemars(length(max = 30))]
    pub(crate) media: Vec<Medium>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ListPosts {
    /// Only posts with this status.
    pub(crate) status: Option<Status>,
    /// Page number, from 1.
    #[schemars(range(min = 1))]
    pub(crate) page: Option<u64>,
    /// Posts per page. Default: 10.
    #[schemars(range(min = 1, max = 50))]
    pub(crate) per_page: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(crate = "rmcp::schemars")]
pub(crate) enum Status {
    Draft,
    Scheduled,
    Publishing,
    Published,
    Failed,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct GetPost {
    /// The id of the post.
    pub(crate) post: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ChangePost {
    /// The id of the post.
    pub(crate) post: u64,
    /// The `revision` of the post that the person saw, from `get_post`. If the post has changed since, the call fails.
    /// Required to schedule a draft that a drafts-only token wrote.
    pub(crate) revision: Option<u64>,
    /// A new text. Default: the text stays unchanged.
    #[schemars(length(min = 1, max = 65_000))]
    pub(crate) content: Option<String>,
    /// All accounts to publish to; replaces the current ones.
    #[schemars(length(max = 30))]
    pub(crate) accounts: Option<Vec<Account>>,
    /// A new time, as in `create_post`. A draft that gets a time is scheduled. `cancel_post` removes the time.
    #[schemars(length(max = 40))]
    pub(crate) scheduled_at: Option<String>,
    /// All files; replaces the current ones.
    #[schemars(length(max = 30))]
    pub(crate) media: Option<Vec<Medium>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct CancelPost {
    /// The id of the post.
    pub(crate) post: u64,
    /// The `revision` of the post that the person saw, from `get_post`. If the post has changed since, the call fails.
    pub(crate) revision: Option<u64>,
    /// The result: `draft` keeps the text and files, `delete` deletes the post permanently.
    #[serde(default)]
    pub(crate) then: AfterCancel,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(crate = "rmcp::schemars")]
pub(crate) enum AfterCancel {
    #[default]
    Draft,
    Delete,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct RetryPost {
    /// The id of the post.
    pub(crate) post: u64,
    /// The `revision` of the post that the person saw, from `get_post`. If the post has changed since, the call fails.
    pub(crate) revision: Option<u64>,
    /// When to retry, as in `create_post`. Default: now.
    #[schemars(length(max = 40))]
    pub(crate) scheduled_at: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct UploadMedia {
    /// The public URL of the file.
    #[schemars(length(min = 1, max = 2048))]
    pub(crate) url: String,
    /// The type: image/jpeg, image/png, image/gif, image/webp, video/mp4 or video/quicktime.
    #[schemars(length(max = 32))]
    pub(crate) mime_type: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ExplainError {
    /// The id of a post that failed or is being retried.
    pub(crate) post: Option<u64>,
    /// The HTTP status of an error, such as 422.
    #[schemars(range(min = 400, max = 599))]
    pub(crate) status: Option<u16>,
    /// The code in the field `error` of an error response, such as `has_pending_posts`.
    #[schemars(length(max = 64))]
    pub(crate) code: Option<String>,
}

impl ValidatePost {
    pub(crate) fn written(self) -> Result<NewPost, ToolError> {
        Ok(NewPost {
            platforms: Some(self.accounts.into_iter().map(Account::written).collect()),
            scheduled_at: self.scheduled_at.map(|it| time(&it)).transpose()?,
            media: Some(files(self.media)),
            ..NewPost::new(self.content)
        })
    }
}

impl CreatePost {
    /// Splits the idempotency key from the post.
    pub(crate) fn split_key(self) -> (String, ValidatePost) {
        let Self { idempotency_key, content, accounts, scheduled_at, media } = self;
        (idempotency_key, ValidatePost { content, accounts, scheduled_at, media })
    }
}

impl Account {
    pub(crate) fn written(self) -> NewPostPlatform {
        NewPostPlatform {
            connected_account_id: self.connection,
            content: self.content,
            media: self.media.map(files),
            options: self.options,
        }
    }
}

pub(crate) fn files(media: Vec<Medium>) -> Vec<NewPostMedia> {
    let file = |it: Medium| NewPostMedia::Described(DescribedMedia { path: it.path, alt_text: it.alt_text });
    media.into_iter().map(file).collect()
}

pub(crate) fn time(raw: &str) -> Result<PostTime, ToolError> {
    serde_json::from_value(Value::String(raw.to_owned())).map_err(|_| {
        let what = "scheduled_at must be a time with an offset, such as 2026-11-21T09:30:00+01:00, or now";
        ToolError::Input(what.to_owned())
    })
}
