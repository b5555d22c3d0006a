use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, ConfigBag, Credentials, Intercept, Region, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use chrono::{DateTime, Utc};
use domain::connect_flow::{ConnectFlow, FlowState};
use domain::connection::Connection;
use domain::event::Event;
use domain::id::UserId;
use domain::random::Random;
use domain::user::User;
use dynoxide::Database;
#[cfg(test)]
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::connections::{Connected, Connecting};
use crate::credentials::NewCredentials;
use crate::item::{attributes, n, s};
use crate::users::{CreateUserOutcome, Identity};
use crate::{Store, Table};

/// Empty tables, served on a loopback port until the test's runtime ends.
#[expect(clippy::expect_used, reason = "a test cannot continue without a store")]
pub async fn store() -> Store {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("the port's number");
    let database = Database::memory().expect("a database in memory");
    tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database, std::future::pending()));

    let client = client_for(address);
    for table in Table::ALL {
        table.create(&client, "test").await.expect("a table");
    }
    Store::new(client, "test", 4, Random::Os)
}

/// Loses the next `losses` updates, and repeats no request.
pub fn store_losing_updates(store: &Store, losses: Arc<AtomicU32>) -> Store {
    let config = store.client.config().to_builder();
    let config = config.retry_config(RetryConfig::disabled()).interceptor(LosesUpdates(losses));
    Store { client: Client::from_conf(config.build()), ..store.clone() }
}

/// Makes the next `calls` calls, and fails all later ones.
pub fn store_cut_off(store: &Store, calls: Arc<AtomicU32>) -> Store {
    let config = store.client.config().to_builder();
    let config = config.retry_config(RetryConfig::disabled()).interceptor(CutOff(calls));
    Store { client: Client::from_conf(config.build()), ..store.clone() }
}

#[derive(Debug)]
struct CutOff(Arc<AtomicU32>);

impl Intercept for CutOff {
    fn name(&self) -> &'static str {
        "CutOff"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let less = |left: u32| left.checked_sub(1);
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).map(drop).map_err(|_| "cut off".into())
    }
}

#[derive(Debug)]
struct LosesUpdates(Arc<AtomicU32>);

impl Intercept for LosesUpdates {
    fn name(&self) -> &'static str {
        "LosesUpdates"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let is_update = context.request().headers().get("x-amz-target").is_some_and(|it| it.ends_with(".UpdateItem"));
        let less = |left: u32| left.checked_sub(1);
        if is_update && self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
            return Err("lost".into());
        }
        Ok(())
    }
}

/// Refuses the first `refusals` calls with this response, and confirms all later writes.
#[cfg(test)]
pub(crate) async fn refusing(refusals: usize, response: &'static str) -> Store {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("the port's number");
    tokio::spawn(async move {
        for call in 0.. {
            let (mut socket, _) = listener.accept().await.expect("a connection");
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                assert_ne!(socket.read_buf(&mut request).await.expect("a request"), 0, "it ends with its JSON");
            }
            let (status, body) = if call < refusals { ("400 Bad Request", response) } else { ("200 OK", "{}") };
            let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            socket.write_all(format!("{head}{body}").as_bytes()).await.expect("an open connection");
        }
    });
    Store::new(client_for(address), "test", 1, Random::Os)
}

/// Signs a user in for the first time.
///
/// # Panics
/// If the user exists already.
#[expect(clippy::expect_used, reason = "a test cannot continue without its user")]
pub async fn join(store: &Store, user: &User) {
    let identity = Identity { issuer: "https://issuer.example".to_owned(), subject: user.user_id.to_string() };
    let joined = store.join(&identity, user).await.expect("a store");
    assert_eq!(joined, CreateUserOutcome::Ours);
}

pub fn a_connect_flow(user: UserId, provider: &str, now: DateTime<Utc>) -> ConnectFlow {
    ConnectFlow { state: FlowState::Completing, ..ConnectFlow::start(user, provider.to_owned(), now) }
}

/// Connects or reconnects an account as a connect flow does, with a grant of its own.
#[expect(clippy::expect_used, reason = "a test cannot continue without its account")]
pub async fn connect(
    store: &Store,
    connection: &Connection,
    sealed: &[u8],
    refresh_at: Option<DateTime<Utc>>,
) -> Connected {
    let now = connection.created_at;
    let (account, provider) = (&connection.profile.account_id, &connection.provider);
    let of_profile = connection.of_profile.clone();
    let profile = of_profile.as_ref().map(|it| it.profile_id);
    let connect_flow = ConnectFlow { of_profile, ..a_connect_flow(connection.user_id, provider, now) };
    let state = format!("{}-{}", connection.connection_id, store.random.u64());
    store.begin_connect_flow(&state, &connect_flow).await.expect("a store");
    let accounts = [account.as_str()];
    let found = store.connected_accounts(connection.user_id, profile, provider, accounts).await.expect("a store");
    let granted = granted(connection, sealed, refresh_at);
    let account = Connecting {
        connection: connection.clone(),
        grant_name: granted.grant_name.clone(),
        own: None,
        found: found.into_values().next(),
    };
    let connected = store.connect(&state, &connect_flow, &[account], &[granted], None, now).await.expect("a store");
    // As the function webhooks does when the event has arrived from the bus.
    store.remove_from_outbox(&Event::connected(connection, now)).await.expect("a store");
    connected
}

pub fn granted(connection: &Connection, sealed: &[u8], refresh_at: Option<DateTime<Utc>>) -> NewCredentials {
    NewCredentials {
        grant_name: connection.account(),
        sealed: sealed.to_vec(),
        token_expires_at: connection.token_expires_at,
        refresh_at,
    }
}

#[expect(clippy::expect_used, reason = "a test cannot continue without its item")]
pub async fn corrupt_outbox(store: &Store, user: &User, shard: u32) {
    let item = attributes([
        ("user_id", n(user.user_id)),
        ("event", s(format!("spoiled:{shard}"))),
        ("due_shard", s(format!("due#{shard}"))),
        ("due_at", n(0)),
    ]);
    let put = store.client.put_item().table_name(store.table(Table::Outbox)).set_item(Some(item));
    put.send().await.expect("a store");
}

#[expect(clippy::expect_used, reason = "a test cannot continue without its item")]
pub async fn corrupt_post(store: &Store, user: &User) {
    let item = attributes([("user_id", n(user.user_id)), ("post_id", n(1))]);
    store.put_items(Table::Posts, &[item]).await.expect("a store");
}

pub(crate) fn client_for(address: SocketAddr) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .endpoint_url(format!("http://{address}"))
        .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    Client::from_conf(config)
}
