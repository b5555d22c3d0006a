//! Index queries that do not show the writes of the last seconds, because an index is updated after
//! its table.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use dynoxide::actions::query::QueryRequest;
use dynoxide::types::AttributeValue;
use storage::{Index, Projection, TableSchema};

use super::journal::{Journal, is_followed, text_of};
use super::request::table_named;
use super::schema::{Attributes, schema};

pub(crate) struct IndexQuery {
    table: TableSchema,
    index: Index,
    hash: AttributeValue,
    least: Option<AttributeValue>,
    most: Option<AttributeValue>,
    limit: usize,
}

impl IndexQuery {
    /// `None` for queries that the simulator does not need to make stale: later pages, other
    /// orders, indexes of tables that the journal does not record.
    pub(crate) fn from_request(request: &QueryRequest) -> Option<Self> {
        if request.exclusive_start_key_raw.is_some() || !request.scan_index_forward {
            return None;
        }
        let table = schema(table_named(&request.table_name));
        if !is_followed(table.table) {
            return None;
        }
        let name = request.index_name.as_deref()?;
        let index = *table.indexes.iter().find(|it| it.name == name).expect("the index is there");
        let condition: Vec<_> = request.key_condition_expression.as_deref()?.split_whitespace().collect();
        let values = request.expression_attribute_values.as_ref()?;
        let value = |name: &str| values.get(name).cloned();
        let (hash, least, most) = match condition[..] {
            [_, "=", hash] => (hash, None, None),
            [_, "=", hash, "AND", _, "<=", most] => (hash, None, value(most)),
            [_, "=", hash, "AND", _, "BETWEEN", least, "AND", most] => (hash, value(least), value(most)),
            _ => panic!("the simulator cannot read the condition {condition:?}"),
        };
        Some(Self { table, index, hash: value(hash)?, least, most, limit: request.limit.unwrap_or(usize::MAX) })
    }

    /// The earlier response of the index: the current one with the changes since then undone.
    /// `None` if nothing has changed since.
    pub(crate) fn items_at(
        &self,
        then: DateTime<Utc>,
        current: &[Attributes],
        journal: &Journal,
    ) -> Option<Vec<Attributes>> {
        // The oldest change since then has the item as it was before.
        let mut earlier = BTreeMap::new();
        let since = journal.backwards().take_while(|it| then < it.at);
        for change in since.filter(|it| it.place.0 == self.table.table) {
            earlier.insert(change.place.1.clone(), change.before.clone());
        }
        if earlier.is_empty() {
            return None;
        }
        let untouched = current.iter().filter(|it| !earlier.contains_key(&text_of(&key_of(it, &self.table))));
        let mut items: Vec<Attributes> = untouched.cloned().collect();
        let before = earlier.values().flatten().filter(|it| self.has_item(&it.raw));
        items.extend(before.map(|it| projected(&it.raw, &self.table, &self.index)));
        let range = self.index.range.name;
        items.sort_by(|one, two| compare(&one[range], &two[range]));
        items.truncate(self.limit);
        Some(items)
    }

    fn has_item(&self, item: &Attributes) -> bool {
        let Some(range) = item.get(self.index.range.name) else { return false };
        item.get(self.index.hash.name) == Some(&self.hash)
            && self.least.as_ref().is_none_or(|it| compare(it, range) != Ordering::Greater)
            && self.most.as_ref().is_none_or(|it| compare(range, it) != Ordering::Greater)
    }
}

fn key_of(item: &Attributes, table: &TableSchema) -> Attributes {
    let names = [Some(table.hash), table.range].into_iter().flatten().map(|it| it.name);
    names.filter_map(|it| Some((it.to_owned(), item.get(it)?.clone()))).collect()
}

fn projected(item: &Attributes, table: &TableSchema, index: &Index) -> Attributes {
    let keys = [Some(table.hash), table.range, Some(index.hash), Some(index.range)];
    let mut names: Vec<_> = keys.into_iter().flatten().map(|it| it.name).collect();
    match index.projection {
        Projection::Keys => {}
        Projection::Include(more) => names.extend(more),
        Projection::All => return item.clone(),
    }
    item.iter().filter(|(name, _)| names.contains(&name.as_str())).map(|(n, v)| (n.clone(), v.clone())).collect()
}

/// Compares instants: numbers of up to 13 digits, which a float represents exactly.
fn compare(one: &AttributeValue, two: &AttributeValue) -> Ordering {
    let number = |it: &AttributeValue| match it {
        AttributeValue::N(number) => number.parse::<i64>().ok(),
        _ => None,
    };
    number(one).cmp(&number(two))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chrono::TimeDelta;
    use domain::delivery::LEASE_DURATION;
    use domain::testing::{a_connection, a_post, a_user, noon};
    use storage::{DeliveryWrite, PostWrite};

    use crate::faults::FaultPlan;
    use crate::store::store;
    use crate::world::{SimulatedWorld, lock};

    use super::*;

    /// A delivery is written, and moved in the index 2 s later.
    #[tokio::test(start_paused = true)]
    async fn stale_index_shows_old_items() {
        let world = Arc::new(SimulatedWorld::new(1, &FaultPlan::None, TimeDelta::zero()));
        let (store, journal) = store(&world, 1);
        let user = a_user();
        storage::testing::join(&store, &user).await;
        let connection = a_connection(&user);
        storage::testing::connect(&store, &connection, &[1], None).await;
        let post = a_post(&user, Some(noon()), &[connection]);
        let delivery = domain::delivery::Delivery::new(&post, &post.targets[0], None, 1, noon());
        let write =
            PostWrite { after: Some(&post), deliveries: vec![DeliveryWrite::Put(&delivery)], ..PostWrite::default() };
        store.write_post(&write, noon()).await.unwrap();
        let written_at = world.now();
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let due =
            store.due_deliveries(0, (noon() - LEASE_DURATION, noon() + LEASE_DURATION), None, 9).await.unwrap().entries;
        store.move_due(&due[0], noon() + LEASE_DURATION * 2).await.unwrap();

        let table = schema(storage::Table::Deliveries);
        let number = |it: DateTime<Utc>| Some(AttributeValue::N(it.timestamp_millis().to_string()));
        let query = IndexQuery {
            index: table.indexes[0],
            table,
            hash: AttributeValue::S("due#0".to_owned()),
            least: number(noon() - LEASE_DURATION),
            most: number(noon() + LEASE_DURATION),
            limit: 9,
        };
        let then = |at| query.items_at(at, &[], &lock(&journal)).map(|it| it.len());

        assert_eq!(then(written_at - TimeDelta::seconds(1)), Some(0));
        assert_eq!(then(written_at + TimeDelta::seconds(1)), Some(1));
        assert_eq!(then(world.now()), None);
    }
}
