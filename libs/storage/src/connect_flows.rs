//! Connect flows. [`domain::connect_flow`] decides how they change.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use chrono::{DateTime, Utc};
use domain::connect_flow::ConnectFlow;
use domain::sealing::{SealContext, SecretKind};

use crate::Store;
use crate::change::Change;
use crate::error::StorageError;
use crate::item::{Item, at, attributes, from_item, s, to_item, ttl};
use crate::schema::Table;
use crate::write_outcome::WriteOutcome;

const CHANGING: [&str; 10] = [
    "state",
    "owner",
    "submissions",
    "lock_expires_at",
    "next_check_at",
    "sealed",
    "ended_at",
    "connection_id",
    "also_connected",
    "reason",
];

/// Those by which a write recognizes the flow that was read. The others change only together with
/// one of them.
const COMPARED: [&str; 5] = ["state", "owner", "submissions", "lock_expires_at", "next_check_at"];

pub fn connect_flow_context(hash: &str) -> SealContext {
    SealContext::new(SecretKind::Grant, format_args!("connect flow:{hash}"))
}

impl Store {
    pub async fn begin_connect_flow(&self, hash: &str, flow: &ConnectFlow) -> Result<(), StorageError> {
        let mut item = item(flow)?;
        item.extend(key(hash));
        item.insert("ttl".to_owned(), ttl(flow.remembered_until()));
        self.client
            .put_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(connect_flow)")
            .send()
            .await?;
        Ok(())
    }

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

    /// Unordered. Missing flows are omitted.
    pub async fn connect_flows(&self, hashes: &[String]) -> Result<Vec<ConnectFlow>, StorageError> {
        let keys = hashes.iter().map(|it| (Table::ConnectFlows, key(it))).collect();
        let found = self.batch_get(keys).await?.remove(&Table::ConnectFlows);
        found.unwrap_or_default().into_iter().map(read).collect()
    }

    /// Writes a transition, on condition that the stored flow is the one that was read.
    pub async fn replace_connect_flow(
        &self,
        hash: &str,
        before: &ConnectFlow,
        after: &ConnectFlow,
    ) -> Result<WriteOutcome, StorageError> {
        let replacement = Replacement::new(before, after)?;
        let replaced = self
            .client
            .update_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_key(Some(key(hash)))
            .condition_expression(replacement.condition)
            .update_expression(replacement.change.expression())
            .set_expression_attribute_names(Some(replacement.change.names))
            .set_expression_attribute_values(Some(replacement.change.values))
            .send()
            .await;
        WriteOutcome::from_write(replaced)
    }

    pub(crate) fn replace_connect_flow_action(
        &self,
        hash: &str,
        before: &ConnectFlow,
        after: &ConnectFlow,
    ) -> Result<TransactWriteItem, StorageError> {
        let replacement = Replacement::new(before, after)?;
        let update = Update::builder()
            .table_name(self.table(Table::ConnectFlows))
            .set_key(Some(key(hash)))
            .condition_expression(replacement.condition)
            .update_expression(replacement.change.expression())
            .set_expression_attribute_names(Some(replacement.change.names))
            .set_expression_attribute_values(Some(replacement.change.values));
        Ok(TransactWriteItem::builder().update(update.build().map_err(StorageError::build)?).build())
    }

    /// Releases the lock of a submission that expires at this time. If it has expired and another
    /// submission has acquired it since, nothing changes.
    pub async fn unlock_connect_flow(&self, hash: &str, lock_expires_at: DateTime<Utc>) -> Result<(), StorageError> {
        let unlocked = self
            .client
            .update_item()
            .table_name(self.table(Table::ConnectFlows))
            .set_key(Some(key(hash)))
            .condition_expression("lock_expires_at = :ends")
            .update_expression("REMOVE lock_expires_at")
            .expression_attribute_values(":ends", at(lock_expires_at))
            .send()
            .await;
        WriteOutcome::from_write(unlocked).map(drop)
    }
}

struct Replacement {
    condition: String,
    change: Change,
}

impl Replacement {
    fn new(before: &ConnectFlow, after: &ConnectFlow) -> Result<Self, StorageError> {
        let (mut before, mut after) = (item(before)?, item(after)?);
        let mut change = Change::default();
        for name in CHANGING {
            let value = after.remove(name);
            if before.get(name) != value.as_ref() {
                change.set_or_remove(name, value);
            }
        }
        let mut conditions = Vec::new();
        for name in COMPARED {
            change.names.insert(format!("#{name}"), name.to_owned());
            if let Some(value) = before.remove(name) {
                change.values.insert(format!(":was_{name}"), value);
                conditions.push(format!("#{name} = :was_{name}"));
            } else {
                conditions.push(format!("attribute_not_exists(#{name})"));
            }
        }
        Ok(Self { condition: conditions.join(" AND "), change })
    }
}

