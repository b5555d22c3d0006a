//! Platforms, and connected accounts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Stays the same when the account is reconnected.
    pub id: u64,
    /// The platform's name.
    pub provider: String,
    pub username: Option<String>,
    pub display_name: Option<String>,
    /// URL of the account's picture.
    pub avatar: Option<String>,
    /// Whether the user must reconnect the account before it can publish.
    pub needs_reconnection: bool,
    /// Time of the first connection.
    pub created_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionList {
    pub data: Vec<Connection>,
}

/// A connection with its metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionDetails {
    /// Facts about the grant, and the platform's rules for posts.
    #[serde(flatten)]
    pub connection: Connection,
    pub meta: Vec<MetaEntry>,
}

/// One fact about a connection, such as `max_text`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetaEntry {
    pub name: String,
    /// A string, a number, a list of strings or null; `yes` where only the presence of the entry
    /// matters.
    pub value: Value,
    /// The condition under which the entry applies; `None` if it always applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<RuleCondition>,
}

/// A condition on an option of the post.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleCondition {
    /// The rule applies to entries of a post with this option
    pub option: String,
    pub is: Vec<Value>,
    /// and, if this is true, to entries without it.
    pub or_absent: bool,
}

/// A connect flow that has started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectionRequest {
    /// Identifies the request when its status is polled.
    pub state_token: String,
    /// The page to send the user to.
    pub authorization_url: String,
    pub expires_in: u64,
    /// The URL that returns the status of the request.
    pub poll_url: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ConnectionRequestStatus {
    /// The user has not finished yet.
    Pending { expires_in: u64 },
    /// The user or the platform refused; the page that the user sees shows the reason.
    Failed,
    /// An account was connected.
    Completed {
        /// `None` if the account was disconnected in the meantime.
        connection: Option<Connection>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceList {
    pub data: Vec<Choice>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The value of the option.
    pub value: String,
    /// The name that users know.
    pub label: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlatformList {
    pub data: Vec<Platform>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Platform {
    /// The name for [`Client::begin_connection`](crate::Client::begin_connection).
    pub name: String,
    /// The name that users know.
    pub title: String,
    /// What an operator needs in order to offer the platform: `open`, `own_accounts`, `review` or
    /// `paid`.
    pub access: String,
    /// Whether accounts of the platform can be connected on this deployment.
    pub usable: bool,
    /// The `options` that an entry of a post may have, as a JSON Schema 2020-12.
    pub options: Map<String, Value>,
    /// Rules for posts that are known before an account is connected.
    pub rules: Vec<PlatformRule>,
    /// The fields of the form that comes before the platform's own page.
    pub fields: Vec<PlatformField>,
}

/// One rule of a platform for posts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlatformRule {
    pub name: String,
    /// A number or a list of strings; `yes` where only the presence of the entry matters.
    pub value: Value,
    /// The unit of a numeric value.
    #[serde(default)]
    pub unit: Option<String>,
    /// The condition under which the rule applies; `None` if it always applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<RuleCondition>,
}

/// One field of the form that connects an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformField {
    pub name: String,
    /// The label of the field.
    pub label: String,
    /// An example value.
    pub example: String,
    /// Whether the input is hidden while it is typed.
    pub secret: bool,
    /// Whether the field may be empty.
    pub optional: bool,
}
