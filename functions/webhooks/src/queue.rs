//! A batch of the queue: events from the bus, and notices to be tried.

use std::panic::AssertUnwindSafe;

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use domain::webhook::{EventKind, WebhookDeliveryId};
use futures::FutureExt;
use serde::Deserialize;
use serde_json::Value;

use crate::App;

/// What a message says.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum QueueMessage {
    /// A notice is to be tried.
    Notice(WebhookDeliveryId),
    /// Something happened, as the bus tells it.
    Event {
        #[serde(rename = "detail-type")]
        kind: String,
        detail: Value,
    },
}

/// Handles the messages of a batch at the same time, and answers which ones
/// failed, so that the queue brings only those again.
pub async fn take(app: &App, event: SqsEvent) -> SqsBatchResponse {
    let failed = futures::future::join_all(event.records.into_iter().map(|it| take_one(app, it))).await;
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = failed.into_iter().flatten().collect();
    response
}

async fn take_one(app: &App, record: SqsMessage) -> Option<BatchItemFailure> {
    let work = async {
        let body = record.body.unwrap_or_default();
        match serde_json::from_str(&body).map_err(|it| it.to_string())? {
            QueueMessage::Notice(name) => app.send(&name).await.map_err(|it| it.to_string()),
            QueueMessage::Event { kind, detail } => match EventKind::parse(&kind) {
                Some(kind) => app.fan_out_detail(kind, &detail).await.map_err(|it| it.to_string()),
                // Of another version of the service: nobody can have asked for it.
                None => Ok(()),
            },
        }
    };
    // A panic in one must not end the others, which are of other users.
    let failure = match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(())) => return None,
        Ok(Err(failure)) => failure,
        Err(_) => "it panicked".to_owned(),
    };
    let message_id = record.message_id.unwrap_or_default();
    tracing::error!(failure, message_id, "a message about webhooks was cut off");
    let mut again = BatchItemFailure::default();
    again.item_identifier = message_id;
    Some(again)
}
