//! The database as the SDK's HTTP client: requests are handled in this process. No port is open, so
//! no other process and no web page can reach the database.

use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use dynoxide::{Database, DynoxideError};
use tokio::sync::Semaphore;

pub const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

/// The database executes one request at a time. More threads would only wait, and each has memory
/// of its own: a thousand posts in one second would start 512 threads.
const MAX_THREADS: usize = 4;

#[derive(Clone)]
pub struct InProcessDatabase {
    database: Database,
    threads: Arc<Semaphore>,
}

pub struct DynamoResponse {
    pub status: u16,
    pub json: String,
}

impl InProcessDatabase {
    pub(super) fn new(database: Database) -> Self {
        Self { database, threads: Arc::new(Semaphore::new(MAX_THREADS)) }
    }

    /// `target` is the value of `x-amz-target`.
    pub async fn respond(&self, target: &str, body: Vec<u8>) -> DynamoResponse {
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let database = self.database.clone();
        // Never closed, so this cannot fail.
        let permit = Arc::clone(&self.threads).acquire_owned().await;
        // It blocks its thread.
        let answered = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            run(&database, &operation, &body)
        })
        .await;
        let answered = answered.unwrap_or_else(|error| Err(DynoxideError::InternalServerError(error.to_string())));
        match answered {
            Ok(json) => DynamoResponse { status: 200, json },
            Err(error) => DynamoResponse { status: error.status_code(), json: error.to_json() },
        }
    }
}

macro_rules! operations {
    ($database:ident, $operation:ident, $body:ident, [$($name:literal => $method:ident),* $(,)?]) => {
        match $operation {
            $($name => {
                let request = serde_json::from_slice($body).map_err(|error| malformed(&error))?;
                let answer = $database.$method(request)?;
                serde_json::to_string(&answer).map_err(|error| DynoxideError::InternalServerError(error.to_string()))
            })*
            other => Err(DynoxideError::ValidationException(format!("{other} is not an operation of this database"))),
        }
    };
}

fn run(database: &Database, operation: &str, body: &[u8]) -> Result<String, DynoxideError> {
    operations!(database, operation, body, [
        "BatchGetItem" => batch_get_item,
        "BatchWriteItem" => batch_write_item,
        "CreateTable" => create_table,
        "DeleteItem" => delete_item,
        "DescribeTable" => describe_table,
        "GetItem" => get_item,
        "ListTables" => list_tables,
        "PutItem" => put_item,
        "Query" => query,
        "Scan" => scan,
        "TransactGetItems" => transact_get_items,
        "TransactWriteItems" => transact_write_items,
        "UpdateItem" => update_item,
    ])
}

fn malformed(error: &serde_json::Error) -> DynoxideError {
    DynoxideError::SerializationException(error.to_string())
}

impl std::fmt::Debug for InProcessDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InProcess")
    }
}

impl HttpClient for InProcessDatabase {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for InProcessDatabase {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let body = request.body().bytes().map(<[u8]>::to_vec).unwrap_or_default();
        let database = self.clone();
        HttpConnectorFuture::new(async move {
            let answer = database.respond(&target, body).await;
            let status = StatusCode::try_from(answer.status).map_err(|it| ConnectorError::other(it.into(), None))?;
            let mut response = HttpResponse::new(status, SdkBody::from(answer.json));
            response.headers_mut().insert("content-type", CONTENT_TYPE);
            Ok(response)
        })
    }
}
