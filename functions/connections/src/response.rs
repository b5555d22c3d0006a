//! Responses of the API's routes.

mod connection;
mod platform;
mod rule;

use serde::Serialize;
use utoipa::ToSchema;

pub(crate) use self::connection::{ConnectionDetails, ConnectionView};
pub(crate) use self::platform::{PlatformList, PlatformView};

/// The user's connections.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConnectionList {
    /// Oldest first.
    pub(crate) data: Vec<ConnectionView>,
}

/// A connection request that has started.
#[derive(Serialize, ToSchema)]
#[schema(as = ConnectionRequest)]
pub(crate) struct ConnectFlowStarted {
    /// Identifies this request.
    #[schema(example = "m1x6Cq0nVvXkY2iGqfS0l3d5u0b1vZsJmX3l8k9wQzE")]
    pub(crate) state_token: String,
    /// Send the user to this page.
    #[schema(example = "https://sandbox.example/oauth/authorize?state=m1x6Cq0nVvXkY2iGqfS0l3d5u0b1vZsJmX3l8k9wQzE")]
    pub(crate) authorization_url: String,
    /// Seconds until the request expires.
    #[schema(example = 600)]
    pub(crate) expires_in: i64,
    /// Poll this URL for the status of the request.
    #[schema(
        example = "https://social.example/api/v1/connections/connect/sandbox/status/m1x6Cq0nVvXkY2iGqfS0l3d5u0b1vZsJmX3l8k9wQzE"
    )]
    pub(crate) poll_url: String,
}

/// The status of a connection request.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
#[schema(as = ConnectionRequestStatus)]
pub(crate) enum ConnectFlowStatus {
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
        connection: Option<ConnectionView>,
    },
}

/// The values that an option accepts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChoiceList {
    /// In the platform's order, at most 1,000.
    pub(crate) data: Vec<ChoiceView>,
}

/// A value of an option.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Choice)]
pub(crate) struct ChoiceView {
    /// Send this as the value of the option.
    #[schema(example = "tides")]
    pub(crate) value: String,
    /// Show this to the user.
    #[schema(example = "Tides and weather")]
    pub(crate) label: String,
}
