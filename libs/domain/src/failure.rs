//! Why a delivery failed, as a value for the consumers of events.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    Refused,
    GivenUp,
    /// It is unknown whether the post, or the next reply of its thread, is public.
    MayBePublic,
    /// The post is public, and a reply of its thread is not.
    PartlyPublic,
}

impl FailureClass {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::GivenUp => "given_up",
            Self::MayBePublic => "may_be_public",
            Self::PartlyPublic => "partly_public",
        }
    }
}
