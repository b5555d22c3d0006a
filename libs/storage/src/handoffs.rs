//! Hand-offs: a user on the way to a platform's page and back.

mod look;
mod turn;

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
use crate::race::Race;
use crate::schema::Table;

pub use self::turn::{MAX_TURNS, Turn};

/// How long after its end a hand-off can still be asked about.
const REMEMBERED: TimeDelta = TimeDelta::days(1);

/// A user on the way to a platform's page and back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOff {
    /// Whose account it will be.
    pub user_id: UserId,
    /// The platform's name in the registry.
    pub provider: String,
    /// How far it is.
    pub stage: Stage,
    /// When it was begun.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// When it is over, unless it has ended before.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub expires_at: DateTime<Utc>,
    /// When it was completed or failed.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<DateTime<Utc>>,
    /// What it connected.
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
    pub goes_on: Option<GoesOn>,
    /// What the next stage needs, sealed for [`hand_off_context`].
    #[serde(skip)]
    pub sealed: Option<Vec<u8>>,
}

/// Who goes on with a hand-off. No other guest does then: the link is known to
/// whatever server was named meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum GoesOn {
    /// The user who began it.
    Owner,
    /// A guest, by the hash of the cookie of their browser.
    Guest(String),
}

const OWNER: &str = "owner";

impl From<String> for GoesOn {
    fn from(kept: String) -> Self {
        if kept == OWNER { Self::Owner } else { Self::Guest(kept) }
    }
}

impl From<GoesOn> for String {
    fn from(it: GoesOn) -> Self {
        match it {
            GoesOn::Owner => OWNER.to_owned(),
            GoesOn::Guest(hash) => hash,
        }
    }
}

/// How far a hand-off is. It only goes down this list, with one exception: from
/// `Waiting` the person may go back to our own page and answer anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Our page asks what the platform has to know first.
    Asking,
    /// The person is on the platform's page.
    Waiting,
    /// The person approves it elsewhere, and the platform is asked whether they
    /// have.
    Approving,
    /// The platform's answer is being worked on.
    Answering,
    /// Our page asks which of several accounts.
    Choosing,
    /// An account is connected.
    Completed,
    /// It is not.
    Failed,
}

impl Stage {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Asking => "asking",
            Self::Waiting => "waiting",
            Self::Approving => "approving",
            Self::Answering => "answering",
            Self::Choosing => "choosing",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// What a hand-off's memory is sealed for.
pub fn hand_off_context(hash: &str) -> SealContext {
    SealContext::new(SecretKind::Grant, format_args!("hand-off:{hash}"))
}

impl HandOff {
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
    /// Keeps a new hand-off under the hash of its state token.
    pub async fn begin_hand_off(&self, hash: &str, hand_off: &HandOff) -> Result<(), StorageError> {
        let mut item = to_item(hand_off)?;
        item.extend(key(hash));
        item.insert("ttl".to_owned(), ttl(hand_off.expires_at + REMEMBERED));
        if let Some(sealed) = &hand_off.sealed {
            item.insert("sealed".to_owned(), AttributeValue::B(Blob::new(sealed.clone())));
        }
        self.client
            .put_item()
            .table_name(self.table(Table::Handoffs))
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(handoff)")
            .send()
            .await?;
        Ok(())
    }

