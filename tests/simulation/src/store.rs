//! The store: the service's real code down to the SDK, whose requests are handled in this thread
//! instead of by DynamoDB.

mod failures;
mod image;
mod journal;
mod meter;
mod request;
mod schema;
mod stale;
mod tables;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Region};
use aws_smithy_async::time::TimeSource;
use aws_smithy_runtime::client::auth::no_auth::NO_AUTH_SCHEME_ID;
use aws_smithy_runtime::client::retries::RetryPartition;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use chrono::TimeDelta;
use dynoxide::DynoxideError;
use dynoxide::actions::query::QueryRequest;
use storage::Store;

use self::failures::{chances, respond, response};
pub(crate) use self::journal::{Journal, Version};
pub(crate) use self::meter::Charge;
use self::request::{Request, WrittenItem};
use self::schema::PREFIX;
use self::stale::IndexQuery;
use self::tables::Tables;
use crate::faults::KillTime;
use crate::port::Port;
use crate::world::{SimulatedWorld, lock};

/// A request that takes at least this long may arrive after its caller has given up.
const CALLER_TIMEOUT: Duration = Duration::from_secs(1);

const INDEX_LAG: Duration = Duration::from_secs(3);

/// Creates the tables of this thread in advance: creating them takes longer than emptying them.
pub(crate) fn prepare_thread() {
    Tables::prepare();
}

/// Empty. The journal gets everything that will be written.
pub(crate) fn store(world: &Arc<SimulatedWorld>, due_shards: u32) -> (Store, Arc<Mutex<Journal>>) {
    let journal = Arc::new(Mutex::new(Journal::default()));
    let wire = SimulatedEndpoint(Arc::new(Inner {
        world: Arc::clone(world),
        tables: Tables::empty(),
        journal: Arc::clone(&journal),
        transacted: Mutex::default(),
    }));
    // The configuration of `cloud::aws`, except for the HTTP client and the clock.
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .retry_config(RetryConfig::standard())
        .timeout_config(cloud::aws::timeouts())
        // The SDK counts its remaining retries per process. Without a separate partition, a run
        // would depend on the runs before it.
        .retry_partition(RetryPartition::custom("simulation").build())
        .region(Region::from_static("us-east-1"))
        .endpoint_url("http://store.invalid")
        // The simulated store does not check signatures, and signing would take a tenth of a run.
        .allow_no_auth()
        .auth_scheme_preference([NO_AUTH_SCHEME_ID])
        .time_source(wire.clone())
        .http_client(wire)
        .build();
    (Store::new(Client::from_conf(config), PREFIX, due_shards, world.random.clone()), journal)
}

#[derive(Clone)]
struct SimulatedEndpoint(Arc<Inner>);

struct Inner {
    world: Arc<SimulatedWorld>,
    tables: Tables,
    journal: Arc<Mutex<Journal>>,
    transacted: Mutex<BTreeSet<String>>,
}

impl fmt::Debug for SimulatedEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedEndpoint")
    }
}

impl TimeSource for SimulatedEndpoint {
    fn now(&self) -> SystemTime {
        self.0.world.now().into()
    }
}

impl HttpClient for SimulatedEndpoint {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for SimulatedEndpoint {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let inner = Arc::clone(&self.0);
        HttpConnectorFuture::new(inner.take(request))
    }
}

impl Inner {
    async fn take(self: Arc<Self>, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target").expect("every request names its operation");
        let (_, operation) = target.split_once('.').expect("a version and an operation");
        let body = request.body().bytes().expect("requests to the store are small and whole");
        let request = Request::read(operation, body);
        assert!(!request.is_eventually_consistent(), "a read that may be behind: {}", request.describe());

        let written = request.writes();
        // Transactions write only tables that the journal records, so only writes to these can
        // conflict.
        let contended = written.iter().any(|it| journal::is_followed(it.table));
        let faults = chances(&self.world.probabilities, contended);
        let (call, fault) = self.world.call(Port::Store, request.describe(), &faults);
        let failed = respond(fault, request.transaction_items());
        call.die(KillTime::Before).await;
        let done = match fault.is_done() {
            true if CALLER_TIMEOUT < call.there => Some(self.perform_detached(request, written, call.there).await),
            true => {
                call.go().await;
                Some(self.perform(request, written))
            }
            false => {
                call.go().await;
                None
            }
        };
        call.respond().await;
        failed.or(done.map(Ok)).expect("what did not fail was done")
    }

    /// Performs a request that is so slow that it arrives even if its caller has timed out or died.
    async fn perform_detached(
        self: &Arc<Self>,
        request: Request,
        written: Vec<WrittenItem>,
        after: Duration,
    ) -> HttpResponse {
        let store = Arc::clone(self);
        let performed = tokio::spawn(async move {
            tokio::time::sleep(after).await;
            store.perform(request, written)
        });
        performed.await.expect("no task ends it")
    }

    fn query_index(&self, query: QueryRequest) -> Result<String, DynoxideError> {
        let is_stale = self.world.happens(self.world.probabilities.stale_index_probability);
        let index_query = if is_stale { IndexQuery::from_request(&query) } else { None };
        let mut output = self.tables.query(query)?;
        if let (Some(index_query), None) = (index_query, &output.last_evaluated_key) {
            let at = self.world.now() - TimeDelta::from_std(self.world.up_to(INDEX_LAG)).unwrap_or_default();
            let items = output.items.unwrap_or_default();
            let earlier = index_query.items_at(at, &items, &lock(&self.journal));
            if let Some(earlier) = earlier.filter(|it| *it != items) {
                self.world.count_fault();
                self.world.note(format!("an index is behind: {} entries instead of {}", earlier.len(), items.len()));
                output.items = Some(earlier);
            } else {
                output.items = Some(items);
            }
            output.count = output.items.as_ref().map_or(0, Vec::len);
            output.scanned_count = output.count;
        }
        Ok(tables::body(&output))
    }

    fn perform(&self, mut request: Request, written: Vec<WrittenItem>) -> HttpResponse {
        let now = self.world.now();
        let (is_metered, writes) = (lock(&self.journal).is_metered(), !written.is_empty());
        if is_metered {
            meter::ask(&mut request);
        }
        let token = request.token().map(str::to_owned);
        let body = match request {
            Request::Query(query) if query.index_name.is_some() => self.query_index(*query),
            other => self.tables.respond(other),
        };
        match body {
            Ok(body) => {
                if is_metered {
                    lock(&self.journal).charge(meter::charges(&body, writes, PREFIX));
                }
                // A repeated transaction gets the same response and changes nothing.
                if token.is_none_or(|it| lock(&self.transacted).insert(it)) {
                    lock(&self.journal).record(now, written, &self.tables);
                }
                response(200, body)
            }
            Err(error) => {
                // A failed condition is part of the protocol. Any other error is a mistake in a
                // request, and must fail the test.
                let code = error.error_type();
                let expected = code.ends_with("#ConditionalCheckFailedException")
                    || code.ends_with("#TransactionCanceledException");
                assert!(expected, "the store does not understand: {}", error.to_json());
                response(error.status_code(), error.to_json())
            }
        }
    }
}
