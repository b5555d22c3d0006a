use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StorageError;

pub type Item = HashMap<String, AttributeValue>;

pub(crate) fn s(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

#[expect(clippy::needless_pass_by_value, reason = "numbers and ids are copied, and read better without &")]
pub(crate) fn n(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// Milliseconds.
pub(crate) fn at(instant: DateTime<Utc>) -> AttributeValue {
    n(instant.timestamp_millis())
}

/// Seconds, a day later, so that an expired item can still be read.
pub(crate) fn ttl(expires_at: DateTime<Utc>) -> AttributeValue {
    n(expires_at.timestamp() + 86_400)
}

pub(crate) fn to_item<T: Serialize>(record: &T) -> Result<Item, StorageError> {
    Ok(serde_dynamo::to_item(record)?)
}

/// Unknown attributes are ignored.
pub(crate) fn from_item<T: DeserializeOwned>(item: Item) -> Result<T, StorageError> {
    Ok(serde_dynamo::from_item(item)?)
}

pub(crate) fn attributes<const N: usize>(pairs: [(&str, AttributeValue); N]) -> Item {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// `None` if the item has no number with this name.
pub(crate) fn number(item: &Item, name: &str) -> Option<u64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}
