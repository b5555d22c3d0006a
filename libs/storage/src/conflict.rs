//! Waiting for a transaction that has an item which is to be written.
//!
//! `DynamoDB` refuses such a write, and the SDK does not try it again by itself:
//! the transaction is over in milliseconds.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use domain::backoff;

/// How often a write is tried at most. The waits in between are a second
/// together, two at most.
pub(crate) const TRIES: u32 = 10;

/// The tries of one write.
#[derive(Default)]
pub(crate) struct RetryPolicy {
    tries: u32,
}

impl RetryPolicy {
    /// Waits after a try that met a transaction. Returns `false`, at once, when
    /// it was the last.
    pub(crate) async fn wait(&mut self) -> bool {
        self.tries += 1;
        if TRIES <= self.tries {
            return false;
        }
        tokio::time::sleep(backoff::wait(self.tries - 1).to_std().unwrap_or_default()).await;
        true
    }
}

/// Whether an update was refused because a transaction has its item.
pub(crate) fn meets_a_transaction(error: &SdkError<UpdateItemError>) -> bool {
    error.as_service_error().is_some_and(UpdateItemError::is_transaction_conflict_exception)
}
