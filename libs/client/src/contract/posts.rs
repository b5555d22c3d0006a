//! Posts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::present;
use crate::{PostTime, Timestamp};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Post {
    pub id: u64,
    /// Grows with each change that the user makes.
    pub revision: u64,
    /// What is said where an account's entry does not say otherwise.
    pub content: String,
    /// Where it stands.
    pub status: PostStatus,
    /// When it goes out; `None` for drafts.
    #[serde(default)]
    pub scheduled_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Who wrote it.
    pub creator: Creator,
    /// The accounts it is aimed at.
    pub platforms: Vec<PostPlatform>,
    /// The files it carries.
    pub media: Vec<PostMedia>,
}

/// Where a post stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostStatus {
    /// It has no time.
    Draft,
    /// It waits for its time.
    Scheduled,
    /// It is going out.
    Publishing,
    /// It is public everywhere.
    Published,
    /// It has ended, and is not public everywhere.
    Failed,
    /// What a later version of the service says.
    #[serde(untagged)]
    Other(String),
}

impl PostStatus {
    /// As the API writes it.
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

/// Who wrote a post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creator {
    /// The user's id.
    pub id: u64,
    /// The user's name.
    pub name: String,
}

/// One account that a post is aimed at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostPlatform {
    /// Of this entry.
    pub id: u64,
    /// The connection.
    pub connected_account_id: u64,
    pub provider: String,
    /// The account's handle.
    #[serde(default)]
    pub username: Option<String>,
    /// The text that this account uses.
    pub content: String,
    /// The files that this account has in place of the post's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<PostMedia>>,
    /// What is said on its platform alone.
    pub options: Map<String, Value>,
    /// Where this entry stands.
    pub status: TargetStatus,
    /// Since when it is public.
    #[serde(default)]
    pub published_at: Option<Timestamp>,
    /// The platform's id of it.
    #[serde(default)]
    pub platform_post_id: Option<String>,
    /// Where people see it.
    #[serde(default)]
    pub platform_post_url: Option<String>,
    /// Why it is not public, and what to do.
    #[serde(default)]
    pub error_message: Option<String>,
}

/// Where one account's entry of a post stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetStatus {
    /// Nothing went out yet.
    Pending,
    /// It is going out.
    Publishing,
    /// It is public.
    Published,
    /// It has ended and is not public, or nobody knows.
    Failed,
    /// What a later version of the service says.
    #[serde(untagged)]
    Other(String),
}

impl TargetStatus {
    /// As the API writes it.
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

/// A picture or video of a post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostMedia {
    pub id: u64,
    /// Works for at least an hour.
    pub url: String,
    /// `image` or `video`.
    pub file_type: String,
    /// Like `image/png`.
    pub mime_type: String,
    /// What it shows, as this post says it.
    #[serde(default)]
    pub alt_text: Option<String>,
}

/// A page of posts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostList {
    pub data: Vec<Post>,
    /// Where the page stands.
    pub meta: PageMeta,
}

/// Where a page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageMeta {
    /// The page asked for.
    pub current_page: u64,
    /// At least 1.
    pub last_page: u64,
    /// How many posts a page has at most.
    pub per_page: u64,
    /// How many posts there are on all pages.
    pub total: u64,
}

/// What a new post says, where it goes, when, and what it carries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewPost {
    /// What is said where a platform's entry does not say otherwise.
    pub content: String,
    /// Where it goes, each account once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platforms: Option<Vec<NewPostPlatform>>,
    /// When; `None` for a draft. Up to five minutes past means at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<PostTime>,
    /// Files, each once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<NewPostMedia>>,
}

/// One account that a post is aimed at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewPostPlatform {
    /// The id of a connection.
    pub connected_account_id: u64,
    /// A text for this account alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The files of this account alone, in place of the post's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<NewPostMedia>>,
    /// What is said on this account's platform alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Map<String, Value>>,
}

/// A file that a post carries: its path alone, or with words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NewPostMedia {
    /// The path that `POST /media` answered.
    Path(String),
    /// The same with what the file shows.
    Described(DescribedMedia),
}

/// A file, and what it shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedMedia {
    /// The path that `POST /media` answered.
    pub path: String,
    /// What it shows, for those who do not see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alt_text: Option<String>,
}

/// What changes; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PostChanges {
    /// Another text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Replaces the whole set; an entry for the same account keeps its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platforms: Option<Vec<NewPostPlatform>>,
    /// Another time; `Some(None)` takes the post back to draft.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub scheduled_at: Option<Option<PostTime>>,
    /// Replaces the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<NewPostMedia>>,
}

/// That a post would be scheduled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validation {
    /// What may be mended before.
    pub warnings: Vec<Warning>,
}

/// Something that no platform refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Where in the body.
    pub field: String,
    /// What, for people.
    pub message: String,
}
