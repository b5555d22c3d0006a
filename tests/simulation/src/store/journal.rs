//! Every write to the store. The invariants compare them with the platforms' timeline.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::delivery::{Delivery, FollowUps};
use domain::id::{ConnectionId, PostId};
use domain::post::Post;
use dynoxide::types::AttributeValue;
use storage::Table;

use super::image::{Image, StoredItem};
use super::meter::Charge;
use super::request::WrittenItem;
use super::schema::Attributes;
use super::tables::Tables;
use crate::simulated_platforms::Reference;

/// Every write to posts, deliveries, connections, credentials, webhook deliveries and the outbox.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    now: BTreeMap<ItemKey, Arc<Image>>,
    changes: Vec<Change>,
    /// `None` while costs are not recorded.
    meter: Option<Vec<Vec<Charge>>>,
}

pub(crate) type ItemKey = (Table, String);

#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) at: DateTime<Utc>,
    pub(crate) place: ItemKey,
    pub(crate) before: Option<Arc<Image>>,
    pub(crate) after: Option<Arc<Image>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Version<'a> {
    pub(crate) at: DateTime<Utc>,
    pub(crate) post: &'a Post,
}

impl Journal {
    pub(crate) fn start_meter(&mut self) {
        self.meter = Some(Vec::new());
    }

    pub(crate) fn take_meter(&mut self) -> Vec<Vec<Charge>> {
        self.meter.take().unwrap_or_default()
    }

    pub(super) fn is_metered(&self) -> bool {
        self.meter.is_some()
    }

    pub(super) fn charge(&mut self, charges: Vec<Charge>) {
        self.meter.get_or_insert_default().push(charges);
    }

    pub(crate) fn record(&mut self, at: DateTime<Utc>, written: Vec<WrittenItem>, tables: &Tables) {
        for WrittenItem { how, table, key, after } in written {
            if !is_followed(table) {
                continue;
            }
            let item_key = (table, text_of(&key));
            let before = self.now.get(&item_key).cloned();
            let after = if how == "update" { tables.item(table, key) } else { after };
            if before.as_ref().map(|it| &it.raw) == after.as_ref() {
                continue;
            }
            let after = after.map(|raw| Arc::new(Image::from_attributes(table, raw)));
            match &after {
                Some(image) => self.now.insert(item_key.clone(), Arc::clone(image)),
                None => self.now.remove(&item_key),
            };
            self.changes.push(Change { at, place: item_key, before, after });
        }
    }

    /// Latest first.
    pub(crate) fn backwards(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().rev()
    }

