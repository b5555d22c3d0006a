//! Delivery: takes what the queue names to its platform.

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use cloud::queue::DeliveryMessage;
use platforms::{Publish, Registry};
use publishing::Publishing;

/// Takes each message by itself, side by side, and names those to bring
/// again. One that cannot be read is brought again too, until the queue puts
/// it aside for a person to see.
pub async fn deliver(publishing: &Publishing, platforms: &Registry<dyn Publish>, event: SqsEvent) -> SqsBatchResponse {
    let deliveries = event.records.into_iter().map(|it| deliver_one(publishing, platforms, it));
    let failed = futures::future::join_all(deliveries).await;
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = failed.into_iter().flatten().collect();
    response
}

async fn deliver_one(
    publishing: &Publishing,
    platforms: &Registry<dyn Publish>,
    record: SqsMessage,
) -> Option<BatchItemFailure> {
    let body = record.body.unwrap_or_default();
    let failure = match serde_json::from_str::<DeliveryMessage>(&body) {
        Ok(message) => match publishing.deliver(platforms, message).await {
            Ok(()) => return None,
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    tracing::error!(failure, message_id = record.message_id, "a delivery was cut off");
    let mut again = BatchItemFailure::default();
    again.item_identifier = record.message_id.unwrap_or_default();
    Some(again)
}
