//! DynamoDB: one module per table, with its keys and conditions. Stores and finds; has no business
//! rules. `schema` describes the tables, [`Store`] is the entry point.
//!
//! | table | key | also |
//! |---|---|---|
//! | users | `user_id` | |
//! | grants | hash of a token, device code, session or identity | `by_user`: a user's tokens; TTL |
//! | limits | subject, minute; minute 0 for counters without a minute | TTL |
//! | connections | `user_id`, `connection_id` | the grant; a sealed secret of the account, if it has its own |
//! | credentials | `user_id`, name of the grant | sealed; the connections that use them; `refresh`: by the time of the next refresh or check; `by_grant`: all users with the same grant |
//! | `connect_flows` | hash of a state token | TTL; also deletions, by the hash of their code, and markers of connected accounts |
//! | media | `user_id`, `media_id` | `unused`: uploads that no post uses |
//! | posts | `user_id`, `post_id`; `post_id` 0 counts the others, a negative one those of a profile | five listing indexes of keys |
//! | deliveries | `user_id`, `post_id#target_id` | `due`: unfinished ones by the time of the next step |
//! | attempts | `user_id`, `post_id#time#target_id#step` | what each call to a platform did; TTL |
//! | idempotency | `user_id`, key hash | TTL |
//! | vault | `platform#name` or `webhook#name`; a function's role allows one of them | secrets of the deployment itself |
//! | claims | account of a platform, its id of a post | which delivery made it; TTL |
//! | webhooks | `user_id`, `webhook_id`; `webhook_id` 0 counts the others | secrets sealed |
//! | `webhook_deliveries` | `user_id`, `webhook_id#event` | `due`: unfinished ones by the time of the next step; `by_endpoint`: by time; `waiting`: waiting ones by time; TTL |
//! | outbox | `user_id`, event | `due`: events that have not yet arrived from the bus |
//!
//! Keys start with the user, except those of the vault (the deployment) and of claims (an account
//! that several users may have connected). TTL only cleans up: every expiry is checked on read.
//! Items store instants in milliseconds, TTL attributes in seconds.

mod attempts;
mod batch;
mod budgets;
mod change;
mod claims;
mod connect_flows;
mod connect_links;
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
mod migration;
mod outbox;
mod post_write;
mod posts;
mod profiles;
mod schema;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod transaction;
mod upload_counts;
mod users;
mod vault;
mod webhook_deliveries;
mod webhooks;
mod write_outcome;
mod write_retries;

use aws_sdk_dynamodb::Client;
use domain::random::Random;

pub use connect_flows::*;
pub use connections::*;
pub use credentials::*;
pub use deletions::*;
pub use deliveries::*;
pub use erasure::ProfileContents;
pub use error::StorageError;
pub use grants::*;
pub use idempotency::*;
pub use in_flight_calls::{InFlightCalls, LimitSubject};
pub use item::Item;
pub use limits::*;
pub use media::*;
pub use migration::ItemPage;
pub use post_write::*;
pub use posts::*;
pub use profiles::*;
pub use schema::{Index, Key, Projection, Table, TableSchema};
pub use users::*;
pub use vault::*;
pub use webhook_deliveries::*;
pub use webhooks::{CreatedBy, EndpointAdded, EndpointRecord, webhook_context};
pub use write_outcome::WriteOutcome;
pub use write_retries::WriteRetries;

/// Default number of partitions of the due index: enough for 8,000 planned deliveries a second at
/// DynamoDB's 1,000 writes per second and partition.
pub const DEFAULT_DUE_SHARDS: u32 = 8;

#[derive(Clone, Debug)]
pub struct Store {
    client: Client,
    prefix: String,
    due_shards: u32,
    random: Random,
}

impl Store {
    /// Table names start with `prefix` and a dash. `due_shards` is the number of partitions of the
    /// due index, at least 1.
    pub fn new(client: Client, prefix: impl Into<String>, due_shards: u32, random: Random) -> Self {
        Self { client, prefix: prefix.into(), due_shards: due_shards.max(1), random }
    }

    pub fn due_shards(&self) -> u32 {
        self.due_shards
    }

    /// Opens the connection early by reading a key that does not exist. The caller needs the
    /// permission to get items of the table.
    pub async fn warm_up(&self, table: Table) -> Result<(), StorageError> {
        let schema = Table::ALL.into_iter().find(|it| it.table == table);
        let keys = schema.into_iter().flat_map(|it| [Some(it.hash), it.range]).flatten();
        let missing = |key: Key| if key.kind == "N" { item::n(0) } else { item::s("nobody") };
        let key = keys.map(|it| (it.name.to_owned(), missing(it))).collect();
        self.client.get_item().table_name(self.table(table)).set_key(Some(key)).send().await?;
        Ok(())
    }

    fn table(&self, table: Table) -> String {
        table.name(&self.prefix)
    }
}
