//! Connect flows: from "connect" to connected accounts. `flow_lock` serializes submissions,
//! `approval_check` the polling of platforms.

mod approval_check;
mod flow_lock;

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use chrono::{DateTime, TimeDelta, Utc};
use domain::id::{ConnectionId, UserId};
use domain::sealing::{SealContext, SecretKind};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::change::Change;
use crate::error::StorageError;
use crate::item::{Item, at, attributes, from_item, n, s, to_item, ttl};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

pub use self::flow_lock::{FlowLock, MAX_SUBMISSIONS};

/// How long after its end a connect flow can still be read.
const REMEMBERED: TimeDelta = TimeDelta::days(1);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectFlow {
    /// The user who receives the connections.
    pub user_id: UserId,
    pub provider: String,
    pub state: FlowState,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
    /// When the flow was completed or failed.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_id: Option<ConnectionId>,
    /// Further connections, in addition to `connection_id`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_connected: Vec<ConnectionId>,
    /// Why the flow failed, or why some accounts were not connected. Shown to the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The participant that continues the flow; `None` before the first submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<FlowOwner>,
    /// What the next state needs, sealed for [`connect_flow_context`].
    #[serde(skip)]
    pub sealed: Option<Vec<u8>>,
}

/// The participant that continues a connect flow. Other guests are denied: a server that the
/// participant named may have seen the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum FlowOwner {
    /// The user who started the flow.
    Owner,
    /// A guest, identified by the hash of the cookie of their browser.
    Guest(String),
}

const OWNER: &str = "owner";

impl From<String> for FlowOwner {
    fn from(stored: String) -> Self {
        if stored == OWNER { Self::Owner } else { Self::Guest(stored) }
    }
}

impl From<FlowOwner> for String {
    fn from(it: FlowOwner) -> Self {
        match it {
            FlowOwner::Owner => OWNER.to_owned(),
            FlowOwner::Guest(hash) => hash,
        }
    }
}

/// States only advance in this order, with one exception: from `AwaitingCallback`, the user may
/// return to our page and submit the form again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowState {
    /// Our page asks for the fields that the platform needs first.
    CollectingInput,
    /// The user is on the platform's page.
    AwaitingCallback,
    /// The user approves in another app, and the platform is polled for the approval.
    AwaitingApproval,
    /// The platform's response is being processed.
    Completing,
    /// Our page asks which accounts to connect.
    ChoosingAccounts,
    /// At least one account is connected.
    Completed,
    Failed,
}

impl FlowState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::CollectingInput => "collecting_input",
            Self::AwaitingCallback => "awaiting_callback",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Completing => "completing",
            Self::ChoosingAccounts => "choosing_accounts",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// The context for which [`ConnectFlow::sealed`] is sealed.
pub fn connect_flow_context(hash: &str) -> SealContext {
    SealContext::new(SecretKind::Grant, format_args!("connect flow:{hash}"))
}

impl ConnectFlow {
    /// Neither ended nor expired.
    pub fn is_open(&self, now: DateTime<Utc>) -> bool {
        self.ended_at.is_none() && now < self.expires_at
    }

    /// Whether the flow can still be read.
    pub fn is_remembered(&self, now: DateTime<Utc>) -> bool {
        now < self.ended_at.unwrap_or(self.expires_at) + REMEMBERED
    }
}

impl Store {
    /// Stores a new connect flow under the hash of its state token.
    pub async fn begin_connect_flow(&self, hash: &str, connect_flow: &ConnectFlow) -> Result<(), StorageError> {
        let mut item = to_item(connect_flow)?;
        item.extend(key(hash));
        item.insert("ttl".to_owned(), ttl(connect_flow.expires_at + REMEMBERED));
        if let Some(sealed) = &connect_flow.sealed {
            item.insert("sealed".to_owned(), AttributeValue::B(Blob::new(sealed.clone())));
        }
        self.client
            .put_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(connect_flow)")
            .send()
            .await?;
        Ok(())
    }

