//! Posts, their targets, and their attempts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::present;
use crate::{PostTime, Timestamp};

/// A post.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Post {
    /// The id of the post.
    #[schema(example = 1_234_567_890)]
    pub id: u64,
    /// Increases with each change by the user. In quotation marks, it is the `etag` of the post.
    #[schema(example = 1)]
    pub revision: u64,
    /// The text for every account without a text of its own; null for files alone.
    #[schema(example = "Hello from the harbour")]
    pub content: Option<String>,
    /// `draft`, `scheduled`, `publishing`, `published` or `failed`.
    #[schema(value_type = String, example = "scheduled")]
    pub status: PostStatus,
    /// When the post is published; null for drafts.
    #[schema(value_type = Option<String>, format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    pub scheduled_at: Option<Timestamp>,
    /// When the post was created.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T09:00:00.000Z")]
    pub created_at: Timestamp,
    /// When the post or its status last changed.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T09:00:00.000Z")]
    pub updated_at: Timestamp,
    /// The profile of the customer whose accounts the post is for; null for your own.
    pub profile_id: Option<u64>,
    /// The user who wrote the post.
    pub creator: Creator,
    /// The accounts that the post is for, with its status on each.
    pub platforms: Vec<PostPlatform>,
    /// The images and videos for every account without files of its own.
    pub media: Vec<PostMedia>,
    /// The replies that continue the post as a thread, for every account without replies of its own.
    pub thread: Vec<ThreadEntry>,
    /// The id of the post in your own system; null if it has none.
    #[schema(example = "order-4711")]
    pub external_id: Option<String>,
    /// The labels of the post.
    #[schema(example = json!(["spring", "offer"]))]
    pub labels: Vec<String>,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Creator {
    /// The id of the user.
    #[schema(example = 1_234_567_000)]
    pub id: u64,
    /// The name of the user when the post was created.
    #[schema(example = "Demo User")]
    pub name: String,
}

/// One account that a post is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PostPlatform {
    /// The id of this entry. It does not change with the post.
    #[schema(example = 1_234_567_891)]
    pub id: u64,
    /// The id of the connection.
    #[schema(example = 1_234_567_001)]
    pub connected_account_id: u64,
    /// The platform of the account.
    #[schema(example = "sandbox")]
    pub provider: String,
    /// The username of the account; null if its platform has none.
    #[schema(example = "harbour")]
    pub username: Option<String>,
    /// The text that this account uses; null for files alone.
    #[schema(example = "Hello from the harbour")]
    pub content: Option<String>,
    /// The files for this account, instead of those of the post; absent if it uses those of the post.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub media: Option<Vec<PostMedia>>,
    /// The replies for this account, instead of those of the post; absent if it uses those of the post.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub thread: Option<Vec<ThreadEntry>>,
    /// Options of the account's platform.
    #[schema(value_type = BTreeMap<String, Value>, example = json!({ "language": "en" }))]
    pub options: Map<String, Value>,
    /// When a person agreed to the platform's terms for this version of the post, on the page of this service that asks for
    /// it; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime)]
    pub consented_at: Option<Timestamp>,
    /// `pending`, `publishing`, `published` or `failed`.
    #[schema(value_type = String, example = "pending")]
    pub status: TargetStatus,
    /// When the post became public on this account; null if it is not.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub published_at: Option<Timestamp>,
    /// The id that the platform gave the post; null until it is public.
    pub platform_post_id: Option<String>,
    /// The URL of the public post; null if it is unknown.
    #[schema(example = "https://mastodon.example/@harbour/112233")]
    pub platform_post_url: Option<String>,
    /// True if the platform has given the post to a person, who finishes it in the platform's app: it is `published` as far
    /// as this service can publish it, and not public before that. Absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub handed_over: bool,
    /// Why the post is not public on this account, and what to do; null if there is nothing to report.
    pub error_message: Option<String>,
    /// What is published on this account, in order: the post, the replies of its thread, and the
    /// first comment.
    pub segments: Vec<PostSegment>,
}

/// A reply of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ThreadEntry {
    /// The text; null for a reply with files alone.
    #[schema(example = "And this is the crew")]
    pub content: Option<String>,
    /// The images and videos of the reply.
    pub media: Vec<PostMedia>,
}

/// A post, reply or comment on one account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PostSegment {
    /// `post`, `reply` (to the segment before it) or `comment` (on the post).
    #[schema(example = "reply")]
    pub kind: String,
    /// The text; null if there are files alone.
    #[schema(example = "And this is the crew")]
    pub content: Option<String>,
    /// The images and videos.
    pub media: Vec<PostMedia>,
    /// `pending`, `publishing`, `published` or `failed`.
    #[schema(value_type = String, example = "pending")]
    pub status: TargetStatus,
    /// When it became public; null if it is not.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub published_at: Option<Timestamp>,
    /// The id that the platform gave it; null until it is public.
    pub platform_post_id: Option<String>,
    /// Its URL; null if it is unknown.
    #[schema(example = "https://mastodon.example/@harbour/112234")]
    pub platform_post_url: Option<String>,
    /// Why it is not public; null if there is nothing to report.
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

