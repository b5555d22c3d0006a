//! Retries of writes that conflict with a transaction on the same item.
//!
//! `DynamoDB` refuses such a write, and the SDK does not retry it. The transaction ends within
//! milliseconds.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use domain::backoff;

/// Attempts of one write. The waits add up to about one second, two at most.
pub(crate) const TRIES: u32 = 10;

/// Counts the attempts of one write.
#[derive(Default)]
pub(crate) struct RetryPolicy {
    tries: u32,
}

impl RetryPolicy {
    /// Waits after an attempt that conflicted. Returns `false` immediately if it was the last.
    pub(crate) async fn wait(&mut self) -> bool {
        self.tries += 1;
        if TRIES <= self.tries {
            return false;
        }
        tokio::time::sleep(backoff::wait(self.tries - 1).to_std().unwrap_or_default()).await;
        true
    }
}

/// Whether an update was refused because of a concurrent transaction.
pub(crate) fn is_transaction_conflict(error: &SdkError<UpdateItemError>) -> bool {
    error.as_service_error().is_some_and(UpdateItemError::is_transaction_conflict_exception)
}
