//! Connect flows: a user on the way to a platform's page and back.

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

/// How long after its end a connect flow can still be asked about.
const REMEMBERED: TimeDelta = TimeDelta::days(1);

/// A user on the way to a platform's page and back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectFlow {
    /// Whose account it will be.
    pub user_id: UserId,
    /// The platform's name in the registry.
    pub provider: String,
    /// How far it is.
    pub state: FlowState,
    /// When it was begun.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// When it is over, unless it has ended before.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
    /// When it was completed or failed.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_id: Option<ConnectionId>,
    /// The others that it connected, beside that one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_connected: Vec<ConnectionId>,
    /// Why it failed, or why not all of it was connected, for the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who goes on with it; `None` before anybody has sent something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<FlowOwner>,
    /// What the next stage needs, sealed for [`connect_flow_context`].
    #[serde(skip)]
    pub sealed: Option<Vec<u8>>,
}

/// Who goes on with a connect flow. No other guest does then: the link is known to
/// whatever server was named meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum FlowOwner {
    /// The user who began it.
    Owner,
    /// A guest, by the hash of the cookie of their browser.
    Guest(String),
}

const OWNER: &str = "owner";

impl From<String> for FlowOwner {
    fn from(kept: String) -> Self {
        if kept == OWNER { Self::Owner } else { Self::Guest(kept) }
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

/// How far a connect flow is. It only goes down this list, with one exception: from
/// `Waiting` the person may go back to our own page and answer anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowState {
    /// Our page asks what the platform has to know first.
    CollectingInput,
    /// The person is on the platform's page.
    AwaitingCallback,
    /// The person approves it elsewhere, and the platform is asked whether they
    /// have.
    AwaitingApproval,
    /// The platform's answer is being worked on.
    Completing,
    /// Our page asks which of several accounts.
    ChoosingAccounts,
    /// An account is connected.
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

/// What a connect flow's memory is sealed for.
pub fn connect_flow_context(hash: &str) -> SealContext {
    SealContext::new(SecretKind::Grant, format_args!("connect flow:{hash}"))
}

impl ConnectFlow {
    /// Whether it has neither ended nor expired.
    pub fn is_open(&self, now: DateTime<Utc>) -> bool {
        self.ended_at.is_none() && now < self.expires_at
    }

    /// Whether it can still be asked about.
    pub fn is_remembered(&self, now: DateTime<Utc>) -> bool {
        now < self.ended_at.unwrap_or(self.expires_at) + REMEMBERED
    }
}

impl Store {
    /// Keeps a new connect flow under the hash of its state token.
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

    /// The connect flow with this hash of a state token.
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

    /// Takes an open connect flow from one stage to another, with what the next
    /// one needs. Of any number of callers at the same time, at most one gets
    /// true.
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

    /// Takes a connect flow to where its platform is asked, by whoever took the turn
    /// ([`Store::lock_connect_flow`]) and still goes on with it. `sealed` is what the
    /// next stage needs. False where the connect flow has ended, or where somebody
    /// else goes on with it by now.
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

    /// Ends an open connect flow without an account.
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
        only_if: Option<&str>,
        change: &str,
        mut values: Item,
        now: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        let states: Vec<String> = (0..from.len()).map(|it| format!(":from{it}")).collect();
        values.extend(states.iter().cloned().zip(from.iter().map(|it| s(it.as_str()))));
        values.insert(":now".to_owned(), at(now));
        let and = only_if.map_or_else(String::new, |it| format!(" AND {it}"));
        // `state` and `owner` are reserved words of DynamoDB.
        let mut names = HashMap::from([("#state".to_owned(), "state".to_owned())]);
        if only_if.is_some() {
            names.insert("#owner".to_owned(), "owner".to_owned());
        }
        let changed = self
            .client
            .update_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_key(Some(key(hash)))
            .condition_expression(format!("#state IN ({}) AND :now < expires_at{and}", states.join(", ")))
            .update_expression(change)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .send()
            .await;
        Ok(WriteOutcome::from_write(changed)?.is_won())
    }
}

/// The end of a connect flow with accounts, the first of which it is known by, as part
/// of a transaction. Only a stage in which the platform has answered leads here.
pub(crate) fn completed(
    table: String,
    hash: &str,
    connections: &[ConnectionId],
    left_out: Option<&str>,
    now: DateTime<Utc>,
) -> Result<TransactWriteItem, StorageError> {
    let (first, others) = connections
        .split_first()
        .ok_or_else(|| StorageError::Request("a connect flow that is completed without an account".to_owned()))?;
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