/// An image, video or document of a post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PostMedia {
    /// The id of the file.
    #[schema(example = 1_234_567_002)]
    pub id: u64,
    /// A link to the file, valid for at least an hour.
    pub url: String,
    /// `image`, `video` or `document`.
    #[schema(example = "image")]
    pub file_type: String,
    /// The MIME type of the file.
    #[schema(example = "image/jpeg")]
    pub mime_type: String,
    /// The alt text of the file in this post; null if it has none.
    #[schema(example = "A boat at the pier")]
    pub alt_text: Option<String>,
}

/// One call to a platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    /// When the call began.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    pub at: Timestamp,
    /// The id of the connection.
    #[schema(example = 1_234_567_001)]
    pub connected_account_id: u64,
    /// The platform of the account.
    #[schema(example = "sandbox")]
    pub provider: String,
    /// What the call was about, as an index of `segments`: 0 is the post.
    #[schema(example = 0)]
    pub segment: u16,
    /// `prepare` (uploads and other calls before the time of the post), `publish`, `look_up` (whether
    /// an earlier call published the post) or `comment` (what follows the publication).
    #[schema(example = "publish")]
    pub step: String,
    /// `accepted`; `refused`; `retry_later` (nothing became public, and the service tries again);
    /// `unknown` (whether the post is public); for `look_up` also `found` and `not_found`.
    #[schema(example = "accepted")]
    pub outcome: String,
    /// The HTTP status of the platform's last response; null if there was none.
    #[schema(example = 201)]
    pub http_status: Option<u16>,
    /// What went wrong; null after a success.
    pub message: Option<String>,
    /// How long the call took, in milliseconds.
    #[schema(example = 321)]
    pub duration_ms: u64,
}

/// A page of attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptList {
    /// The attempts of this page, newest first.
    pub data: Vec<Attempt>,
    /// Which page this is, and how many there are.
    pub meta: PageMeta,
}

/// A page of posts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PostList {
    /// The posts of this page.
    pub data: Vec<Post>,
    /// The position of this page, and the number of posts.
    pub meta: PageMeta,
}

/// Filters and order of a list of posts; `None` means the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListPosts {
    /// Only posts with this status: `draft`, `scheduled`, `publishing`, `published` or `failed`
    #[param(value_type = Option<String>, nullable, pattern = "^(draft|scheduled|publishing|published|failed)?$")]
    pub status: Option<PostStatus>,
    /// Only posts of this profile
    #[param(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    pub profile_id: Option<u64>,
    /// Only posts with this `external_id`
    #[param(nullable, max_length = 255)]
    pub external_id: Option<String>,
    /// Only posts that have this label
    #[param(nullable, max_length = 50)]
    pub label: Option<String>,
    /// Number of posts on a page, 1 to 100. Default: 15
    #[param(nullable, minimum = 1, maximum = 100)]
    pub per_page: Option<u64>,
    /// Number of the page, from 1. Default: 1
    #[param(nullable, minimum = 1, maximum = 1_000_000_000)]
    pub page: Option<u64>,
    /// Sort by `created_at` (default) or `scheduled_at`
    #[param(nullable, pattern = "^(created_at|scheduled_at)?$")]
    pub sort: Option<String>,
    /// `desc` (default, latest first) or `asc`
    #[param(nullable, pattern = "^(asc|desc)?$")]
    pub direction: Option<String>,
}

impl ListPosts {
    pub fn by_status(status: Option<PostStatus>) -> Self {
        Self { status, ..Self::default() }
    }
}

/// The position of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PageMeta {
    /// The requested page.
    #[schema(example = 1)]
    pub current_page: u64,
    /// The number of the last page, at least 1.
    #[schema(example = 1)]
    pub last_page: u64,
    /// The requested number of entries on a page.
    #[schema(example = 15)]
    pub per_page: u64,
    /// The number of entries on all pages.
    #[schema(example = 2)]
    pub total: u64,
}

