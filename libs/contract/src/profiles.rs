//! Profiles: the customers of a user.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{PageMeta, Timestamp};

/// A customer of the user, with connections of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Profile {
    /// The id of the profile.
    #[schema(example = 372_851_046_400_001_u64)]
    pub id: u64,
    /// The name of the customer.
    #[schema(example = "The Harbor")]
    pub name: String,
    /// The id of the customer in your own system; null if it has none.
    #[schema(example = "customer-4711")]
    pub external_id: Option<String>,
    /// When the profile was created.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T09:30:00.000Z")]
    pub created_at: Timestamp,
}

/// A new profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProfile {
    /// The name of the customer: at most 100 characters, not counting white space around the name.
    // As `domain::profile::ProfileName` parses it.
    #[schema(
        min_length = 1,
        pattern = r"^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*[^\x00- \x7f-\xa0\u061c\u1680\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000]([^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{0,98}[^\x00- \x7f-\xa0\u061c\u1680\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000])?[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$",
        example = "The Harbor"
    )]
    pub name: String,
    /// The id of the customer in your own system. No other profile may have it, and it never changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable, min_length = 1, max_length = 255, example = "customer-4711")]
    pub external_id: Option<String>,
}

/// Changes of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileChanges {
    /// The new name.
    #[schema(
        min_length = 1,
        pattern = r"^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*[^\x00- \x7f-\xa0\u061c\u1680\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000]([^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{0,98}[^\x00- \x7f-\xa0\u061c\u1680\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000])?[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$",
        example = "The Lighthouse"
    )]
    pub name: String,
}

/// How a profile is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeleteProfile {
    /// Whether everything of the profile is removed, too; `false` by default
    #[param(nullable)]
    pub erase: Option<bool>,
}

/// A page of profiles, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProfileList {
    /// The profiles of this page.
    pub data: Vec<Profile>,
    /// The position of this page, and the number of profiles.
    pub meta: PageMeta,
}

/// Which profiles a list has; `None` means the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListProfiles {
    /// Only the profile with this `external_id`
    #[param(nullable, max_length = 255)]
    pub external_id: Option<String>,
    /// Profiles on a page; 15 by default
    #[param(nullable, minimum = 1, maximum = 100)]
    pub per_page: Option<u64>,
    /// The number of the page
    #[param(nullable, minimum = 1, maximum = 1_000_000_000)]
    pub page: Option<u64>,
}
