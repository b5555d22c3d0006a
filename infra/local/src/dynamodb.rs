//! DynamoDB in this process.

mod in_process;
mod listener;
mod signature;

use std::path::Path;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::{Client, config};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use domain::clock::Clock;
use domain::random::Random;
use dynoxide::Database;
use storage::{DEFAULT_DUE_SHARDS, Store, Table};
use tokio::net::TcpListener;

use self::in_process::InProcessDatabase;
use crate::call_log::CallLog;
use crate::clients::Secret;
use crate::deliveries::History;
use crate::error::LocalError;
use crate::hosts::Hosts;
use crate::meter::Meter;
use crate::{call_log, clients};

/// The prefix of the tables' names.
const PREFIX: &str = "local";

/// The endpoint in the SDK's settings. Nothing listens there.
const ENDPOINT: &str = "http://dynamodb.in-process";

/// Opens the database in this folder, or in memory, and creates missing tables. Writes of deliveries
/// are also recorded in `history`.
pub(crate) async fn open(
    folder: Option<&Path>,
    secret: &Secret,
    meter: Option<&Meter>,
    history: &History,
    clock: Clock,
) -> Result<Stores, LocalError> {
    let database = match folder {
        None => Database::memory(),
        Some(folder) => {
            let path = folder.join("dynamodb.sqlite");
            let opened = Database::new(&path.to_string_lossy());
            // In write-ahead mode, a commit survives the end of this process without waiting for the
            // disk; only a power failure could lose the last commits.
            opened.and_then(|it| it.disable_bulk_loading().map(|()| it))
        }
    };
    let database = InProcessDatabase(database.map_err(|error| LocalError::Database(error.to_string()))?);
    let http_client = SharedHttpClient::new(database.clone());
    let http_client = meter.map_or_else(|| http_client.clone(), |it| it.before(http_client.clone()));
    let config = clients::config_with_client(http_client, ENDPOINT, secret);

    let stores = Stores { database, config, secret: secret.clone(), history: history.clone(), clock };
    let client = stores.client(&stores.config);
    let tables = Table::ALL;
    futures::future::try_join_all(tables.iter().map(|it| it.create(&client, PREFIX))).await?;
    Ok(stores)
}

/// The database as its clients see it.
pub(crate) struct Stores {
    database: InProcessDatabase,
    config: SdkConfig,
    secret: Secret,
    history: History,
    clock: Clock,
}

impl Stores {
    /// The store for all calls that are not logged.
    pub(crate) fn shared(&self) -> Store {
        Store::new(self.client(&self.config), PREFIX, DEFAULT_DUE_SHARDS, Random::Os)
    }

    /// The store for one function, whose calls go to the log if there is one.
    pub(crate) fn for_function(&self, function: &'static str, log: Option<&CallLog>) -> Store {
        let config = call_log::config_for(function, log, &self.config, &self.secret);
        Store::new(self.client(&config), PREFIX, DEFAULT_DUE_SHARDS, Random::Os)
    }

    /// Serves functions in other processes. Requests must name one of `hosts`.
    pub(crate) fn listen(&self, listener: TcpListener, hosts: Hosts) {
        let router = listener::router(self.database.clone(), self.secret.clone(), hosts, self.clock.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
    }

    fn client(&self, config: &SdkConfig) -> Client {
        let watch = self.history.watch(Table::Deliveries.name(PREFIX), self.clock.clone());
        Client::from_conf(config::Builder::from(config).interceptor(watch).build())
    }
}

#[cfg(test)]
mod tests;
