//! How a conditional write ended.
//!
//! Every race between two writers is decided by a condition in the write.
//! `DynamoDB` refuses the write whose condition no longer holds, because the
//! other one came first. That is expected, and therefore not an error.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::error::StorageError;

/// Whether a conditional write was the one that counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It is written.
    Applied,
    /// Another writer came first, or what it was about is gone: nothing was
    /// written.
    Conflict,
}

impl WriteOutcome {
    /// How a write of a single item ended.
    pub(crate) fn from_write<T, E, R>(sent: Result<T, SdkError<E, R>>) -> Result<Self, StorageError>
    where
        E: ProvideErrorMetadata,
    {
        Ok(if if_won(sent)?.is_some() { Self::Applied } else { Self::Conflict })
    }

    /// Whether it is written.
    pub fn is_won(self) -> bool {
        self == Self::Applied
    }
}

/// The answer to a write of a single item; `None` when its condition did not
/// hold.
pub(crate) fn if_won<T, E, R>(sent: Result<T, SdkError<E, R>>) -> Result<Option<T>, StorageError>
where
    E: ProvideErrorMetadata,
{
    match sent {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(None),
        Err(error) => Err(error.into()),
    }
}
