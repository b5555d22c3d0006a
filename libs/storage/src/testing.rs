//! A store for tests: DynamoDB in the test's own process, with every table.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use chrono::{DateTime, Utc};
use domain::id::ConnectionId;
use domain::token::random_u32;
use domain::user::User;
use dynoxide::Database;
use tokio::net::TcpListener;

use crate::connections::{Connected, ConnectionRecord};
use crate::handoffs::{HandOff, Stage};
use crate::users::{Identity, Joined};
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

/// Signs a user in for the first time.
///
/// # Panics
/// When there is such a user already.
#[expect(clippy::expect_used, reason = "a test without its user cannot go on")]
pub async fn join(store: &Store, user: &User) {
    let identity = Identity { issuer: "https://issuer.example".to_owned(), subject: user.user_id.to_string() };
    let joined = store.join(&identity, user).await.expect("a store");
    assert_eq!(joined, Joined::Ours);
}

/// Connects an account as a hand-off does; `found` is the connection that it renews.
#[expect(clippy::expect_used, reason = "a test without its account cannot go on")]
pub async fn connect(
    store: &Store,
    record: &ConnectionRecord,
    refresh_at: Option<DateTime<Utc>>,
    found: Option<ConnectionId>,
) -> Connected {
    let connection = &record.connection;
    let now = connection.created_at;
    let hand_off = HandOff {
        user_id: connection.user_id,
        provider: connection.provider.clone(),
        stage: Stage::Answering,
        created_at: now,
        expires_at: now + chrono::TimeDelta::seconds(600),
        ended_at: None,
        connection_id: None,
        reason: None,
        sealed: None,
    };
    let state = format!("{}-{}", connection.connection_id, random_u32());
    store.begin_hand_off(&state, &hand_off).await.expect("a store");
    store.connect(&state, record, refresh_at, found, now).await.expect("a store")
}
