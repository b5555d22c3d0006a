use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::TransactWriteItem;

use crate::Store;
use crate::error::StorageError;
use crate::write_outcome::WriteOutcome;
use crate::write_retries::WriteRetries;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionOutcome {
    Done,
    /// Nothing was written. The index of the first write whose condition failed.
    Refused(usize),
}

impl TransactionOutcome {
    /// For callers that do not care which condition failed.
    pub(crate) fn outcome(self) -> WriteOutcome {
        match self {
            Self::Done => WriteOutcome::Applied,
            Self::Refused(_) => WriteOutcome::Conflict,
        }
    }
}

impl Store {
    /// A conflict with another transaction (usually on a user's counts) is retried, because it does
    /// not mean that a condition failed.
    pub(crate) async fn transact(&self, writes: Vec<TransactWriteItem>) -> Result<TransactionOutcome, StorageError> {
        let mut retries = WriteRetries::with_backoff(&self.random);
        loop {
            let sent = self.client.transact_write_items().set_transact_items(Some(writes.clone())).send().await;
            let Err(error) = sent else { return Ok(TransactionOutcome::Done) };
            let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error()
            else {
                return Err(error.into());
            };
            let failed = |code: &str| cancelled.cancellation_reasons().iter().position(|it| it.code() == Some(code));
            if let Some(index) = failed("ConditionalCheckFailed") {
                return Ok(TransactionOutcome::Refused(index));
            }
            if failed("TransactionConflict").is_none() && failed("ThrottlingError").is_none() {
                return Err(error.into());
            }
            retries.next_attempt().await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_post, a_user, an_endpoint, noon};
    use domain::webhook::WebhookSecrets;

    use crate::testing::refusing;
    use crate::{EndpointAdded, EndpointRecord, PostWrite, PostWritten, StorageError, WriteOutcome};

    const CONFLICT: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict"}]}"#;

    const REFUSAL: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "CancellationReasons":[{"Code":"TransactionConflict"},{"Code":"ConditionalCheckFailed"}]}"#;

    #[tokio::test]
    async fn conflicting_transaction_is_retried_for_a_second() {
        let post = a_post(&a_user(), None, &[]);
        let write = async |conflicts| {
            let write = PostWrite { after: Some(&post), ..PostWrite::default() };
            refusing(conflicts, CONFLICT).await.write_post(&write, noon()).await
        };

        assert_eq!(write(6).await.unwrap(), PostWritten::Done);
        assert!(matches!(write(usize::MAX).await, Err(StorageError::Contended)));
    }

    #[tokio::test]
    async fn conflict_is_not_a_failed_condition() {
        let endpoint = an_endpoint();
        let record = EndpointRecord { endpoint: endpoint.clone(), secrets: WebhookSecrets::new(vec![1]) };
        let store = async || refusing(1, CONFLICT).await;

        assert_eq!(store().await.add_webhook(&record).await.unwrap(), EndpointAdded::Added);
        assert_eq!(store().await.replace_webhook(&endpoint, &record, None).await.unwrap(), WriteOutcome::Applied);
        assert!(store().await.remove_webhook(endpoint.user_id, endpoint.webhook_id).await.unwrap());

        let full = refusing(1, REFUSAL).await.add_webhook(&record).await.unwrap();
        assert_eq!(full, EndpointAdded::Full, "a condition that fails together with a conflict is reported");
    }
}
