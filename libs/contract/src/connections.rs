//! Platforms, and connected accounts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::Timestamp;

/// An account on a platform that the user connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Connection {
    /// The id. Reconnecting the account does not change it.
    #[schema(example = 372_851_046_400_001_u64)]
    pub id: u64,
    /// The platform's name.
    #[schema(example = "sandbox")]
    pub provider: String,
    /// The account's handle.
    #[schema(example = "harbour", required)]
    pub username: Option<String>,
    /// The account's name.
    #[schema(example = "The Harbour", required)]
    pub display_name: Option<String>,
    /// The URL of the account's avatar.
    #[schema(required)]
    pub avatar: Option<String>,
    /// The profile of the customer whose account this is; null if the account is your own.
    #[schema(required)]
    pub profile_id: Option<u64>,
    /// Whether the account must be reconnected before it can publish.
    pub needs_reconnection: bool,
    /// When it was first connected.
    #[schema(value_type = Option<String>, format = DateTime, example = "2026-11-21T09:30:00.000Z", required)]
    pub created_at: Option<Timestamp>,
}

/// The user's connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectionList {
    /// Oldest first.
    pub data: Vec<Connection>,
}

/// A connection with its grant and its platform's limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConnectionDetails {
    #[serde(flatten)]
    pub connection: Connection,
    /// Facts of the grant (`profile_url`, `scopes`, `token_expires_at`), and the rules for a post of this account. A
    /// rule that does not apply has no entry.
    ///
    /// Text: `max_text`, `min_text`, `max_text_with_media` and `max_text_with_video` in `text_unit`, which is
    /// `graphemes`, `characters` (code points), `utf16_units`, `weighted` (as X counts) or `emoji_bytes` (an emoji
    /// counts its bytes, any other code point 1); `url_length`, the length that every link counts; `short_links`, if
    /// links are shown and counted shortened; `short_mentions`, if `@user@host` counts as `@user`; `max_text_bytes`;
    /// `max_content_warning`; `max_hashtags`, `max_mentions`, `max_links`; `text_not_shown`;
    /// `text_required`, if files alone are not accepted.
    ///
    /// Files: `max_media` for images and videos together; `max_images`, GIFs included; `max_videos`; `min_images`,
    /// `min_videos`; `media_required`; `not_mixed`, if images and videos cannot be combined; `gif_alone`, if a GIF
    /// cannot be combined; `document_alone`, if a document cannot be combined; `mime_types`; `max_image_bytes`,
    /// `max_gif_bytes`, `max_video_bytes`, `max_document_bytes`; `min_image_side`, the pixels of the shorter side;
    /// `max_pages` of a document; `readable_documents`, if a document may be neither encrypted nor damaged;
    /// `max_alt_text` in `alt_text_unit`, with `max_video_alt_text` if videos have a lower limit; `min_alt_text` of
    /// each file.
    ///
    /// Threads: `max_thread`, the most replies after the post; it is always there, 0 where there are no threads.
    ///
    /// Options: `not_with_media`, which cannot be combined with files; `document_options`, which need a document;
    /// `image_options`, which need images alone;
    /// `required_options` and `refused_options`, which a post of this account must have and must not have;
    /// `max_tag_length` of all tags together.
    ///
    /// Audience: `private_until_audit`, if the platform shows posts to the account alone until it has audited the
    /// operator's app; `consent_options`, which the platform's terms require a person to choose for each post.
    ///
    /// Quota: `uploads_per_day`, which all accounts of the deployment share. Further posts wait for the next day.
    pub meta: Vec<MetaEntry>,
}

/// A fact or a rule of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MetaEntry {
    /// The name of the fact or rule.
    #[schema(example = "max_text")]
    pub name: String,
    /// A string, a number, a list of strings, or null; `yes` for a rule without a value.
    #[schema(value_type = Value, example = json!(500))]
    pub value: Value,
    /// The condition under which the rule applies; absent when it always applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub when: Option<RuleCondition>,
}

/// The entries of a post to which a rule applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleCondition {
    /// The rule applies to entries with this option
    #[schema(example = "kind")]
    pub option: String,
    /// of one of these values,
    #[schema(value_type = Vec<Value>, example = json!(["reel"]))]
    pub is: Vec<Value>,
    /// and, if true, also to entries without the option.
    pub or_absent: bool,
}

