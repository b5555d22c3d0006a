//! DynamoDB: one module per table, with its keys and conditions. It keeps and
//! finds; it has no rules of its own.
//!
//! | table | key | also |
//! |---|---|---|
//! | users | `user_id` | |
//! | grants | hash of a token, device code, session or identity | `by_user`: a user's tokens; TTL |
//! | limits | subject, minute; minute 0 has no minute | TTL |
//! | connections | `user_id`, `connection_id` | `by_account`: of all users who connected an account; `refresh`: of credentials that are still kept here |
//! | credentials | `user_id`, name of the grant | sealed; the connections that use them; `refresh`: by the time they are to be looked after; `by_grant`: of all users who have the same |
//! | connect_flows | hash of a state token | TTL; and deletions, by the hash of their code |
//! | media | `user_id`, `media_id` | `unused`: uploads that no post uses |
//! | posts | `user_id`, `post_id`; `post_id` 0 counts the others | four listing indexes of keys |
//! | deliveries | `user_id`, `post_id#target_id` | `due`: the unfinished by when somebody must look |
//! | idempotency | `user_id`, key hash | TTL |
//! | vault | `platform#name`, or `webhook#name`: roles admit a function to one of both | secrets of the deployment itself |
//! | claims | account of a platform, its id of a post | which delivery made it; TTL |
//! | webhooks | `user_id`, `webhook_id`; `webhook_id` 0 counts the others | secrets sealed |
//! | notices | `user_id`, `webhook_id#event` | `due`: the unfinished by when somebody must look; `by_endpoint`: by time; `waiting`: those that wait, by time; TTL |
//! | outbox | `user_id`, event | `due`: events that are not yet on the bus |
//!
//! Keys start with the owner; the vault's is the deployment, and that of claims an account that
//! several users may have connected. TTL only cleans up: every expiry is checked on
//! read. Items hold instants as milliseconds, TTL attributes as seconds.

mod batch;
mod budgets;
mod change;
mod claims;
mod conflict;
mod connect_flows;
mod connections;
mod credentials;
mod deletions;
mod deliveries;
mod erasure;
mod error;
mod grants;
mod idempotency;
mod in_flight_calls;
mod item;
mod limits;
mod media;
mod outbox;
mod post_write;
mod posts;
mod schema;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod transaction;
mod users;
mod vault;
mod webhook_deliveries;
mod webhooks;
mod write_outcome;

use aws_sdk_dynamodb::Client;

pub use connect_flows::*;
pub use connections::*;
pub use credentials::*;
pub use deletions::*;
pub use deliveries::*;
pub use error::StorageError;
pub use grants::*;
pub use idempotency::*;
pub use in_flight_calls::{InFlightCalls, LimitSubject};
pub use limits::*;
pub use media::*;
pub use post_write::*;
pub use posts::*;
pub use schema::{Index, Key, Projection, Table, TableSchema};
pub use users::*;
pub use vault::*;
pub use webhook_deliveries::*;
pub use webhooks::{CreatedBy, EndpointAdded, EndpointRecord, webhook_context};
pub use write_outcome::WriteOutcome;

/// Partitions of the due index unless a deployment configures another number:
/// enough for 8,000 planned deliveries a second at DynamoDB's 1,000 writes a
/// second and partition.
pub const DEFAULT_DUE_SHARDS: u32 = 8;

/// The tables of one deployment.
#[derive(Clone, Debug)]
pub struct Store {
    client: Client,
    prefix: String,
    due_shards: u32,
}

impl Store {
    /// The tables whose names start with `prefix` and a dash. `due_shards` is
    /// the number of partitions of the due index, at least 1.
    pub fn new(client: Client, prefix: impl Into<String>, due_shards: u32) -> Self {
        Self { client, prefix: prefix.into(), due_shards: due_shards.max(1) }
    }

    /// The number of partitions of the due index.
    pub fn due_shards(&self) -> u32 {
        self.due_shards
    }

    /// Reads an item that nobody has, for the sake of the connection that this
    /// opens. The caller may get items of the table.
    pub async fn warm_up(&self, table: Table) -> Result<(), StorageError> {
        let schema = Table::ALL.into_iter().find(|it| it.table == table);
        let keys = schema.into_iter().flat_map(|it| [Some(it.hash), it.range]).flatten();
        let nobody = |key: Key| if key.kind == "N" { item::n(0) } else { item::s("nobody") };
        let key = keys.map(|it| (it.name.to_owned(), nobody(it))).collect();
        self.client.get_item().table_name(self.table(table)).set_key(Some(key)).send().await?;
        Ok(())
    }

    fn table(&self, table: Table) -> String {
        table.name(&self.prefix)
    }
}
