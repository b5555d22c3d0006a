use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::id::UserId;
use crate::time_zone::TimeZone;

/// A person who signed in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct User {
    pub user_id: UserId,
    /// As the identity provider last reported it.
    pub name: String,
    /// As the identity provider last reported it.
    pub email: String,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// The name of one of the deployment's plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Set by the operator: no token, session or sign-in of the user is accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// When the user last signed out everywhere; older sessions are invalid.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "chrono::serde::ts_milliseconds_option")]
    pub signed_out_at: Option<DateTime<Utc>>,
    /// The zone in which pages show times; UTC until the user has chosen one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<TimeZone>,
}

impl User {
    pub fn new(user_id: UserId, name: impl Into<String>, email: impl Into<String>, created_at: DateTime<Utc>) -> Self {
        Self {
            user_id,
            name: name.into(),
            email: email.into(),
            created_at,
            plan: None,
            disabled: false,
            signed_out_at: None,
            time_zone: None,
        }
    }

    pub fn shown_zone(&self) -> TimeZone {
        self.time_zone.clone().unwrap_or_else(TimeZone::utc)
    }

    pub fn accepts_session(&self, began_at: DateTime<Utc>) -> bool {
        !self.disabled && self.signed_out_at.is_none_or(|it| it < began_at)
    }
}
