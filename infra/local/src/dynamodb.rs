//! DynamoDB in this process.

use std::path::Path;

use aws_sdk_dynamodb::{Client, config};
use domain::clock::Clock;
use dynoxide::Database;
use storage::{DEFAULT_DUE_SHARDS, Store, Table};
use tokio::net::TcpListener;

use crate::clients;
use crate::deliveries::History;
use crate::error::LocalError;
use crate::meter::Meter;

/// The prefix of the tables' names.
const PREFIX: &str = "local";

/// Opens the database in this folder, or in memory, and creates what tables
/// are missing. What is written of deliveries is told to `history`, too.
pub(crate) async fn open(
    folder: Option<&Path>,
    meter: Option<&Meter>,
    history: &History,
    clock: Clock,
) -> Result<Store, LocalError> {
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

    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let mut endpoint = format!("http://{}", listener.local_addr()?);
    tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database, std::future::pending()));
    if let Some(meter) = meter {
        endpoint = meter.before(endpoint).await?;
    }

    let watch = history.watch(Table::Deliveries.name(PREFIX), clock);
    let client = Client::from_conf(config::Builder::from(&clients::config(&endpoint)).interceptor(watch).build());
    let tables = Table::ALL;
    futures::future::try_join_all(tables.iter().map(|it| it.create(&client, PREFIX))).await?;
    Ok(Store::new(client, PREFIX, DEFAULT_DUE_SHARDS))
}