    /// The hand-off with this hash of a state token.
    pub async fn hand_off(&self, hash: &str) -> Result<Option<HandOff>, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Handoffs))
            .set_key(Some(key(hash)))
            .consistent_read(true)
            .send()
            .await?;
        found.item.map(read).transpose()
    }

    /// Takes an open hand-off from one stage to another, with what the next
    /// one needs. Of any number of callers at the same time, at most one gets
    /// true.
    pub async fn advance_hand_off(
        &self,
        hash: &str,
        from: &[Stage],
        to: Stage,
        sealed: Option<Vec<u8>>,
        now: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        let mut change = "SET stage = :to".to_owned();
        let mut values = attributes([(":to", s(to.as_str()))]);
        if let Some(sealed) = sealed {
            change.push_str(", sealed = :sealed");
            values.insert(":sealed".to_owned(), AttributeValue::B(Blob::new(sealed)));
        }
        self.change_hand_off(hash, from, None, &change, values, now).await
    }

    /// Takes a hand-off to where its platform is asked, by whoever took the turn
    /// ([`Store::take_turn`]) and still goes on with it. `sealed` is what the
    /// next stage needs. False where the hand-off has ended, or where somebody
    /// else goes on with it by now.
    pub async fn send_off(
        &self,
        hash: &str,
        to: Stage,
        sealed: Option<Vec<u8>>,
        by: &GoesOn,
        now: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        const FROM: [Stage; 2] = [Stage::Asking, Stage::Waiting];
        let mut set = "SET stage = :to".to_owned();
        let mut values = attributes([(":to", s(to.as_str())), (":by", s(String::from(by.clone())))]);
        if let Some(sealed) = sealed {
            set.push_str(", sealed = :sealed");
            values.insert(":sealed".to_owned(), AttributeValue::B(Blob::new(sealed)));
        }
        self.change_hand_off(hash, &FROM, Some("goes_on = :by"), &set, values, now).await
    }

    /// Ends an open hand-off without an account.
    pub async fn fail_hand_off(
        &self,
        hash: &str,
        from: &[Stage],
        reason: &str,
        now: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        let change = "SET stage = :to, reason = :reason, ended_at = :ended REMOVE sealed";
        let values = attributes([(":to", s(Stage::Failed.as_str())), (":reason", s(reason)), (":ended", at(now))]);
        self.change_hand_off(hash, from, None, change, values, now).await
    }

    async fn change_hand_off(
        &self,
        hash: &str,
        from: &[Stage],
        only_if: Option<&str>,
        change: &str,
        mut values: Item,
        now: DateTime<Utc>,
    ) -> Result<bool, StorageError> {
        let names: Vec<String> = (0..from.len()).map(|it| format!(":from{it}")).collect();
        values.extend(names.iter().cloned().zip(from.iter().map(|it| s(it.as_str()))));
        values.insert(":now".to_owned(), at(now));
        let and = only_if.map_or_else(String::new, |it| format!(" AND {it}"));
        let changed = self
            .client
            .update_item()
            .table_name(self.table(Table::Handoffs))
            .set_key(Some(key(hash)))
            .condition_expression(format!("stage IN ({}) AND :now < expires_at{and}", names.join(", ")))
            .update_expression(change)
            .set_expression_attribute_values(Some(values))
            .send()
            .await;
        Ok(Race::of(changed)?.is_won())
    }
}

/// The end of a hand-off with accounts, the first of which it is known by, as part
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
        .ok_or_else(|| StorageError::Request("a hand-off that is completed without an account".to_owned()))?;
    let mut change = Change::default();
    change.set("stage", s(Stage::Completed.as_str()));
    change.set("connection_id", n(first));
    change.set("also_connected", AttributeValue::L(others.iter().map(n).collect()));
    change.set("ended_at", at(now));
    change.set_or_remove("reason", left_out.map(s));
    change.remove(["sealed"]);
    let update = Update::builder()
        .table_name(table)
        .set_key(Some(key(hash)))
        .condition_expression("stage IN (:answering, :choosing) AND :now < expires_at")
        .update_expression(change.expression())
        .set_expression_attribute_names(Some(change.names))
        .set_expression_attribute_values(Some(change.values))
        .expression_attribute_values(":answering", s(Stage::Answering.as_str()))
        .expression_attribute_values(":choosing", s(Stage::Choosing.as_str()))
        .expression_attribute_values(":now", at(now));
    Ok(TransactWriteItem::builder().update(update.build().map_err(StorageError::build)?).build())
}

fn key(hash: &str) -> Item {
    attributes([("handoff", s(format!("state#{hash}")))])
}

fn read(mut item: Item) -> Result<HandOff, StorageError> {
    let sealed = match item.remove("sealed") {
        Some(AttributeValue::B(bytes)) => Some(bytes.into_inner()),
        _ => None,
    };
    Ok(HandOff { sealed, ..from_item(item)? })
}
