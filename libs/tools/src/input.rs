//! The arguments of the tools that are not fields of a request of the API; those are in `request`.
//! Doc comments are descriptions that assistants read.

use client::PostTime;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

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
    /// Only accounts of this profile, which is a customer of the person. Default: all accounts.
    pub(crate) profile: Option<u64>,
}

// Next to the fields of the post.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct CreatePost {
    /// A unique string of your choice: a new one for each post, and the same one if you repeat the call for the same
    /// post. Within a day, a repeated call creates no second post.
    #[schemars(length(min = 1, max = 255), regex(pattern = "^[!-~]+$"))]
    pub(crate) idempotency_key: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ListPosts {
    /// Only posts with this status.
    pub(crate) status: Option<Status>,
    /// Only posts of this profile, which is a customer of the person. Default: all posts.
    pub(crate) profile: Option<u64>,
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

// Next to the changes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ChangePost {
    /// The id of the post.
    pub(crate) post: u64,
    /// The `revision` of the post that the person saw, from `get_post`. If the post has changed since, the call fails.
    /// Required to schedule a draft that a drafts-only token wrote.
    pub(crate) revision: Option<u64>,
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
    #[schemars(with = "Option<String>", length(max = 40))]
    pub(crate) scheduled_at: Option<PostTime>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct UploadMediaFromFile {
    /// The name of the file in the folder that the person shares, such as `boat.png`.
    #[schemars(length(max = 4096))]
    pub(crate) file: String,
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
