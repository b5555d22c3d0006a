//! A store for tests: DynamoDB in the test's own process, with every table.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use dynoxide::Database;
use tokio::net::TcpListener;

use crate::{Store, Table};

/// Empty tables, served on a loopback port until the test's runtime ends.
#[expect(clippy::expect_used, reason = "a test without a store cannot go on")]
pub async fn store() -> Store {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("the port's number");
    let database = Database::memory().expect("a database in memory");
    tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database, std::future::pending()));

    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .endpoint_url(format!("http://{address}"))
        .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    let client = Client::from_conf(config);
    for table in Table::ALL {
        table.create(&client, "test").await.expect("a table");
    }
    Store::new(client, "test", 4)
}
