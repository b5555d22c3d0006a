use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::present;
use crate::{PostTime, Timestamp};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Post {
    pub id: u64,
    /// Grows with each change that the user makes.
    pub revision: u64,
    /// The text of every entry in `platforms` without its own text.
    pub content: String,
    pub status: PostStatus,
    /// When the post is published; `None` for drafts.
    #[serde(default)]
    pub scheduled_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub creator: Creator,
    /// One entry for each account.
    pub platforms: Vec<PostPlatform>,
    /// The files of every entry in `platforms` without its own files.
    pub media: Vec<PostMedia>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostStatus {
    /// Has no time.
    Draft,
    /// Waits for its time.
    Scheduled,
    /// Is being published.
    Publishing,
    /// Is public on every account.
    Published,
    /// Has ended, and is not public on every account.
    Failed,
    /// A status that a later version of the service returns.
    #[serde(untagged)]
    Other(String),
}

impl PostStatus {
    /// The value in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Draft => "draft",
            Self::Scheduled => "scheduled",
            Self::Publishing => "publishing",
            Self::Published => "published",
            Self::Failed => "failed",
            Self::Other(it) => it,
        }
    }
}

/// The user who wrote a post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creator {
    pub id: u64,
    pub name: String,
}

/// One account that a post is aimed at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostPlatform {
    /// The id of this entry.
    pub id: u64,
    /// The id of the connection.
    pub connected_account_id: u64,
    pub provider: String,
    /// The account's username.
    #[serde(default)]
    pub username: Option<String>,
    /// The text for this account.
    pub content: String,
    /// The files for this account; `None` if it uses the post's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<PostMedia>>,
    /// Options of the account's platform.
    pub options: Map<String, Value>,
    pub status: TargetStatus,
    #[serde(default)]
    pub published_at: Option<Timestamp>,
    /// The platform's id of the published post.
    #[serde(default)]
    pub platform_post_id: Option<String>,
    /// The URL of the published post.
    #[serde(default)]
    pub platform_post_url: Option<String>,
    /// Why the post is not public, and what the user can do.
    #[serde(default)]
    pub error_message: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetStatus {
    /// Nothing was published yet.
    Pending,
    /// Is being published.
    Publishing,
    /// Is public.
    Published,
    /// Has ended and is not known to be public.
    Failed,
    /// A status that a later version of the service returns.
    #[serde(untagged)]
    Other(String),
}

impl TargetStatus {
    /// The value in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Pending => "pending",
            Self::Publishing => "publishing",
            Self::Published => "published",
            Self::Failed => "failed",
            Self::Other(it) => it,
        }
    }
}

/// An image or a video of a post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostMedia {
    pub id: u64,
    /// Valid for at least an hour.
    pub url: String,
    /// `image` or `video`.
    pub file_type: String,
    /// Such as `image/png`.
    pub mime_type: String,
    /// The alternative text of the file in this post.
    #[serde(default)]
    pub alt_text: Option<String>,
}

/// One call to a platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When the call began.
    pub at: Timestamp,
    pub connected_account_id: u64,
    /// The platform's name.
    pub provider: String,
    /// What was published, as an index: 0 is the post.
    pub segment: u16,
    /// `prepare`, `publish`, `look_up` or `comment`.
    pub step: String,
    /// `accepted`, `refused`, `retry_later`, `unknown`, `found` or `not_found`.
    pub outcome: String,
    /// `None` if the platform did not respond.
    #[serde(default)]
    pub http_status: Option<u16>,
    /// What went wrong.
    #[serde(default)]
    pub message: Option<String>,
    pub duration_ms: u64,
}

/// A page of attempts, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptList {
    pub data: Vec<Attempt>,
    pub meta: PageMeta,
}

/// A page of posts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostList {
    pub data: Vec<Post>,
    pub meta: PageMeta,
}

/// The position of a page in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageMeta {
    pub current_page: u64,
    /// At least 1.
    pub last_page: u64,
    /// The most entries on a page.
    pub per_page: u64,
    /// The number of entries on all pages.
    pub total: u64,
}

/// The request body that creates a post.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewPost {
    /// The text of every entry in `platforms` without its own text.
    pub content: String,
    /// The accounts to publish to, each at most once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platforms: Option<Vec<NewPostPlatform>>,
    /// `None` for a draft. A time up to five minutes in the past means now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<PostTime>,
    /// Each file at most once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<NewPostMedia>>,
}

/// One account that a post is aimed at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewPostPlatform {
    /// The id of a connection.
    pub connected_account_id: u64,
    /// A text for this account only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Files for this account, instead of the post's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<NewPostMedia>>,
    /// Options of the account's platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Map<String, Value>>,
}

/// A file of a post: its path, or its path with an alternative text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NewPostMedia {
    /// The path that `POST /media` returned.
    Path(String),
    /// A file with an alternative text.
    Described(DescribedMedia),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedMedia {
    /// The path that `POST /media` returned.
    pub path: String,
    /// For people who cannot see the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alt_text: Option<String>,
}

/// Changes to a post; a field that is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PostChanges {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Replaces all entries; an entry for the same account keeps its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platforms: Option<Vec<NewPostPlatform>>,
    /// A new time; `Some(None)` takes the post back to draft.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub scheduled_at: Option<Option<PostTime>>,
    /// Replaces the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<NewPostMedia>>,
}

/// The response for a post that would be scheduled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validation {
    /// What the user may want to improve before scheduling.
    pub warnings: Vec<Warning>,
}

/// Something that no platform refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The path of the field in the request body.
    pub field: String,
    /// The message for the user.
    pub message: String,
}
