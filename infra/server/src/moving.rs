//! Moves all data of one machine to a deployed stack.
//!
//! The service is stopped and the stack's schedules are disabled, so neither publishes. From the first
//! copied item on, the folder is marked, and the service does not start with it again. A move that was cut
//! off continues when it is started again.

mod files;
mod stack;
mod tables;

use std::path::PathBuf;

use aws_sdk_dynamodb::Client;
use chrono::{DateTime, Utc};
use cloud::aws;
use cloud::bucket::{BucketError, PutError};
use cloud::seal::{Envelope, KmsKeys, LocalKeys, SealError};
use domain::clock::Clock;
use domain::random::Random;
use storage::{DEFAULT_DUE_SHARDS, StorageError, Store, Table};

use self::stack::Stack;
use self::tables::Side;
use crate::begun_move::BegunMove;
use crate::data_folder::{lock, read_move, write_move};
use crate::database::Stores;
use crate::error::ServerError;
use crate::sealing_key::SealingKey;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    pub items: usize,
    pub files: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("stack {name}: {reason}")]
    Stack { name: String, reason: String },
    #[error(
        "the schedules of {0} are enabled, so the stack publishes; deploy the stack with Schedules=DISABLED, and start \
         the move again"
    )]
    SchedulesEnabled(String),
    #[error("the stack {0} has DueShards={1}; deploy it with at least {DEFAULT_DUE_SHARDS}")]
    TooFewShards(String, u32),
    #[error(
        "users of this folder sign in at {here}, and users of the stack at {there}, so they would not find their accounts; \
         deploy the stack with the issuer of this folder"
    )]
    OtherIssuer { here: String, there: String },
    #[error("the table {table} of {stack} has data already; move to a new stack")]
    NotEmpty { stack: String, table: &'static str },
    #[error("this folder is being moved to {0}; finish that move")]
    OtherStack(String),
    #[error("this folder was moved to {0} already")]
    HasEnded(String),
    #[error(
        "{place} of the stack differ: {missing} missing, {different} changed, {extra} added, for example {example}. The \
         stack was used during the move. Delete it, return to this folder with `social-server restore --in-place`, and \
         move to a new stack"
    )]
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

pub struct Source {
    pub data: PathBuf,
    pub key: SealingKey,
    /// Where users sign in; `None` with links.
    pub issuer: Option<String>,
}

/// Afterwards compares both sides, and marks the folder as moved.
pub async fn move_to_stack(source: &Source, name: &str, clock: &Clock) -> Result<Moved, MoveError> {
    let Source { data, key, issuer } = source;
    let _lock = lock(data)?;
    let begun = read_move(data, key)?;
    let sdk = aws::config().map_err(ServerError::from)?;
    let stack = Stack::describe(&sdk, name).await?;
    stack.check(issuer.as_deref())?;
    let there = Side {
        store: Store::new(Client::new(&sdk), name, stack.due_shards()?, Random::Os),
        sealer: Envelope::new(KmsKeys::new(aws_sdk_kms::Client::new(&sdk), stack.sealing_key()?), clock.clone()),
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
    let mark = |has_ended| write_move(data, key, &BegunMove { stack: stack.id.clone(), since, has_ended });
    mark(false)?;
    let here = Side {
        store: Stores::offline(data).await?,
        sealer: Envelope::new(LocalKeys::new(key.data_key()), clock.clone()),
    };
    let mut moved = Moved { files: files::copy(data, &stack.bucket(&sdk)?).await?, items: 0 };
    // Deliveries last: without them, nothing is published, whatever else is there.
    let (deliveries, others): (Vec<_>, Vec<_>) = Table::ALL.iter().partition(|it| it.table == Table::Deliveries);
    for schema in others.into_iter().chain(deliveries) {
        moved.items += tables::copy(schema, &here, &there, clock.now()).await?;
    }
    // If an operator enabled the schedules meanwhile, the stack may have published something.
    Stack::describe(&sdk, name).await?.check(issuer.as_deref())?;
    mark(true)?;
    Ok(moved)
}

/// Returns how many deliveries are looked up before anything is published. The functions of the
/// stack must be stopped.
pub async fn mark_stack_restored(name: &str, restored_to: DateTime<Utc>, clock: &Clock) -> Result<usize, MoveError> {
    if clock.now() < restored_to {
        return Err(ServerError::Future(restored_to).into());
    }
    let sdk = aws::config().map_err(ServerError::from)?;
    let stack = Stack::describe(&sdk, name).await?;
    let store = Store::new(Client::new(&sdk), name, stack.due_shards()?, Random::Os);
    Ok(store.mark_restored(restored_to, clock.now()).await?)
}
