//! Profiles: the customers of a user, for products that publish for their customers. A profile groups connections, and a
//! post belongs to the profile of its connections.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::id::{ProfileId, UserId};
use crate::name::Name;
use crate::text::ExternalId;

pub type ProfileName = Name<100>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    pub user_id: UserId,
    pub profile_id: ProfileId,
    pub name: ProfileName,
    /// Unique among the profiles of a user. It never changes, because connections and posts have copies of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<ExternalId>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
}

impl Profile {
    pub fn reference(&self) -> ProfileRef {
        ProfileRef { profile_id: self.profile_id, profile_external_id: self.external_id.clone() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRef {
    pub profile_id: ProfileId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_external_id: Option<ExternalId>,
}

impl ProfileRef {
    /// For the user: the external id, otherwise the id.
    pub fn shown_name(&self) -> String {
        self.profile_external_id.as_ref().map_or_else(|| self.profile_id.to_string(), |it| it.as_str().to_owned())
    }
}