fn key(hash: &str) -> Item {
    attributes([("connect_flow", s(format!("state#{hash}")))])
}

fn item(flow: &ConnectFlow) -> Result<Item, StorageError> {
    let mut item: HashMap<_, _> = to_item(flow)?;
    if let Some(sealed) = &flow.sealed {
        item.insert("sealed".to_owned(), AttributeValue::B(Blob::new(sealed.clone())));
    }
    Ok(item)
}

fn read(mut item: Item) -> Result<ConnectFlow, StorageError> {
    let sealed = match item.remove("sealed") {
        Some(AttributeValue::B(bytes)) => Some(bytes.into_inner()),
        _ => None,
    };
    Ok(ConnectFlow { sealed, ..from_item(item)? })
}

#[cfg(test)]
mod tests {
    use domain::connect_flow::{FlowOwner, FlowState};
    use domain::testing::{a_user, noon};

    use super::*;
    use crate::testing::store;

    async fn begun(store: &Store) -> ConnectFlow {
        let flow = ConnectFlow::start(a_user().user_id, "sandbox".to_owned(), noon());
        store.begin_connect_flow("hash", &flow).await.unwrap();
        flow
    }

    async fn stored(store: &Store) -> ConnectFlow {
        store.connect_flow("hash").await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn of_concurrent_writers_one_replaces_the_flow_that_all_have_read() {
        let store = store().await;
        let flow = begun(&store).await;
        let locked = flow.clone().submit(FlowState::CollectingInput, &FlowOwner::Owner, noon()).unwrap();

        let writes = (0..20).map(|_| store.replace_connect_flow("hash", &flow, &locked));
        let writes = futures::future::join_all(writes).await;

        assert_eq!(writes.into_iter().filter(|it| it.as_ref().unwrap().is_applied()).count(), 1);
        assert_eq!(stored(&store).await, locked);
    }

    #[tokio::test]
    async fn each_change_since_the_read_prevents_a_write() {
        let store = store().await;
        let flow = begun(&store).await;
        let owner = Some(FlowOwner::Guest("1".to_owned()));
        let changes = [
            ConnectFlow { owner, ..flow.clone() },
            ConnectFlow { submissions: 1, ..flow.clone() },
            ConnectFlow { lock_expires_at: Some(noon()), ..flow.clone() },
            ConnectFlow { next_check_at: Some(noon()), ..flow.clone() },
            ConnectFlow { state: FlowState::Completing, ..flow.clone() },
        ];
        let failed = flow.clone().fail("no", noon()).unwrap();
        for changed in changes {
            assert!(store.replace_connect_flow("hash", &flow, &changed).await.unwrap().is_applied());
            assert!(!store.replace_connect_flow("hash", &flow, &failed).await.unwrap().is_applied(), "{changed:?}");
            assert!(store.replace_connect_flow("hash", &changed, &flow).await.unwrap().is_applied());
        }
        assert_eq!(stored(&store).await, flow);
        assert!(!store.replace_connect_flow("other", &flow, &failed).await.unwrap().is_applied());
    }

    #[tokio::test]
    async fn sealed_data_is_written_and_removed_with_its_state() {
        let store = store().await;
        let flow = begun(&store).await;
        let awaiting = flow.clone().await_callback(None, vec![1], noon()).unwrap();
        assert!(store.replace_connect_flow("hash", &flow, &awaiting).await.unwrap().is_applied());
        assert_eq!(stored(&store).await, awaiting);

        let completing = awaiting.clone().receive_callback(noon()).unwrap();
        assert!(store.replace_connect_flow("hash", &awaiting, &completing).await.unwrap().is_applied());
        assert_eq!(stored(&store).await, completing);
    }

    #[tokio::test]
    async fn only_the_submission_that_holds_the_lock_releases_it() {
        let store = store().await;
        let flow = begun(&store).await;
        let locked = flow.clone().submit(FlowState::CollectingInput, &FlowOwner::Owner, noon()).unwrap();
        let ends = locked.lock_expires_at.unwrap();
        store.replace_connect_flow("hash", &flow, &locked).await.unwrap();

        store.unlock_connect_flow("hash", ends - chrono::TimeDelta::milliseconds(1)).await.unwrap();
        assert_eq!(stored(&store).await, locked);
        store.unlock_connect_flow("hash", ends).await.unwrap();
        assert_eq!(stored(&store).await, ConnectFlow { lock_expires_at: None, ..locked });
    }
}
