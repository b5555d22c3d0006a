//! Moves all data of one machine to a deployed stack.
//!
//! The service is stopped and the stack's schedules are disabled, so neither publishes. From the first
//! copied item on, the folder is marked, and the service does not start with it again. A move that was cut
//! off continues when it is started again.

mod files;
mod stack;
mod tables;

use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use cloud::aws;
use cloud::bucket::{BucketError, PutError};
use cloud::config::ConfigError;
use cloud::seal::{Envelope, KmsKeys, LocalKeys, SealError};
use domain::clock::Clock;
use domain::random::Random;
use serde::{Deserialize, Serialize};
use storage::{DEFAULT_DUE_SHARDS, StorageError, Store, Table};

use self::stack::Stack;
use self::tables::Side;
use crate::clients::Secret;
use crate::data_folder::{lock, read_moving, write_moving};
use crate::database::Stores;
use crate::error::ServerError;
use crate::extensions::NoExtensions;
use crate::sealing_key::SealingKey;

/// A move that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moving {
    /// The ARN of the stack, which is another one when a stack is created again with the same name.
    pub stack: String,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub since: DateTime<Utc>,
    pub has_ended: bool,
}

/// What was moved. Both sides have been compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    pub items: usize,
    pub files: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A credential or the region is missing.
    #[error("{0}; set AWS_REGION and the credentials of an administrator of the stack")]
    Credentials(#[from] ConfigError),
    #[error("stack {name}: {reason}")]
    Stack { name: String, reason: String },
    #[error(
        "the schedules of {0} are enabled, so it publishes; deploy it with the parameter Schedules=DISABLED, and start \
         the move again"
    )]
    NotHeld(String),
    #[error("{0} has {1} partitions of due deliveries (DueShards), and needs at least {DEFAULT_DUE_SHARDS}")]
    TooFewShards(String, u32),
    #[error(
        "users of this folder sign in at {here}, and users of the stack at {there}, so they would not find their accounts; \
         deploy the stack with the issuer of this folder"
    )]
    OtherIssuer { here: String, there: String },
    #[error("the table {table} of {stack} has data already; move to a stack that nobody has used")]
    NotEmpty { stack: String, table: &'static str },
    #[error("this folder is being moved to {0}; finish that move")]
    OtherStack(String),
    #[error("this folder was moved to {0} already")]
    HasEnded(String),
    #[error("{place}: {missing} missing, {different} different and {extra} additional on the stack, such as {example}")]
    Unequal { place: &'static str, missing: usize, different: usize, extra: usize, example: String },
    #[error("{what} cannot be encrypted again: {source}")]
    Seal { what: String, source: SealError },
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Files(#[from] BucketError),
    #[error(transparent)]
    Copy(#[from] PutError<BucketError>),
}

/// The folder that is moved.
pub struct Source {
    pub data: PathBuf,
    /// `None` if the key is in the folder.
    pub key: Option<SealingKey>,
    /// Where users sign in; `None` with links.
    pub issuer: Option<String>,
}

/// Copies everything to the stack with this name, compares both sides, and marks the folder as moved.
pub async fn move_to_stack(source: Source, name: &str, clock: &Clock) -> Result<Moved, MoveError> {
    let data = source.data.as_path();
    let _lock = lock(data)?;
    let key = match source.key {
        Some(key) => key,
        None => SealingKey::read(data)?.ok_or_else(|| ServerError::NoKey(data.to_owned()))?,
    };
    let begun = read_moving(data, &key)?;
    let sdk = aws::config()?;
    let stack = Stack::describe(&sdk, name).await?;
    stack.check(source.issuer.as_deref())?;
    let there = Side {
        store: Store::new(Client::new(&sdk), name, stack.due_shards, Random::Os),
        sealer: Envelope::new(KmsKeys::new(aws_sdk_kms::Client::new(&sdk), stack.sealing_key.clone()), clock.clone()),
    };
    match &begun {
        Some(begun) if begun.stack != stack.id => return Err(MoveError::OtherStack(begun.stack.clone())),
        Some(begun) if begun.has_ended => return Err(MoveError::HasEnded(begun.stack.clone())),
        Some(_) => {}
        None => {
            if let Some(table) = there.store.table_in_use().await? {
                return Err(MoveError::NotEmpty { stack: name.to_owned(), table: table.as_str() });
            }
        }
    }
    let since = begun.map_or_else(|| clock.now(), |it| it.since);
    let mark = |has_ended| write_moving(data, &key, &Moving { stack: stack.id.clone(), since, has_ended });
    mark(false)?;
    let here = open_source(data, &key, clock).await?;
    let mut moved = Moved { files: files::copy(data, &stack.bucket(&sdk)).await?, items: 0 };
    // Deliveries last: without them, nothing is published, whatever else is there.
    let (deliveries, others): (Vec<_>, Vec<_>) = Table::ALL.iter().partition(|it| it.table == Table::Deliveries);
    for schema in others.into_iter().chain(deliveries) {
        moved.items += tables::copy(schema, &here, &there, clock.now()).await?;
    }
    // If somebody enabled them meanwhile, the stack may have published something.
    Stack::describe(&sdk, name).await?.check(source.issuer.as_deref())?;
    mark(true)?;
    Ok(moved)
}

/// Marks the deliveries of a stack whose tables were restored to `restored_to`, and returns how many are looked
/// up before anything is published. The functions of the stack must be stopped.
pub async fn mark_stack_restored(name: &str, restored_to: DateTime<Utc>, clock: &Clock) -> Result<usize, MoveError> {
    if clock.now() < restored_to {
        return Err(ServerError::Future(restored_to).into());
    }
    let sdk = aws::config()?;
    let stack = Stack::describe(&sdk, name).await?;
    let store = Store::new(Client::new(&sdk), name, stack.due_shards, Random::Os);
    Ok(store.mark_restored(restored_to, clock.now()).await?)
}

async fn open_source(data: &Path, key: &SealingKey, clock: &Clock) -> Result<Side<LocalKeys>, ServerError> {
    let extensions: std::sync::Arc<dyn crate::Extensions> = std::sync::Arc::new(NoExtensions);
    let store = Stores::open(Some(data), &Secret::random(), &extensions).await?.shared();
    Ok(Side { store, sealer: Envelope::new(LocalKeys::new(key.data_key()), clock.clone()) })
}
