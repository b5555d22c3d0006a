use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::id::UserId;
use domain::random::Random;
use domain::testing::a_user;
use domain::webhook::{EndpointUrl, WebhookDeliveryId};
use publishing::HeldPermits;
use serde_json::json;
use storage::EndpointRecord;
use storage::testing::join;
use tokio::sync::Semaphore;

use super::*;
use crate::endpoint_client::{EndpointClient, Request};
use crate::testing::Harness;

/// Messages of one batch, and environments: `WebhooksFunction` in `template.yaml`.
const BATCH: usize = 10;
const ENVIRONMENTS: usize = 10;

/// Endpoints; those with "slow" in their URL respond when the gate opens.
struct FakeEndpoints {
    clock: Clock,
    gate: Semaphore,
    held: AtomicUsize,
    most_held: AtomicUsize,
    slow_response: EndpointResponse,
    arrived: Mutex<Vec<DateTime<Utc>>>,
}

impl FakeEndpoints {
    fn new(harness: &Harness, slow_response: EndpointResponse) -> Arc<Self> {
        let (held, most_held) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (clock, arrived) = (harness.clock.clone(), Mutex::default());
        Arc::new(Self { clock, gate: Semaphore::new(0), held, most_held, slow_response, arrived })
    }

    fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl EndpointClient for FakeEndpoints {
    async fn call(&self, request: Request) -> EndpointResponse {
        if request.url.to_string().contains("slow") {
            let held = 1 + self.held.fetch_add(1, Ordering::SeqCst);
            self.most_held.fetch_max(held, Ordering::SeqCst);
            self.gate.acquire().await.unwrap().forget();
            self.held.fetch_sub(1, Ordering::SeqCst);
            return self.slow_response.clone();
        }
        self.arrived.lock().unwrap().push(self.clock.now());
        EndpointResponse { status: Some(204), ..EndpointResponse::none("", 5) }
    }
}

async fn endpoint(app: &App, user: UserId, url: &str) -> WebhookEndpoint {
    let (record, _) = app.add(user, EndpointUrl::parse(url).unwrap(), Vec::new(), None).await.unwrap().unwrap();
    let enabled = WebhookEndpoint { is_verified: true, ..record.endpoint.clone() };
    let after = EndpointRecord { endpoint: enabled.clone(), ..record.clone() };
    app.api.store.replace_webhook(&record.endpoint, &after, None).await.unwrap();
    enabled
}

fn take_queued(harness: &Harness) -> VecDeque<WebhookDeliveryId> {
    harness.sent.hints.lock().unwrap().drain(..).map(|it| it.name).collect()
}

async fn wait_until(description: &str, is_met: impl Fn() -> bool) {
    let waiting = tokio::time::timeout(Duration::from_mins(1), async {
        while !is_met() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waiting.await.unwrap_or_else(|_| panic!("never: {description}"));
}

/// The queue has all 320 before the other user's message, and no call to a slow endpoint ends.
#[tokio::test]
async fn slow_endpoints_of_one_user_delay_another_user_at_most_5_seconds() {
    let harness = Harness::new().await;
    let endpoints = FakeEndpoints::new(&harness, EndpointResponse::none("no response within 15 s", 15_000));
    let app = App { calls: endpoints.clone(), ..harness.app.clone() };
    for number in 0..10 {
        endpoint(&app, harness.user.user_id, &format!("https://hooks.example/slow/{number}")).await;
    }
    let other = a_user();
    join(&app.api.store, &other).await;
    endpoint(&app, other.user_id, "https://hooks.example/fast").await;
    for number in 0..32 {
        app.fan_out(&harness.event(number)).await.unwrap();
    }
    let mut event = harness.event(99);
    event.detail["user_id"] = other.user_id.to_string().into();
    app.fan_out(&event).await.unwrap();
    let queue = Arc::new(Mutex::new(take_queued(&harness)));
    assert_eq!(queue.lock().unwrap().len(), 321);

    let began = harness.clock.now();
    for _ in 0..ENVIRONMENTS {
        let (app, queue) = (App { held_permits: HeldPermits::new(Random::Os), ..app.clone() }, queue.clone());
        tokio::spawn(async move {
            loop {
                let batch: Vec<_> = {
                    let mut queue = queue.lock().unwrap();
                    let count = queue.len().min(BATCH);
                    queue.drain(..count).collect()
                };
                if batch.is_empty() {
                    return;
                }
                // An environment takes its next batch when all of this one have ended.
                futures::future::join_all(batch.iter().map(|it| app.send(it))).await;
            }
        });
    }

    wait_until("the other user's delivery", || !endpoints.arrived.lock().unwrap().is_empty()).await;
    let waited = endpoints.arrived.lock().unwrap()[0] - began;
    assert!(waited <= TimeDelta::seconds(5), "arrived after {waited}");
    let held = endpoints.held();
    assert!((1..=ENVIRONMENTS_PER_USER * BATCH).contains(&held), "{held} calls of one user are in flight");
}

#[tokio::test]
async fn endpoint_with_five_timeouts_gets_one_call_at_a_time() {
    let harness = Harness::new().await;
    let times_out = FakeEndpoints::new(&harness, EndpointResponse::none("no response within 15 s", 15_000));
    times_out.gate.add_permits(5);
    let app = App { calls: times_out.clone(), ..harness.app.clone() };
    let slow = endpoint(&app, harness.user.user_id, "https://hooks.example/slow").await;
    let slow_calls = async || harness.app.api.store.in_flight_calls(&endpoint_subject(&slow)).await.unwrap().slow_calls;
    for number in 0..5 {
        app.fan_out(&harness.event(number)).await.unwrap();
    }
    let first = take_queued(&harness);
    futures::future::join_all(first.iter().map(|it| app.send(it))).await;
    assert_eq!(slow_calls().await, 5);

    let responses =
        FakeEndpoints::new(&harness, EndpointResponse { status: Some(200), ..EndpointResponse::none("", 9_000) });
    let app = App { calls: responses.clone(), ..harness.app.clone() };
    take_queued(&harness);
    for number in 5..8 {
        app.fan_out(&harness.event(number)).await.unwrap();
    }
    let next = take_queued(&harness);
    let sends: Vec<_> = next
        .iter()
        .cloned()
        .map(|it| {
            let app = app.clone();
            tokio::spawn(async move { app.send(&it).await.unwrap() })
        })
        .collect();
    wait_until("two are postponed", || harness.sent.hints.lock().unwrap().len() == 2).await;
    wait_until("one is called", || responses.held() == 1).await;
    responses.gate.add_permits(1);
    for send in sends {
        send.await.unwrap();
    }
    assert_eq!((responses.most_held.load(Ordering::SeqCst), slow_calls().await), (1, 0));

    // The postponed deliveries are sent later, concurrently; none of their attempts was counted.
    harness.clock.advance(TimeDelta::minutes(1));
    let postponed = take_queued(&harness);
    for name in &postponed {
        let delivery = app.api.store.webhook_delivery_and_endpoint(name).await.unwrap().0.unwrap();
        assert_eq!((delivery.tries, delivery.postponed), (0, 1));
    }
    responses.gate.add_permits(2);
    futures::future::join_all(postponed.iter().map(|it| app.send(it))).await;
    let ended = app.api.store.webhook_delivery_and_endpoint(&postponed[0]).await.unwrap().0.unwrap();
    assert_eq!(json!(ended.state), json!("delivered"));
}

#[tokio::test]
async fn permits_are_released_after_the_call_or_without_one() {
    let harness = Harness::new().await;
    let webhook = harness.webhook().await;
    let user = harness.user.user_id;
    let in_flight = async || {
        let (of_user, host) = (LimitSubject::user_endpoints(user), LimitSubject::host_endpoints("127.0.0.1"));
        let open = futures::try_join!(
            harness.app.api.store.in_flight_calls(&of_user),
            harness.app.api.store.in_flight_calls(&host),
        );
        let (user, host) = open.unwrap();
        let now = harness.clock.now();
        user.others("another", now) + host.others("another", now)
    };
    harness.app.fan_out(&harness.event(1)).await.unwrap();
    harness.work().await;
    assert_eq!((harness.got().len(), in_flight().await), (1, 0));

    let record = harness.app.api.store.webhooks(user).await.unwrap().remove(0);
    assert_eq!(json!(record.endpoint.webhook_id), webhook["id"]);
    let permits = harness.app.permits(&record.endpoint, InFlightCalls::default(), &InFlightCalls::default()).await;
    assert_eq!(in_flight().await, 2);
    harness.app.release_permits(permits.unwrap().unwrap()).await;
    assert_eq!(in_flight().await, 0);
}
