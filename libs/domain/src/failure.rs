//! Why something did not become public, for programs.

use serde::{Deserialize, Serialize};

/// Why a delivery failed, for programs that listen to events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The platform does not want it.
    Refused,
    /// It could not be sent for a day.
    GivenUp,
    /// Nobody can say whether it is public.
    MayBePublic,
}

impl FailureClass {
    /// As events name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::GivenUp => "given_up",
            Self::MayBePublic => "may_be_public",
        }
    }
}