/// A new post.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "content": "Hello from the harbour",
    "platforms": [{ "connected_account_id": 1_234_567_001 }],
    "scheduled_at": "2026-11-21T09:30:00Z",
    "media": ["media/1234567000/1234567002.jpg"]
}))]
pub struct NewPost {
    /// The text for every account without a text of its own. All texts of a post together (this one,
    /// and those of its `platforms`, options and alt texts) can have at most 300,000 bytes of UTF-8;
    /// the error names the largest text of the request. With files, it can be absent or blank where
    /// every platform accepts files alone (rule `text_required`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 65_000)]
    pub content: Option<String>,
    /// The accounts to publish to, each once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 30)]
    pub platforms: Option<Vec<NewPostPlatform>>,
    /// When to publish. Without it, the post is a draft. A time in the past five minutes means now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<PostTime>,
    /// The `path` of each file that `POST /media` returned, each once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 30)]
    pub media: Option<Vec<NewPostMedia>>,
    /// Replies that continue the post as a thread, in order, on every account without replies of its
    /// own. An account whose platform has no threads needs `"thread": []`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 24)]
    pub thread: Option<Vec<NewThreadEntry>>,
    /// The id of the post in your own system, to find the post by. Several posts can have the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255, min_length = 1)]
    pub external_id: Option<String>,
    /// Labels to find the post by, each once, of 1 to 50 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20)]
    pub labels: Option<Vec<String>>,
}

impl NewPost {
    /// A draft for no account.
    pub fn new(content: String) -> Self {
        Self { content: Some(content), ..Self::default() }
    }
}

/// One account to publish to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with connected_account_id")]
pub struct NewPostPlatform {
    /// The id of a connection.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    pub connected_account_id: u64,
    /// A text for this account only; a blank one publishes the files alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 65_000)]
    pub content: Option<String>,
    /// The files for this account, instead of those of the post. All lists of a request together can
    /// have at most 300 entries and name at most 60 different files.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 30)]
    pub media: Option<Vec<NewPostMedia>>,
    /// The replies for this account, instead of those of the post; `[]` means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 24)]
    pub thread: Option<Vec<NewThreadEntry>>,
    /// Options of this account's platform, such as `visibility`, `content_warning` or `language`.
    /// An unknown option is an error; values are checked when the post is scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, Value>>, example = json!({ "language": "en" }))]
    pub options: Option<Map<String, Value>>,
}

/// A reply of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with content or media")]
pub struct NewThreadEntry {
    /// The text. Required without media.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 65_000)]
    pub content: Option<String>,
    /// The files of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 30)]
    pub media: Option<Vec<NewPostMedia>>,
}

/// A file of the post: its path alone, or with an alt text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged, expecting = "a file must be a path, or an object with path and alt_text")]
pub enum NewPostMedia {
    /// The path that `POST /media` returned.
    Path(String),
    /// The path with an alt text.
    Described(DescribedMedia),
}

/// A file with its alt text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "path": "media/1234567000/1234567002.jpg", "alt_text": "A boat at the pier" }))]
pub struct DescribedMedia {
    /// The path that `POST /media` returned.
    pub path: String,
    /// The alt text, for people who cannot see the file. It is never generated and never cut: one
    /// that is too long for a platform is an error when the post is scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable, min_length = 1, max_length = 10_000, pattern = r"\S")]
    pub alt_text: Option<String>,
}

/// The fields to change. A field that you leave out does not change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"scheduled_at": "2026-11-21T09:30:00Z"}))]
pub struct PostChanges {
    /// The text for every account without a text of its own. All texts of a post together (this one,
    /// and those of its `platforms`, options and alt texts) can have at most 300,000 bytes of UTF-8;
    /// the error names the largest text of the request. A blank text or null removes the text of a
    /// post with files.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 65_000)]
    pub content: Option<String>,
    /// The accounts, as the complete list. An entry for an account that the post already has keeps
    /// its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 30)]
    pub platforms: Option<Vec<NewPostPlatform>>,
    /// The new time; `null` changes the post back to a draft.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<PostTime>)]
    pub scheduled_at: Option<Option<PostTime>>,
    /// The files, as the complete list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 30)]
    pub media: Option<Vec<NewPostMedia>>,
    /// The replies, as the complete list. Those that are public do not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 24)]
    pub thread: Option<Vec<NewThreadEntry>>,
    /// The id of the post in your own system; `null` removes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 255, min_length = 1)]
    pub external_id: Option<Option<String>>,
    /// The labels, as the complete list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20)]
    pub labels: Option<Vec<String>>,
}

impl PostChanges {
    pub fn schedule(at: PostTime) -> Self {
        Self { scheduled_at: Some(Some(at)), ..Self::default() }
    }

    /// Changes the post back to a draft.
    pub fn unschedule() -> Self {
        Self { scheduled_at: Some(None), ..Self::default() }
    }
}

/// The result of the check: the post can be scheduled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Validation {
    /// What you may want to change before you schedule the post.
    pub warnings: Vec<Warning>,
}

/// A problem that does not prevent publishing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    /// The path of the field in the body.
    #[schema(example = "media.0.alt_text")]
    pub field: String,
    /// The warning, and what to do about it.
    #[schema(
        example = "media.0.alt_text is missing: people who use a screen reader on Mastodon will not know what the file shows; describe it"
    )]
    pub message: String,
}
