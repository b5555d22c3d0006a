//! Delivery: takes what the queue names to its platform.

use std::panic::AssertUnwindSafe;

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use cloud::queue::DeliveryMessage;
use futures::FutureExt;
use platforms::{Publish, Registry};
use publishing::Publishing;

/// Takes each message by itself, side by side, and names those to bring
/// again. One that cannot be read is brought again too, until the queue puts
/// it aside for a person to see.
pub async fn deliver(publishing: &Publishing, platforms: &Registry<dyn Publish>, event: SqsEvent) -> SqsBatchResponse {
    each_by_itself(event, async |message| publishing.deliver(platforms, message).await.map_err(|it| it.to_string()))
        .await
}

async fn each_by_itself(
    event: SqsEvent,
    deliver: impl AsyncFn(DeliveryMessage) -> Result<(), String>,
) -> SqsBatchResponse {
    let deliveries = event.records.into_iter().map(|record| deliver_one(record, &deliver));
    let failed = futures::future::join_all(deliveries).await;
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = failed.into_iter().flatten().collect();
    response
}

async fn deliver_one(
    record: SqsMessage,
    deliver: impl AsyncFn(DeliveryMessage) -> Result<(), String>,
) -> Option<BatchItemFailure> {
    let body = record.body.unwrap_or_default();
    let failure = match serde_json::from_str(&body) {
        // Several tenants share a batch, and a panic is one's alone. Whatever it
        // left half done, the store decides what the next worker does.
        Ok(message) => match AssertUnwindSafe(deliver(message)).catch_unwind().await {
            Ok(Ok(())) => return None,
            Ok(Err(error)) => error,
            Err(_) => "it panicked".to_owned(),
        },
        Err(error) => error.to_string(),
    };
    tracing::error!(failure, message_id = record.message_id, "a delivery was cut off");
    let mut again = BatchItemFailure::default();
    again.item_identifier = record.message_id.unwrap_or_default();
    Some(again)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use domain::id::PostId;
    use domain::testing::a_delivery;

    use super::*;

    fn record(id: &str, post: u64) -> SqsMessage {
        let delivery = a_delivery();
        let message = DeliveryMessage {
            user_id: delivery.user_id,
            post_id: PostId::new(post).unwrap(),
            target_id: delivery.target_id,
            connection_id: delivery.connection_id,
            revision: 1,
            roll_up_at: None,
        };
        let mut record = SqsMessage::default();
        record.message_id = Some(id.to_owned());
        record.body = Some(serde_json::to_string(&message).unwrap());
        record
    }

    #[tokio::test]
    async fn a_panic_in_one_delivery_ends_no_other() {
        let mut event = SqsEvent::default();
        event.records = (1..=10).map(|it| record(&format!("m{it}"), it)).collect();
        let delivered = AtomicU32::new(0);

        let response = each_by_itself(event, async |message| {
            tokio::task::yield_now().await;
            assert!(message.post_id.get() != 3, "this one panics");
            delivered.fetch_add(1, Ordering::SeqCst);
            if message.post_id.get() == 7 { Err("the store is away".to_owned()) } else { Ok(()) }
        })
        .await;

        let again: Vec<_> = response.batch_item_failures.iter().map(|it| it.item_identifier.as_str()).collect();
        assert_eq!(again, ["m3", "m7"]);
        assert_eq!(delivered.load(Ordering::SeqCst), 9);
    }
}
