//! Result of a conditional write.
//!
//! A condition in the write decides every race between writers: `DynamoDB` refuses the write whose
//! condition no longer holds. That is expected, so it is not an error.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::error::StorageError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    Applied,
    /// Another writer came first, or the item is gone: nothing was written.
    Conflict,
}

impl WriteOutcome {
    pub(crate) fn from_write<T, E, R>(sent: Result<T, SdkError<E, R>>) -> Result<Self, StorageError>
    where
        E: ProvideErrorMetadata,
    {
        Ok(if if_applied(sent)?.is_some() { Self::Applied } else { Self::Conflict })
    }

    pub fn is_applied(self) -> bool {
        self == Self::Applied
    }
}

/// The response to a write of a single item; `None` if its condition did not hold.
pub(crate) fn if_applied<T, E, R>(sent: Result<T, SdkError<E, R>>) -> Result<Option<T>, StorageError>
where
    E: ProvideErrorMetadata,
{
    match sent {
        Ok(output) => Ok(Some(output)),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(None),
        Err(error) => Err(error.into()),
    }
}
