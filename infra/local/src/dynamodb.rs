//! DynamoDB in this process.

use std::net::SocketAddr;
use std::path::Path;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::{Client, config};
use domain::clock::Clock;
use dynoxide::Database;
use storage::{DEFAULT_DUE_SHARDS, Store, Table};
use tokio::net::TcpListener;

use crate::call_log::CallLog;
use crate::deliveries::History;
use crate::error::LocalError;
use crate::meter::Meter;
use crate::{call_log, clients};

/// The prefix of the tables' names.
const PREFIX: &str = "local";

/// Opens the database in this folder, or in memory, at this address, and creates
/// the tables that are missing. Writes of deliveries are noted in `history` as
/// well.
pub(crate) async fn open(
    address: SocketAddr,
    folder: Option<&Path>,
    meter: Option<&Meter>,
    history: &History,
    clock: Clock,
) -> Result<Stores, LocalError> {
    let database = match folder {
        None => Database::memory(),
        Some(folder) => {
            let path = folder.join("dynamodb.sqlite");
            let opened = Database::new(&path.to_string_lossy());
            // In write-ahead mode a commit then survives the end of this
            // process at any moment without waiting for the disk each time;
            // only a power cut could take the last ones.
            opened.and_then(|it| it.disable_bulk_loading().map(|()| it))
        }
    };
    let database = database.map_err(|error| LocalError::Database(error.to_string()))?;

    let bound = TcpListener::bind(address).await;
    let refused = |source| LocalError::Port { port: address.port(), option: "--dynamodb-port", source };
    let listener = bound.map_err(refused)?;
    let mut endpoint = format!("http://{}", listener.local_addr()?);
    tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database, std::future::pending()));
    if let Some(meter) = meter {
        endpoint = meter.before(endpoint).await?;
    }

    let stores = Stores { endpoint, history: history.clone(), clock };
    let client = stores.client(&clients::config(&stores.endpoint));
    let tables = Table::ALL;
    futures::future::try_join_all(tables.iter().map(|it| it.create(&client, PREFIX))).await?;
    Ok(stores)
}

/// The database as its clients see it.
pub(crate) struct Stores {
    endpoint: String,
    history: History,
    clock: Clock,
}

impl Stores {
    /// The store for everything that is not logged.
    pub(crate) fn shared(&self) -> Store {
        Store::new(self.client(&clients::config(&self.endpoint)), PREFIX, DEFAULT_DUE_SHARDS)
    }

    /// The store for one function, whose calls go to the log if there is one.
    pub(crate) fn of(&self, function: &'static str, log: Option<&CallLog>) -> Store {
        let config = call_log::config_of(function, log, &self.endpoint);
        Store::new(self.client(&config), PREFIX, DEFAULT_DUE_SHARDS)
    }

    fn client(&self, config: &SdkConfig) -> Client {
        let watch = self.history.watch(Table::Deliveries.name(PREFIX), self.clock.clone());
        Client::from_conf(config::Builder::from(config).interceptor(watch).build())
    }
}
