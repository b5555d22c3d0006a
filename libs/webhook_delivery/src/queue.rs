//! Handles a batch of the queue: events from the bus, and webhook deliveries that are due.

use std::panic::AssertUnwindSafe;

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use domain::event::{Event, IN_OUTBOX};
use domain::webhook::{EventKind, WebhookDeliveryId};
use futures::FutureExt;
use serde::Deserialize;
use serde_json::Value;

use crate::WebhookService;
use crate::error::WebhooksError;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum QueueMessage {
    Delivery(WebhookDeliveryId),
    Event {
        #[serde(rename = "detail-type")]
        kind: String,
        detail: Value,
        #[serde(default)]
        resources: Vec<String>,
    },
}

/// Handles messages concurrently and returns those that failed, so that the queue redelivers only
/// these.
pub async fn take(service: &WebhookService, event: SqsEvent) -> SqsBatchResponse {
    let failed = futures::future::join_all(event.records.into_iter().map(|it| handle_message(service, it))).await;
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = failed.into_iter().flatten().collect();
    response
}

async fn handle_message(service: &WebhookService, record: SqsMessage) -> Option<BatchItemFailure> {
    let handling = async {
        let body = record.body.unwrap_or_default();
        match serde_json::from_str(&body)? {
            QueueMessage::Delivery(name) => service.send(&name).await,
            QueueMessage::Event { kind, detail, resources } => match EventKind::parse(&kind) {
                Some(kind) => {
                    let event = Event { detail_type: kind.as_str(), detail };
                    if resources.iter().any(|it| it == IN_OUTBOX) {
                        service.fan_out_from_outbox(&event).await
                    } else {
                        service.fan_out(&event).await
                    }
                }
                // An event type of another version of the service, to which no endpoint subscribes.
                None => Ok(()),
            },
        }
    };
    // A panic while handling one message must not end the others, which belong to other users.
    let error = match AssertUnwindSafe(handling).catch_unwind().await {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => error,
        Err(_) => WebhooksError::Panicked,
    };
    let message_id = record.message_id.unwrap_or_default();
    tracing::error!(%error, message_id, "webhook queue message failed");
    let mut item = BatchItemFailure::default();
    item.item_identifier = message_id;
    Some(item)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use serde_json::json;

    use super::*;
    use crate::testing::WebhookHarness;

    async fn in_outbox(harness: &WebhookHarness) -> usize {
        let (store, at) = (&harness.service.store, harness.clock.now() + TimeDelta::hours(1));
        let mut found = 0;
        for shard in 0..store.due_shards() {
            found += store.due_outbox_events(shard, at, 10).await.unwrap().len();
        }
        found
    }

    async fn arrive(harness: &WebhookHarness, event: &Event, resources: &[&str]) {
        let body = json!({ "detail-type": event.detail_type, "detail": event.detail, "resources": resources });
        let mut message = SqsMessage::default();
        message.body = Some(body.to_string());
        let mut batch = SqsEvent::default();
        batch.records.push(message);
        assert!(take(&harness.service, batch).await.batch_item_failures.is_empty());
    }

    #[tokio::test]
    async fn event_leaves_the_outbox_when_it_arrives_from_there() {
        let harness = WebhookHarness::new().await;
        let id = harness.enabled_endpoint().await.0.webhook_id;
        let store = &harness.service.store;
        let record = store.webhook(harness.user.user_id, id).await.unwrap().unwrap();
        let event = harness.event(1);
        store.replace_webhook(&record.endpoint, &record, Some(&event)).await.unwrap();

        arrive(&harness, &event, &[]).await;
        assert_eq!(in_outbox(&harness).await, 1, "it was put on the bus by another writer");

        arrive(&harness, &event, &[IN_OUTBOX]).await;
        arrive(&harness, &event, &[IN_OUTBOX]).await;
        assert_eq!(in_outbox(&harness).await, 0);
        assert_eq!(harness.deliveries(id).await.len(), 1);
    }
}
