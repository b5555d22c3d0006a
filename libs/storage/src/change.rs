//! Changing an item in place: only what is named changes, so that what others
//! count in it is left to them.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use domain::id::UserId;

use crate::item::{Item, at, s};

/// Partitions of the `refresh` index.
pub const REFRESH_SHARDS: u32 = 4;

/// An update expression under construction.
#[derive(Default)]
pub(crate) struct Change {
    sets: Vec<String>,
    removes: Vec<&'static str>,
    pub(crate) values: Item,
    /// Some attributes are named by words that `DynamoDB` reserves.
    pub(crate) names: HashMap<String, String>,
}

impl Change {
    pub(crate) fn set(&mut self, name: &'static str, value: AttributeValue) {
        self.sets.push(format!("#{name} = :{name}"));
        self.names.insert(format!("#{name}"), name.to_owned());
        self.values.insert(format!(":{name}"), value);
    }

    pub(crate) fn set_or_remove(&mut self, name: &'static str, value: Option<AttributeValue>) {
        match value {
            Some(value) => self.set(name, value),
            None => self.removes.push(name),
        }
    }

    pub(crate) fn remove(&mut self, names: impl IntoIterator<Item = &'static str>) {
        self.removes.extend(names);
    }

    /// Enters credentials of this user into the `refresh` index, or takes them
    /// out, and ends the lease of a worker that was renewing them.
    pub(crate) fn refresh_at(&mut self, user: UserId, refresh_at: Option<DateTime<Utc>>) {
        // The lowest bits of an id are random.
        let shard = || s((user.get() % u64::from(REFRESH_SHARDS)).to_string());
        self.set_or_remove("refresh_shard", refresh_at.map(|_| shard()));
        self.set_or_remove("refresh_at", refresh_at.map(at));
        self.remove(["refresh_lease", "refresh_holder"]);
    }

    /// The expression for all that was named.
    pub(crate) fn expression(&self) -> String {
        let sets = if self.sets.is_empty() { String::new() } else { format!("SET {} ", self.sets.join(", ")) };
        if self.removes.is_empty() { sets } else { format!("{sets}REMOVE {}", self.removes.join(", ")) }
    }
}
