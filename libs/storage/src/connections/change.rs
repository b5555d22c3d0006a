//! Changing a connection in place: only what is named changes, so that the
//! count of pending posts is left to those who count.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use domain::id::ConnectionId;

use crate::item::{Item, at, s};

/// Partitions of the `refresh` index.
pub const REFRESH_SHARDS: u32 = 4;

/// An update expression under construction.
#[derive(Default)]
pub(super) struct Change {
    sets: Vec<String>,
    removes: Vec<&'static str>,
    pub(super) values: Item,
    /// Some attributes are named by words that `DynamoDB` reserves.
    pub(super) names: HashMap<String, String>,
}

impl Change {
    pub(super) fn set(&mut self, name: &'static str, value: AttributeValue) {
        self.sets.push(format!("#{name} = :{name}"));
        self.names.insert(format!("#{name}"), name.to_owned());
        self.values.insert(format!(":{name}"), value);
    }

    pub(super) fn set_or_remove(&mut self, name: &'static str, value: Option<AttributeValue>) {
        match value {
            Some(value) => self.set(name, value),
            None => self.removes.push(name),
        }
    }

    /// Enters the connection into the `refresh` index, or takes it out, and ends
    /// the lease of a worker that was renewing it.
    pub(super) fn refresh_at(&mut self, id: ConnectionId, refresh_at: Option<DateTime<Utc>>) {
        self.set_or_remove("refresh_shard", refresh_at.map(|_| shard(id)));
        self.set_or_remove("refresh_at", refresh_at.map(at));
        self.removes.extend(["refresh_lease", "refresh_holder"]);
    }

    /// The expression for all that was named. Only after [`Change::refresh_at`]:
    /// it always removes the lease, so that `REMOVE` is never empty.
    pub(super) fn expression(&self) -> String {
        let remove = format!("REMOVE {}", self.removes.join(", "));
        if self.sets.is_empty() { remove } else { format!("SET {} {remove}", self.sets.join(", ")) }
    }
}

/// The partition of the `refresh` index that holds a connection.
pub(super) fn shard(id: ConnectionId) -> AttributeValue {
    // The lowest bits of an id are random.
    s((id.get() % u64::from(REFRESH_SHARDS)).to_string())
}
