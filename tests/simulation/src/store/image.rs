//! An earlier version of an item, as the database stores it and as the service reads it.

use domain::connection::Connection;
use domain::delivery::Delivery;
use domain::post::Post;
use dynoxide::types::AttributeValue;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use storage::Table;

use super::schema::Attributes;

#[derive(Debug, PartialEq)]
pub(crate) struct Image {
    pub(crate) raw: Attributes,
    pub(crate) kept: StoredItem,
}

#[derive(Debug, PartialEq)]
pub(crate) enum StoredItem {
    Post(Box<Post>),
    Delivery(Box<Delivery>),
    Connection(Box<Connection>),
    /// Counters, markers and similar items.
    Other,
}

impl Image {
    pub(crate) fn from_attributes(table: Table, raw: Attributes) -> Self {
        let kept = match table {
            Table::Posts if raw.contains_key("revision") => StoredItem::Post(Box::new(typed(&raw))),
            Table::Deliveries if raw.contains_key("revision") => StoredItem::Delivery(Box::new(typed(&raw))),
            Table::Connections => StoredItem::Connection(Box::new(typed(&raw))),
            _ => StoredItem::Other,
        };
        Self { raw, kept }
    }
}

fn typed<T: DeserializeOwned>(raw: &Attributes) -> T {
    serde_json::from_value(object(raw)).expect("the service wrote what it can read")
}

fn object(attributes: &Attributes) -> Value {
    // Credentials are the only binary values, and the simulation does not need them.
    let readable = attributes.iter().filter(|(_, it)| !matches!(it, AttributeValue::B(_)));
    Value::Object(readable.map(|(name, value)| (name.clone(), plain(value))).collect::<Map<_, _>>())
}

fn plain(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => Value::String(text.clone()),
        AttributeValue::N(number) => serde_json::from_str(number).expect("a number"),
        AttributeValue::BOOL(it) => Value::Bool(*it),
        AttributeValue::L(items) => Value::Array(items.iter().map(plain).collect()),
        AttributeValue::M(map) => object(map),
        _ => Value::Null,
    }
}
