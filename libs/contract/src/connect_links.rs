//! Connect links, with which customers connect accounts or agree to posts.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::exposed;
use crate::Timestamp;

/// A new connect link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewConnectLink {
    /// The profile of the customer.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64, example = 372_851_046_400_001_u64)]
    pub profile_id: u64,
    /// The names of the platforms that the customer may choose; by default all that are set up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable, min_items = 1, max_items = 50, example = json!(["mastodon", "bluesky"]))]
    pub platforms: Vec<String>,
    /// A draft or a failed post of the profile. The customer then connects no accounts, but chooses the `consent_options`
    /// and agrees to the terms of the platform for each account of the post that needs it. Requires `posts:write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable, minimum = 1, maximum = 9_007_199_254_740_991_i64, example = 372_851_046_400_003_u64)]
    pub post_id: Option<u64>,
    /// The page of your product to which the browser returns, with the query parameters `connect_link` (the id) and
    /// `status` (`completed` or `cancelled`). Its origin must be one of the operator's `ReturnOrigins`.
    #[schema(max_length = 2048, example = "https://product.example/connected")]
    pub return_url: String,
    /// Seconds until the link expires: from a minute to seven days, by default an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable, minimum = 60, maximum = 604_800, example = 3600)]
    pub expires_in: Option<u64>,
}

/// A connect link.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ConnectLink {
    /// The id of the link, which the browser brings back to your product.
    #[schema(example = 372_851_046_400_002_u64)]
    pub id: u64,
    /// The page to which you send your customer. Treat it as a secret: the first browser in which it is continued can
    /// connect accounts for the profile, or see the post.
    #[serde(serialize_with = "exposed")]
    #[schema(value_type = String, example = "https://social.example/connect-links/Zk3hV0sT9yQm2b7pXcLw")]
    pub url: SecretString,
    /// When the link expires.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T10:30:00.000Z")]
    pub expires_at: Timestamp,
}
