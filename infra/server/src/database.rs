//! DynamoDB in this process.

mod in_process;

use std::path::Path;
use std::sync::Arc;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::{Client, config};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use domain::random::Random;
use dynoxide::Database;
use storage::{DEFAULT_DUE_SHARDS, Store, Table};

pub use self::in_process::{CONTENT_TYPE, DynamoResponse, InProcessDatabase};
use crate::clients::{self, Secret};
use crate::data_folder::DATABASE;
use crate::error::ServerError;
use crate::extensions::{Extensions, NoExtensions};

/// The prefix of the tables' names.
const PREFIX: &str = "local";

/// The endpoint in the SDK's settings. Nothing listens there.
const ENDPOINT: &str = "http://dynamodb.in-process";

/// The database as its clients see it.
#[derive(Clone)]
pub struct Stores {
    database: InProcessDatabase,
    config: SdkConfig,
    extensions: Arc<dyn Extensions>,
}

impl Stores {
    /// Opens the database in this folder, or in memory, and creates missing tables.
    pub async fn open(
        folder: Option<&Path>,
        secret: &Secret,
        extensions: &Arc<dyn Extensions>,
    ) -> Result<Self, ServerError> {
        // A file is in write-ahead mode with `synchronous=FULL`, which are the defaults of dynoxide and of
        // SQLite: a commit is on disk before its response.
        let database = match folder {
            None => Database::memory(),
            Some(folder) => Database::new(&folder.join(DATABASE).to_string_lossy()),
        };
        let database = InProcessDatabase::new(database.map_err(|error| ServerError::Database(error.to_string()))?);
        let config = clients::config_with_client(SharedHttpClient::new(database.clone()), ENDPOINT, secret);
        let stores = Self { database, config, extensions: Arc::clone(extensions) };
        let client = stores.client(None);
        futures::future::try_join_all(Table::ALL.iter().map(|it| it.create(&client, PREFIX))).await?;
        Ok(stores)
    }

    /// The tables of a folder that no service uses.
    pub async fn offline(folder: &Path) -> Result<Store, ServerError> {
        let extensions: Arc<dyn Extensions> = Arc::new(NoExtensions);
        Ok(Self::open(Some(folder), &Secret::random(), &extensions).await?.shared())
    }

    /// The store for work that belongs to no function.
    pub fn shared(&self) -> Store {
        self.store(None)
    }

    pub(crate) fn for_function(&self, function: &'static str) -> Store {
        self.store(Some(function))
    }

    /// The database itself, for a listener.
    pub fn database(&self) -> InProcessDatabase {
        self.database.clone()
    }

    fn store(&self, function: Option<&'static str>) -> Store {
        Store::new(self.client(function), PREFIX, DEFAULT_DUE_SHARDS, Random::Os)
    }

    fn client(&self, function: Option<&'static str>) -> Client {
        let config = self.extensions.database_config(function, self.config.clone());
        let builder = config::Builder::from(&config);
        Client::from_conf(self.extensions.database_client(builder, &Table::Deliveries.name(PREFIX)).build())
    }
}
