//! Watches the store's requests for writes to the table of deliveries.

use std::collections::HashMap;

use aws_sdk_dynamodb::config::interceptors::{
    BeforeSerializationInterceptorContextRef, FinalizerInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemInput;
use aws_sdk_dynamodb::operation::put_item::PutItemInput;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsInput;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use domain::clock::Clock;
use domain::delivery::Delivery;
use domain::id::{PostId, TargetId, UserId};
use serde::Deserialize;

use super::History;
use super::history::{Change, DeliveryVersion};

type Item = HashMap<String, AttributeValue>;

/// Records each write of a delivery once it has succeeded.
#[derive(Debug)]
pub(crate) struct Watch {
    history: History,
    table: String,
    clock: Clock,
}

impl History {
    /// For the client of the store; `table` is the name of its deliveries.
    pub(crate) fn watch(&self, table: String, clock: Clock) -> Watch {
        Watch { history: self.clone(), table, clock }
    }
}

impl Intercept for Watch {
    fn name(&self) -> &'static str {
        "deliveries"
    }

    fn read_before_execution(
        &self,
        context: &BeforeSerializationInterceptorContextRef<'_>,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let input = context.input();
        let writes = if let Some(put) = input.downcast_ref::<PutItemInput>() {
            self.put(put.table_name(), put.item()).into_iter().collect()
        } else if let Some(delete) = input.downcast_ref::<DeleteItemInput>() {
            self.delete(delete.table_name(), delete.key()).into_iter().collect()
        } else if let Some(transaction) = input.downcast_ref::<TransactWriteItemsInput>() {
            transaction.transact_items().iter().filter_map(|it| self.action(it)).collect()
        } else {
            Vec::new()
        };
        if !writes.is_empty() {
            config.interceptor_state().store_put(Pending(writes));
        }
        Ok(())
    }

    fn read_after_execution(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let (Some(Ok(_)), Some(Pending(writes))) = (context.output_or_error(), config.load::<Pending>()) {
            let at = self.clock.now();
            for write in writes.iter().cloned() {
                self.history.note(match write {
                    Write::Put(delivery) => Change::Put(Box::new(DeliveryVersion { at, delivery: *delivery })),
                    Write::Delete { user, post, target } => Change::Removed { at, user, post, target },
                });
            }
        }
        Ok(())
    }
}

/// The writes of a request; they count if the request succeeds.
#[derive(Debug)]
struct Pending(Vec<Write>);

impl Storable for Pending {
    type Storer = StoreReplace<Self>;
}

/// Without updates: deliveries are put, and updates change only positions in an index.
#[derive(Clone, Debug)]
enum Write {
    Put(Box<Delivery>),
    Delete { user: UserId, post: PostId, target: TargetId },
}

/// The key of a delivery.
#[derive(Deserialize)]
struct Key {
    user_id: UserId,
    /// `{post}#{target}`, both with leading zeros.
    delivery: String,
}

impl Watch {
    fn action(&self, action: &TransactWriteItem) -> Option<Write> {
        match (action.put(), action.delete()) {
            (Some(put), _) => self.put(Some(put.table_name()), Some(put.item())),
            (None, Some(delete)) => self.delete(Some(delete.table_name()), Some(delete.key())),
            (None, None) => None,
        }
    }

    fn put(&self, table: Option<&str>, item: Option<&Item>) -> Option<Write> {
        let delivery = serde_dynamo::from_item(self.filter_table(table, item)?.clone());
        delivery.inspect_err(|error| tracing::warn!(%error, "a delivery could not be read")).ok().map(Write::Put)
    }

    fn delete(&self, table: Option<&str>, key: Option<&Item>) -> Option<Write> {
        let key: Key = serde_dynamo::from_item(self.filter_table(table, key)?.clone()).ok()?;
        let (post, target) = key.delivery.split_once('#')?;
        Some(Write::Delete {
            user: key.user_id,
            post: PostId::new(post.parse().ok()?)?,
            target: TargetId::new(target.parse().ok()?)?,
        })
    }

    fn filter_table<'a>(&self, table: Option<&str>, item: Option<&'a Item>) -> Option<&'a Item> {
        item.filter(|_| table == Some(self.table.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::delivery::Delivery;
    use domain::post::Post;
    use domain::testing::{a_connection, a_post, a_user, noon};
    use storage::{DeliveryWrite, PostWrite, PostWritten, Store, WriteOutcome};

    use super::super::Reference;
    use super::super::history::Record;
    use super::*;
    use crate::development::recorded_store;

    struct InterceptorHarness {
        history: History,
        clock: Clock,
        store: Store,
        post: Post,
        delivery: Delivery,
    }

    impl InterceptorHarness {
        async fn new() -> Self {
            let (history, clock) = (History::default(), Clock::manual(noon()));
            let store = recorded_store(&history, &clock).await;
            let user = a_user();
            let post = a_post(&user, Some(noon()), &[a_connection(&user)]);
            let delivery = Delivery::new(&post, &post.targets[0], None, 1, noon());
            Self { history, clock, store, post, delivery }
        }

        async fn write(&self, before: Option<&Post>, after: Option<&Post>, delivery: DeliveryWrite<'_>) {
            let write = PostWrite { before, after, deliveries: vec![delivery], kept: None, event: None };
            assert_eq!(self.store.write_post(&write, noon()).await.unwrap(), PostWritten::Done);
        }

        fn record(&self) -> Option<Record> {
            self.history.record(Reference::from_delivery(&self.delivery))
        }
    }

    #[tokio::test]
    async fn each_write_is_recorded_with_its_time() {
        let harness = InterceptorHarness::new().await;
        // A post of an unknown account cannot be written; a delivery alone can.
        let bare = Post { targets: Vec::new(), ..harness.post.clone() };
        harness.write(None, Some(&bare), DeliveryWrite::Put(&harness.delivery)).await;
        harness.clock.advance(TimeDelta::seconds(1));
        let begun = harness.delivery.clone().open_intent(noon()).with_write_id(2);
        assert_eq!(harness.store.replace_delivery(&harness.delivery, &begun).await.unwrap(), WriteOutcome::Applied);

        let written = harness.record().unwrap().written;

        let noted: Vec<_> = written.into_iter().map(|it| (it.at, it.delivery)).collect();
        assert_eq!(noted, [(noon(), harness.delivery.clone()), (noon() + TimeDelta::seconds(1), begun)]);
    }

    #[tokio::test]
    async fn failed_write_is_not_recorded() {
        let harness = InterceptorHarness::new().await;
        let begun = harness.delivery.clone().open_intent(noon());

        assert_eq!(harness.store.replace_delivery(&harness.delivery, &begun).await.unwrap(), WriteOutcome::Conflict);

        assert!(harness.record().is_none());
    }

    #[tokio::test]
    async fn removal_with_or_without_the_post_is_recorded() {
        for alone in [true, false] {
            let harness = InterceptorHarness::new().await;
            let bare = Post { targets: Vec::new(), ..harness.post.clone() };
            harness.write(None, Some(&bare), DeliveryWrite::Put(&harness.delivery)).await;
            if alone {
                harness.store.remove_delivery(&harness.delivery).await.unwrap();
            } else {
                harness.write(Some(&bare), None, DeliveryWrite::Remove(harness.delivery.target_id)).await;
            }

            assert_eq!(harness.record().unwrap().removed_at, Some(noon()), "alone: {alone}");
        }
    }
}
