//! Builds update expressions. An update changes only the named attributes, so that concurrent
//! changes of other attributes, such as counters, are kept.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use domain::credentials::CredentialState;
use domain::id::UserId;

use crate::item::{Item, at, n, s};

pub const REFRESH_SHARDS: u32 = 4;

#[derive(Default)]
pub(crate) struct Change {
    sets: Vec<String>,
    removes: Vec<String>,
    pub(crate) values: Item,
    /// Placeholders, because some attribute names are reserved words of `DynamoDB`.
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
            None => self.remove([name]),
        }
    }

    pub(crate) fn remove(&mut self, names: impl IntoIterator<Item = &'static str>) {
        for name in names {
            self.removes.push(format!("#{name}"));
            self.names.insert(format!("#{name}"), name.to_owned());
        }
    }

    /// Enters credentials into the `refresh` index or removes them from it, and ends the lease of a
    /// worker that was refreshing them.
    pub(crate) fn refresh_at(&mut self, user: UserId, refresh_at: Option<DateTime<Utc>>) {
        // The lowest bits of an id are random.
        let shard = || s((user.get() % u64::from(REFRESH_SHARDS)).to_string());
        self.set_or_remove("refresh_shard", refresh_at.map(|_| shard()));
        self.set_or_remove("refresh_at", refresh_at.map(at));
        self.remove(["refresh_lease", "refresh_holder"]);
    }

    /// Removes the lease of a worker that was refreshing the credentials.
    pub(crate) fn credential_state(&mut self, user: UserId, state: &CredentialState) {
        self.set("generation", n(state.generation));
        self.set("is_gone", AttributeValue::Bool(state.is_gone));
        self.set_or_remove("token_expires_at", state.token_expires_at.map(at));
        self.set_or_remove("refreshed_at", state.refreshed_at.map(at));
        self.refresh_at(user, state.refresh_at);
    }

    pub(crate) fn expression(&self) -> String {
        let sets = if self.sets.is_empty() { String::new() } else { format!("SET {} ", self.sets.join(", ")) };
        if self.removes.is_empty() { sets } else { format!("{sets}REMOVE {}", self.removes.join(", ")) }
    }
}
