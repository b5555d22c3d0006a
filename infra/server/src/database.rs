//! DynamoDB in this process.

mod in_process;

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use domain::random::Random;
use dynoxide::Database;
use storage::{DEFAULT_DUE_SHARDS, Store, Table};

pub use self::in_process::{CONTENT_TYPE, DynamoResponse, InProcessDatabase};
use crate::clients::{self, Secret};
use crate::data_folder::DATABASE;
use crate::error::ServerError;
use crate::extensions::{Extensions, NoExtensions};

const PREFIX: &str = "local";

/// Nothing listens at this address.
const ENDPOINT: &str = "http://dynamodb.in-process";

#[derive(Clone)]
pub struct Stores {
    database: InProcessDatabase,
    config: SdkConfig,
    extensions: Arc<dyn Extensions>,
}

impl Stores {
    /// In memory without `folder`. Creates missing tables.
    pub async fn open(
        folder: Option<&Path>,
        secret: &Secret,
        extensions: &Arc<dyn Extensions>,
    ) -> Result<Self, ServerError> {
        let failed = |error: dynoxide::DynoxideError| ServerError::Database(error.to_string());
        // A file is in write-ahead mode with `synchronous=FULL`, which are the defaults of dynoxide and of
        // SQLite: a commit is on disk before its response.
        let database = match folder {
            None => Database::memory().map_err(failed)?,
            Some(folder) => {
                let file = folder.join(DATABASE);
                if !file.try_exists()? {
                    Self::create_file(&file, secret, extensions).await?;
                }
                Database::new(&file.to_string_lossy()).map_err(failed)?
            }
        };
        let stores = Self::over(database, secret, extensions);
        stores.create_tables().await?;
        Ok(stores)
    }

    /// Dynoxide creates a table in several commits, and a power cut between two of them would leave
    /// a table that can neither be used nor created.
    async fn create_file(file: &Path, secret: &Secret, extensions: &Arc<dyn Extensions>) -> Result<(), ServerError> {
        let failed = |error: dynoxide::DynoxideError| ServerError::Database(error.to_string());
        let database = Database::memory().map_err(failed)?;
        Self::over(database.clone(), secret, extensions).create_tables().await?;
        let draft = file.with_extension("new");
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        database.vacuum_into(&draft.to_string_lossy()).map_err(failed)?;
        File::open(&draft)?.sync_all()?;
        fs::rename(&draft, file)?;
        if let Some(folder) = file.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }

    fn over(database: Database, secret: &Secret, extensions: &Arc<dyn Extensions>) -> Self {
        let database = InProcessDatabase::new(database);
        let config = clients::config_with_client(SharedHttpClient::new(database.clone()), ENDPOINT, secret);
        Self { database, config, extensions: Arc::clone(extensions) }
    }

    async fn create_tables(&self) -> Result<(), ServerError> {
        let client = self.client(None);
        futures::future::try_join_all(Table::ALL.iter().map(|it| it.create(&client, PREFIX))).await?;
        Ok(())
    }

    /// For a folder that no service uses.
    pub async fn offline(folder: &Path) -> Result<Store, ServerError> {
        let extensions: Arc<dyn Extensions> = Arc::new(NoExtensions);
        Ok(Self::open(Some(folder), &Secret::random(), &extensions).await?.shared())
    }

    /// For work that belongs to no function.
    pub fn shared(&self) -> Store {
        self.store(None)
    }

    pub(crate) fn for_function(&self, function: &'static str) -> Store {
        self.store(Some(function))
    }

    pub fn database(&self) -> InProcessDatabase {
        self.database.clone()
    }

    fn store(&self, function: Option<&'static str>) -> Store {
        Store::new(self.client(function), PREFIX, DEFAULT_DUE_SHARDS, Random::Os)
    }

    fn client(&self, function: Option<&'static str>) -> Client {
        Client::new(&self.extensions.database_config(function, self.config.clone()))
    }
}
