//! The arguments of the tools. Their comments are what an assistant reads.

use client::{DescribedMedia, NewPost, NewPostMedia, NewPostPlatform, PostTime};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::result::ToolError;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ListPlatforms {
    /// The name of one platform, to see its options and rules. Without it: all, by name.
    #[schemars(length(max = 64))]
    pub(crate) platform: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ListConnections {
    /// The id of one account, to see what it asks of a post. Without it: all accounts.
    pub(crate) connection: Option<u64>,
    /// Only accounts of this platform.
    #[schemars(length(max = 64))]
    pub(crate) platform: Option<String>,
}

/// An account that a post goes to.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct Account {
    /// The id of the account, from `list_connections`.
    pub(crate) connection: u64,
    /// Another text for this account.
    #[schemars(length(min = 1, max = 65_000))]
    pub(crate) content: Option<String>,
    /// Other files for this account.
    #[schemars(length(max = 30))]
    pub(crate) media: Option<Vec<Medium>>,
    /// What is said on its platform alone; `list_platforms` names what there is.
    pub(crate) options: Option<Map<String, Value>>,
}

/// A file of a post.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct Medium {
    /// The path that `upload_media_from_url` answered.
    #[schemars(length(min = 1, max = 255))]
    pub(crate) path: String,
    /// What it shows, for those who do not see it.
    #[schemars(length(min = 1, max = 10_000))]
    pub(crate) alt_text: Option<String>,
}

/// What a post says, where it goes, and when.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ValidatePost {
    /// The text.
    #[schemars(length(min = 1, max = 65_000))]
    pub(crate) content: String,
    /// Where it goes, each account once.
    #[serde(default)]
    #[schemars(length(max = 30))]
    pub(crate) accounts: Vec<Account>,
    /// When it goes out: a time with an offset, such as 2026-11-21T09:30:00+01:00, or "now". Without it: a draft.
    #[schemars(length(max = 40))]
    pub(crate) scheduled_at: Option<String>,
    /// Its files, each once.
    #[serde(default)]
    #[schemars(length(max = 30))]
    pub(crate) media: Vec<Medium>,
}

// Written out, because serde passes over unknown fields beside what is flattened.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct CreatePost {
    /// A word of your choice, new for each new post and the same when you call again within a day for the same post:
    /// then it is not made twice.
    #[schemars(length(min = 1, max = 255), regex(pattern = "^[!-~]+$"))]
    pub(crate) idempotency_key: String,
    /// The text.
    #[schemars(length(min = 1, max = 65_000))]
    pub(crate) content: String,
    /// Where it goes, each account once.
    #[serde(default)]
    #[schemars(length(max = 30))]
    pub(crate) accounts: Vec<Account>,
    /// When it goes out: a time with an offset, such as 2026-11-21T09:30:00+01:00, or "now". Without it: a draft.
    #[schemars(length(max = 40))]
    pub(crate) scheduled_at: Option<String>,
    /// Its files, each once.
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
    /// Which page, from 1.
    #[schemars(range(min = 1))]
    pub(crate) page: Option<u64>,
    /// How many posts a page has, 10 without.
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
    /// Its id.
    pub(crate) post: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ChangePost {
    /// Its id.
    pub(crate) post: u64,
    /// The `revision` of the post as the person saw it, from `get_post`: if it has changed since, nothing is done.
    /// Needed to schedule a draft that a token for drafts wrote.
    pub(crate) revision: Option<u64>,
    /// Another text. Without it, the text stays.
    #[schemars(length(min = 1, max = 65_000))]
    pub(crate) content: Option<String>,
    /// All accounts that it goes to, in place of those it has.
    #[schemars(length(max = 30))]
    pub(crate) accounts: Option<Vec<Account>>,
    /// Another time, as in `create_post`. A draft that gets a time is scheduled. `cancel_post` takes the time away.
    #[schemars(length(max = 40))]
    pub(crate) scheduled_at: Option<String>,
    /// All its files, in place of those it has.
    #[schemars(length(max = 30))]
    pub(crate) media: Option<Vec<Medium>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct CancelPost {
    /// Its id.
    pub(crate) post: u64,
    /// The `revision` of the post as the person saw it, from `get_post`: if it has changed since, nothing is done.
    pub(crate) revision: Option<u64>,
    /// What becomes of it: back to a draft, which keeps what was written, or deleted for good.
    #[serde(default)]
    pub(crate) then: Then,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(crate = "rmcp::schemars")]
pub(crate) enum Then {
    #[default]
    Draft,
    Delete,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct RetryPost {
    /// Its id.
    pub(crate) post: u64,
    /// The `revision` of the post as the person saw it, from `get_post`: if it has changed since, nothing is done.
    pub(crate) revision: Option<u64>,
    /// When, as in `create_post`; now without it.
    #[schemars(length(max = 40))]
    pub(crate) scheduled_at: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct UploadMedia {
    /// Where the file is, at an address that everybody can reach.
    #[schemars(length(min = 1, max = 2048))]
    pub(crate) url: String,
    /// What it is: image/jpeg, image/png, image/gif, image/webp, video/mp4 or video/quicktime.
    #[schemars(length(max = 32))]
    pub(crate) mime_type: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ExplainError {
    /// A post that failed or waits.
    pub(crate) post: Option<u64>,
    /// The status of a refusal, such as 422.
    #[schemars(range(min = 400, max = 599))]
    pub(crate) status: Option<u16>,
    /// The word in `error` of a refusal, such as `has_pending_posts`.
    #[schemars(length(max = 64))]
    pub(crate) code: Option<String>,
}

impl ValidatePost {
    pub(crate) fn written(self) -> Result<NewPost, ToolError> {
        Ok(NewPost {
            content: self.content,
            platforms: Some(self.accounts.into_iter().map(Account::written).collect()),
            scheduled_at: self.scheduled_at.map(|it| time(&it)).transpose()?,
            media: Some(files(self.media)),
        })
    }
}

impl CreatePost {
    /// The key of the call, and the post.
    pub(crate) fn parted(self) -> (String, ValidatePost) {
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

/// A time as an assistant writes it.
pub(crate) fn time(raw: &str) -> Result<PostTime, ToolError> {
    serde_json::from_value(Value::String(raw.to_owned())).map_err(|_| {
        let what = "scheduled_at must be a time with an offset, such as 2026-11-21T09:30:00+01:00, or now";
        ToolError::Input(what.to_owned())
    })
}