/// A connection request that has started.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ConnectionRequest {
    /// Identifies this request.
    #[schema(example = "m1x6Cq0nVvXkY2iGqfS0l3d5u0b1vZsJmX3l8k9wQzE")]
    pub state_token: String,
    /// Send the user to this page.
    #[schema(example = "https://sandbox.example/oauth/authorize?state=m1x6Cq0nVvXkY2iGqfS0l3d5u0b1vZsJmX3l8k9wQzE")]
    pub authorization_url: String,
    /// Seconds until the request expires.
    #[schema(example = 600)]
    pub expires_in: i64,
    /// Poll this URL for the status of the request.
    #[schema(
        example = "https://social.example/api/v1/connections/connect/sandbox/status/m1x6Cq0nVvXkY2iGqfS0l3d5u0b1vZsJmX3l8k9wQzE"
    )]
    pub poll_url: String,
}

/// The status of a connection request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ConnectionRequestStatus {
    /// The user has not finished yet.
    Pending {
        /// Seconds until the request expires.
        #[schema(example = 412)]
        expires_in: i64,
    },
    /// No account was connected. The page that the user sees says why.
    Failed,
    /// At least one account is connected.
    Completed {
        /// The connection, or the first one if the user connected several accounts; null if it was
        /// disconnected since.
        #[schema(required)]
        connection: Option<Connection>,
    },
}

/// The values that an option accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChoiceList {
    /// In the platform's order, at most 1,000.
    pub data: Vec<Choice>,
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Choice {
    /// Send this as the value of the option.
    #[schema(example = "tides")]
    pub value: String,
    /// Show this to the user.
    #[schema(example = "Tides and weather")]
    pub label: String,
}

/// The supported platforms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlatformList {
    /// Sorted by name.
    pub data: Vec<Platform>,
}

/// A platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Platform {
    /// The name in `POST /connections/connect/{platform}`.
    #[schema(example = "mastodon")]
    pub name: String,
    /// The display name.
    #[schema(example = "Mastodon")]
    pub title: String,
    /// What an operator needs to set it up: `open` (nothing, or credentials available in minutes),
    /// `own_accounts` (without a review, only the operator's own accounts), `review` or `paid`.
    #[schema(example = "open")]
    pub access: String,
    /// Whether accounts can be connected in this deployment.
    pub usable: bool,
    /// What the operator has not provided yet: `settings` (the platform is not enabled), `credentials` (the ID and secret
    /// of the app are not stored) or `audit` (the settings do not say that the platform has audited the app, so posts
    /// are private).
    #[schema(example = json!(["audit"]))]
    pub missing: Vec<String>,
    /// JSON Schema 2020-12 of `options` of an entry of a post.
    #[schema(value_type = BTreeMap<String, Value>)]
    pub options: Map<String, Value>,
    /// Rules for posts before an account is known; the rules of one account are in the `meta` of
    /// its connection. Empty when not usable.
    pub rules: Vec<PlatformRule>,
    /// Form fields that the user fills in before the platform's own page. Empty when not usable.
    pub fields: Vec<PlatformField>,
}

/// A rule of a platform for posts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlatformRule {
    /// The name of the rule.
    #[schema(example = "max_text")]
    pub name: String,
    /// A number or a list of strings; `yes` for a rule without a value.
    #[schema(value_type = Value, example = json!(500))]
    pub value: Value,
    /// Unit of a number; null for other values.
    #[schema(example = "graphemes")]
    pub unit: Option<String>,
    /// The condition under which the rule applies; absent when it always applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub when: Option<RuleCondition>,
}

/// A form field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlatformField {
    /// The name of the form field.
    #[schema(example = "server")]
    pub name: String,
    /// The label to show to the user.
    #[schema(example = "Your server")]
    pub label: String,
    /// A value as an example.
    #[schema(example = "mastodon.social")]
    pub example: String,
    /// Whether the input is hidden.
    pub secret: bool,
    /// Whether it may be empty.
    pub optional: bool,
}