    /// Oldest first.
    pub(crate) fn versions(&self, post: PostId) -> impl Iterator<Item = Version<'_>> {
        self.all_versions().filter(move |it| it.post.post_id == post)
    }

    /// Oldest first.
    pub(crate) fn all_versions(&self) -> impl Iterator<Item = Version<'_>> {
        self.changes.iter().filter_map(|it| match &it.after.as_deref()?.kept {
            StoredItem::Post(post) => Some(Version { at: it.at, post }),
            _ => None,
        })
    }

    pub(crate) fn posts(&self) -> impl Iterator<Item = &Post> {
        self.now
            .values()
            .filter_map(|it| if let StoredItem::Post(post) = &it.kept { Some(post.as_ref()) } else { None })
    }

    pub(crate) fn post(&self, id: PostId) -> Option<&Post> {
        self.posts().find(|it| it.post_id == id)
    }

    pub(crate) fn deliveries(&self) -> impl Iterator<Item = &Delivery> {
        self.now.values().filter_map(|it| match &it.kept {
            StoredItem::Delivery(delivery) => Some(delivery.as_ref()),
            _ => None,
        })
    }

    /// When a delivery last made progress. A move in the due index by the sweep does not count.
    pub(crate) fn last_step(&self, delivery: &Delivery) -> Option<DateTime<Utc>> {
        let delivery_of = |image: &'_ Option<Arc<Image>>| match image.as_deref().map(|it| &it.kept) {
            Some(StoredItem::Delivery(it)) if it.target_id == delivery.target_id && it.post_id == delivery.post_id => {
                Some(Delivery { due_at: None, ..it.as_ref().clone() })
            }
            _ => None,
        };
        let step = |it: &&Change| delivery_of(&it.after).is_some_and(|after| delivery_of(&it.before) != Some(after));
        self.backwards().find(step).map(|it| it.at)
    }

    pub(crate) fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.now.values().filter_map(|it| match &it.kept {
            StoredItem::Connection(connection) => Some(connection.as_ref()),
            _ => None,
        })
    }

    /// Connections as they were when they began to need reconnection.
    pub(crate) fn lost_grants(&self) -> impl Iterator<Item = &Connection> {
        let wants = |it: &Option<Arc<Image>>| {
            it.as_deref().is_some_and(|it| matches!(&it.kept, StoredItem::Connection(it) if it.needs_reconnection))
        };
        self.changes.iter().filter(move |it| !wants(&it.before) && wants(&it.after)).filter_map(|it| {
            match &it.after.as_deref()?.kept {
                StoredItem::Connection(connection) => Some(connection.as_ref()),
                _ => None,
            }
        })
    }

    pub(crate) fn refreshes(&self) -> impl Iterator<Item = DateTime<Utc>> {
        self.instants(Table::Credentials, "refresh_at")
    }

    pub(crate) fn outbox_due_times(&self) -> impl Iterator<Item = DateTime<Utc>> {
        self.instants(Table::Outbox, "due_at")
    }

    /// When webhook deliveries that have not ended are due.
    pub(crate) fn webhook_delivery_due_times(&self) -> impl Iterator<Item = DateTime<Utc>> {
        self.instants(Table::WebhookDeliveries, "due_at")
    }

    fn instants(&self, table: Table, name: &'static str) -> impl Iterator<Item = DateTime<Utc>> {
        let items = self.now.iter().filter(move |it| it.0.0 == table).map(|it| it.1);
        items.filter_map(move |it| match it.raw.get(name)? {
            AttributeValue::N(millis) => DateTime::from_timestamp_millis(millis.parse().ok()?),
            _ => None,
        })
    }

    pub(crate) fn created_and_deleted_connections(&self) -> (Vec<ConnectionId>, Vec<ConnectionId>) {
        let connection_of = |image: &Option<Arc<Image>>| match image.as_deref().map(|it| &it.kept) {
            Some(StoredItem::Connection(it)) => Some(it.connection_id),
            _ => None,
        };
        let changes = || self.changes.iter().map(|it| (connection_of(&it.before), connection_of(&it.after)));
        let created = changes().filter_map(|it| if it.0.is_none() { it.1 } else { None });
        let deleted = changes().filter_map(|it| if it.1.is_none() { it.0 } else { None });
        (created.collect(), deleted.collect())
    }

    pub(crate) fn has_intent(&self, reference: Reference) -> bool {
        let is_about = |it: &Delivery| Reference::from_delivery(it) == reference;
        self.changes.iter().filter_map(|it| it.after.as_deref()).any(
            |it| matches!(&it.kept, StoredItem::Delivery(delivery) if delivery.intent.is_some() && is_about(delivery)),
        )
    }

    pub(crate) fn followed(&self, reference: Reference) -> BTreeSet<&str> {
        let begun = self.changes.iter().filter_map(|it| match &it.after.as_deref()?.kept {
            StoredItem::Delivery(it) if (Reference { segment: 0, ..Reference::from_delivery(it) }) == reference => {
                it.follow_ups.as_ref()
            }
            _ => None,
        });
        begun.filter(|it| it.call_begun_at.is_some()).map(FollowUps::first_name).collect()
    }

    /// The connection may be deleted.
    pub(crate) fn find_account(&self, id: Option<ConnectionId>) -> Option<&str> {
        self.changes.iter().find_map(|it| match &it.after.as_deref()?.kept {
            StoredItem::Connection(connection) if Some(connection.connection_id) == id => {
                Some(connection.profile.account_id.as_str())
            }
            _ => None,
        })
    }

    pub(crate) fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections().find(|it| it.connection_id == id)
    }
}

pub(crate) fn is_followed(table: Table) -> bool {
    matches!(
        table,
        Table::Posts
            | Table::Deliveries
            | Table::Connections
            | Table::Credentials
            | Table::Outbox
            | Table::WebhookDeliveries
    )
}

pub(crate) fn text_of(key: &Attributes) -> String {
    let mut parts: Vec<_> = key.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    parts.sort();
    parts.join(" ")
}
