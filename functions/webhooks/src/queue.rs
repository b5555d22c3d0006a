//! Handles a batch of the queue: events from the bus, and webhook deliveries that are due.

use std::panic::AssertUnwindSafe;

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use domain::webhook::{EventKind, WebhookDeliveryId};
use futures::FutureExt;
use serde::Deserialize;
use serde_json::Value;

use crate::App;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum QueueMessage {
    /// A delivery whose next attempt is due.
    Delivery(WebhookDeliveryId),
    /// An event as it arrives from the bus.
    Event {
        #[serde(rename = "detail-type")]
        kind: String,
        detail: Value,
    },
}

/// Handles the messages of a batch concurrently and returns those that failed, so that the queue
/// redelivers only these.
pub async fn take(app: &App, event: SqsEvent) -> SqsBatchResponse {
    let failed = futures::future::join_all(event.records.into_iter().map(|it| handle_message(app, it))).await;
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = failed.into_iter().flatten().collect();
    response
}

async fn handle_message(app: &App, record: SqsMessage) -> Option<BatchItemFailure> {
    let work = async {
        let body = record.body.unwrap_or_default();
        match serde_json::from_str(&body).map_err(|it| it.to_string())? {
            QueueMessage::Delivery(name) => app.send(&name).await.map_err(|it| it.to_string()),
            QueueMessage::Event { kind, detail } => match EventKind::parse(&kind) {
                Some(kind) => app.fan_out_detail(kind, &detail).await.map_err(|it| it.to_string()),
                // An event type of another version of the service, to which no endpoint subscribes.
                None => Ok(()),
            },
        }
    };
    // A panic while handling one message must not end the others, which belong to other users.
    let error = match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => error,
        Err(_) => "panicked".to_owned(),
    };
    let message_id = record.message_id.unwrap_or_default();
    tracing::error!(error, message_id, "webhook queue message failed");
    let mut item = BatchItemFailure::default();
    item.item_identifier = message_id;
    Some(item)
}
