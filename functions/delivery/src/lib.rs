//! The delivery function: makes the deliveries that the queue names. The protocol is in
//! `libs/publishing`.

pub mod config;
mod error;

use std::panic::AssertUnwindSafe;

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use cloud::queue::DeliveryMessage;
use futures::FutureExt;
use platforms::{Publish, Registry};
use publishing::Publishing;

use self::error::DeliveryError;

/// Returns the messages that failed, so that the queue delivers only these again. An unreadable
/// message fails each time, until the queue moves it to the dead-letter queue.
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
    let delivery = async {
        let message: DeliveryMessage = serde_json::from_str(&body)?;
        Ok(publishing.deliver(platforms, message).await?)
    };
    catch_error(record.message_id.unwrap_or_default(), delivery).await
}

/// Runs one delivery so that its panic does not end the others: a batch contains deliveries of
/// several users. The queue delivers the message again, and the next worker continues from the
/// stored state.
async fn catch_error(
    message_id: String,
    delivery: impl Future<Output = Result<(), DeliveryError>>,
) -> Option<BatchItemFailure> {
    let error = match AssertUnwindSafe(delivery).catch_unwind().await {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => error,
        Err(_) => DeliveryError::Panicked,
    };
    tracing::error!(%error, message_id, "a delivery was cut off");
    let mut item = BatchItemFailure::default();
    item.item_identifier = message_id;
    Some(item)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use publishing::PublishingError;
    use storage::StorageError;

    use super::*;

    #[tokio::test]
    async fn panic_in_one_delivery_does_not_affect_the_others() {
        let delivered = AtomicU32::new(0);
        let deliver = async |number| {
            tokio::task::yield_now().await;
            assert!(number != 3, "this one panics");
            delivered.fetch_add(1, Ordering::SeqCst);
            if number == 7 { Err(PublishingError::Storage(StorageError::Contended).into()) } else { Ok(()) }
        };

        let batch = (1..=10).map(|number| catch_error(number.to_string(), deliver(number)));
        let failed = futures::future::join_all(batch).await;

        let again: Vec<_> = failed.into_iter().flatten().map(|it| it.item_identifier).collect();
        assert_eq!(again, ["3", "7"]);
        assert_eq!(delivered.load(Ordering::SeqCst), 9);
    }
}
