//! Retries of conditional writes that conflict with other writers.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use domain::backoff;
use domain::random::Random;

use crate::error::StorageError;

/// Attempts of a write that conflicts with a transaction on the same item. The waits add up to about
/// one second, two at most.
const MAX_CONFLICTS: u32 = 10;

/// The attempts of one write, in a loop that ends when the write succeeds or is no longer needed.
#[derive(Debug)]
pub struct WriteRetries {
    attempts: u32,
    max_attempts: u32,
    /// Of the waits; `None` without waits.
    random: Option<Random>,
}

impl WriteRetries {
    /// For a write whose condition failed because an item changed since it was read. The caller
    /// reads the item again, and needs no wait: the other write is complete.
    pub fn without_waits(max_attempts: u32) -> Self {
        Self { attempts: 0, max_attempts, random: None }
    }

    /// For a write that conflicts with a transaction on the same item. `DynamoDB` refuses such a
    /// write, and the SDK does not retry it. The transaction ends within milliseconds.
    pub(crate) fn with_backoff(random: &Random) -> Self {
        Self { attempts: 0, max_attempts: MAX_CONFLICTS, random: Some(random.clone()) }
    }

    /// Waits for the next attempt after one that conflicted.
    ///
    /// # Errors
    /// [`StorageError::Contended`], immediately, if it was the last attempt.
    pub async fn next_attempt(&mut self) -> Result<(), StorageError> {
        self.attempts += 1;
        if self.max_attempts <= self.attempts {
            return Err(StorageError::Contended);
        }
        if let Some(random) = &self.random {
            tokio::time::sleep(backoff::wait(self.attempts - 1, random).to_std().unwrap_or_default()).await;
        }
        Ok(())
    }
}

pub(crate) fn is_transaction_conflict(error: &SdkError<UpdateItemError>) -> bool {
    error.as_service_error().is_some_and(UpdateItemError::is_transaction_conflict_exception)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn retries_end_after_the_last_attempt() {
        let mut retries = WriteRetries::without_waits(3);

        assert!(retries.next_attempt().await.is_ok());
        assert!(retries.next_attempt().await.is_ok());
        assert!(matches!(retries.next_attempt().await, Err(StorageError::Contended)));
    }
}
