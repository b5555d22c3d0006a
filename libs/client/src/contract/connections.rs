//! Platforms, and accounts on them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Timestamp;

/// An account on a platform that the user connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Its id; kept when the account is connected again.
    pub id: u64,
    /// The platform.
    pub provider: String,
    /// The account's handle.
    pub username: Option<String>,
    /// The account's name.
    pub display_name: Option<String>,
    /// The URL of the account's picture.
    pub avatar: Option<String>,
    /// Whether the account has to be connected again before it can publish.
    pub needs_reconnection: bool,
    /// When it was first connected.
    pub created_at: Option<Timestamp>,
}

/// The accounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionList {
    /// Oldest first.
    pub data: Vec<Connection>,
}

/// A connection with what is known of it beyond its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionDetails {
    /// The account.
    #[serde(flatten)]
    pub connection: Connection,
    /// The grant, and what the platform asks of a post.
    pub meta: Vec<MetaEntry>,
}

/// Something that is known of a connection, such as `max_text`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetaEntry {
    pub name: String,
    /// A string, a number, a list of strings, or null; `yes` where it only matters that there is an entry.
    pub value: Value,
    /// Where it holds, if it does not hold always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<RuleCondition>,
}

/// Where a rule holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleCondition {
    /// In entries of a post with this option
    pub option: String,
    pub is: Vec<Value>,
    /// and in those without the option, if this is true.
    pub or_absent: bool,
}

/// A connect flow that has begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectionRequest {
    /// Names this request.
    pub state_token: String,
    /// The user is sent here.
    pub authorization_url: String,
    /// Seconds until the request expires.
    pub expires_in: u64,
    /// How it goes on can be asked here.
    pub poll_url: String,
}

/// How a connect flow stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ConnectionRequestStatus {
    /// The user has not come back yet.
    Pending {
        /// Seconds until the request expires.
        expires_in: u64,
    },
    /// The user or the platform refused; the page that the user sees says why.
    Failed,
    /// An account is connected.
    Completed {
        /// It; `None` when it was disconnected since.
        connection: Option<Connection>,
    },
}

/// The values that an option may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceList {
    /// In the platform's order.
    pub data: Vec<Choice>,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// For the option.
    pub value: String,
    /// For people.
    pub label: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlatformList {
    /// By name.
    pub data: Vec<Platform>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Platform {
    /// As in [`Client::begin_connection`](crate::Client::begin_connection).
    pub name: String,
    /// As people know it.
    pub title: String,
    /// What an operator needs to have it: `open`, `own_accounts`, `review` or `paid`.
    pub access: String,
    /// Whether accounts of it can be connected here.
    pub usable: bool,
    /// What `options` of an entry of a post may say: a JSON Schema 2020-12.
    pub options: Map<String, Value>,
    /// What it asks of a post before an account is known.
    pub rules: Vec<PlatformRule>,
    /// What a person is asked for before the platform's own page.
    pub fields: Vec<PlatformField>,
}

/// Something that a platform asks of a post.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlatformRule {
    pub name: String,
    /// A number or a list of strings; `yes` where it only matters that there is an entry.
    pub value: Value,
    /// What a number counts.
    #[serde(default)]
    pub unit: Option<String>,
    /// Where it holds, if it does not hold always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<RuleCondition>,
}

/// Something that a person is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformField {
    pub name: String,
    /// As it stands beside the field.
    pub label: String,
    /// What it could be.
    pub example: String,
    /// Whether what is typed is hidden.
    pub secret: bool,
    /// Whether it may stay empty.
    pub optional: bool,
}