    /// The connect flow whose state token has this hash.
    pub async fn connect_flow(&self, hash: &str) -> Result<Option<ConnectFlow>, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_key(Some(key(hash)))
            .consistent_read(true)
            .send()
            .await?;
        found.item.map(read).transpose()
    }

    /// Moves an open connect flow from one of the states `from` to `to`, with the `sealed` data that
    /// the next state needs. Of concurrent callers, at most one gets `true`.
    pub async fn advance_connect_flow(
        &self,
        hash: &str,
        from: &[FlowState],
        to: FlowState,
        sealed: Option<Vec<u8>>,
        now: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        let mut change = "SET #state = :to".to_owned();
        let mut values = attributes([(":to", s(to.as_str()))]);
        if let Some(sealed) = sealed {
            change.push_str(", sealed = :sealed");
            values.insert(":sealed".to_owned(), AttributeValue::B(Blob::new(sealed)));
        }
        self.change_connect_flow(hash, from, None, &change, values, now).await
    }

    /// Moves a connect flow to a state that waits for the platform. The caller `by` holds the lock
    /// ([`Store::lock_connect_flow`]). Returns `false` if the flow has ended, or if another
    /// participant has taken it over.
    pub async fn await_callback(
        &self,
        hash: &str,
        to: FlowState,
        sealed: Option<Vec<u8>>,
        by: &FlowOwner,
        now: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        const FROM: [FlowState; 2] = [FlowState::CollectingInput, FlowState::AwaitingCallback];
        let mut set = "SET #state = :to".to_owned();
        let mut values = attributes([(":to", s(to.as_str())), (":by", s(String::from(by.clone())))]);
        if let Some(sealed) = sealed {
            set.push_str(", sealed = :sealed");
            values.insert(":sealed".to_owned(), AttributeValue::B(Blob::new(sealed)));
        }
        self.change_connect_flow(hash, &FROM, Some("#owner = :by"), &set, values, now).await
    }

    /// Ends an open connect flow without an account. `reason` is shown to the user. Returns `false`
    /// if the flow is in none of the states `from`, or has expired.
    pub async fn fail_connect_flow(
        &self,
        hash: &str,
        from: &[FlowState],
        reason: &str,
        now: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        let change = "SET #state = :to, reason = :reason, ended_at = :ended REMOVE sealed";
        let values = attributes([(":to", s(FlowState::Failed.as_str())), (":reason", s(reason)), (":ended", at(now))]);
        self.change_connect_flow(hash, from, None, change, values, now).await
    }

    async fn change_connect_flow(
        &self,
        hash: &str,
        from: &[FlowState],
        condition: Option<&str>,
        change: &str,
        mut values: Item,
        now: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        let states: Vec<String> = (0..from.len()).map(|it| format!(":from{it}")).collect();
        values.extend(states.iter().cloned().zip(from.iter().map(|it| s(it.as_str()))));
        values.insert(":now".to_owned(), at(now));
        let and_condition = condition.map_or_else(String::new, |it| format!(" AND {it}"));
        // `state` and `owner` are reserved words of DynamoDB.
        let mut names = HashMap::from([("#state".to_owned(), "state".to_owned())]);
        if condition.is_some() {
            names.insert("#owner".to_owned(), "owner".to_owned());
        }
        let changed = self
            .client
            .update_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_key(Some(key(hash)))
            .condition_expression(format!("#state IN ({}) AND :now < expires_at{and_condition}", states.join(", ")))
            .update_expression(change)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .send()
            .await;
        Ok(WriteOutcome::from_write(changed)?.is_applied())
    }
}

/// The part of a transaction that completes a connect flow with these connections. Only from a
/// state in which the platform has responded. `left_out` says which accounts were not connected.
pub(crate) fn completed(
    table: String,
    hash: &str,
    connections: &[ConnectionId],
    left_out: Option<&str>,
    now: DateTime<Utc>,
) -> Result<TransactWriteItem, StorageError> {
    let (first, others) = connections
        .split_first()
        .ok_or_else(|| StorageError::Request("connect flow completed without an account".to_owned()))?;
    let mut change = Change::default();
    change.set("state", s(FlowState::Completed.as_str()));
    change.set("connection_id", n(first));
    change.set("also_connected", AttributeValue::L(others.iter().map(n).collect()));
    change.set("ended_at", at(now));
    change.set_or_remove("reason", left_out.map(s));
    change.remove(["sealed"]);
    let update = Update::builder()
        .table_name(table)
        .set_key(Some(key(hash)))
        .condition_expression("#state IN (:completing, :choosing) AND :now < expires_at")
        .update_expression(change.expression())
        .set_expression_attribute_names(Some(change.names))
        .set_expression_attribute_values(Some(change.values))
        .expression_attribute_values(":completing", s(FlowState::Completing.as_str()))
        .expression_attribute_values(":choosing", s(FlowState::ChoosingAccounts.as_str()))
        .expression_attribute_values(":now", at(now));
    Ok(TransactWriteItem::builder().update(update.build().map_err(StorageError::build)?).build())
}

fn key(hash: &str) -> Item {
    attributes([("connect_flow", s(format!("state#{hash}")))])
}

fn read(mut item: Item) -> Result<ConnectFlow, StorageError> {
    let sealed = match item.remove("sealed") {
        Some(AttributeValue::B(bytes)) => Some(bytes.into_inner()),
        _ => None,
    };
    Ok(ConnectFlow { sealed, ..from_item(item)? })
}
