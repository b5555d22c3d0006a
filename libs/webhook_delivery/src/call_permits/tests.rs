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
use domain::webhook::{EndpointUrl, WebhookDeliveryId, WebhookDeliveryStatus};
use permits::HeldPermits;
use storage::EndpointRecord;
use storage::testing::join;
use tokio::sync::Semaphore;

use super::*;
use crate::endpoint_client::{EndpointClient, Request};
use crate::testing::WebhookHarness;

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
    fn new(harness: &WebhookHarness, slow_response: EndpointResponse) -> Arc<Self> {
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

async fn endpoint(service: &WebhookService, user: UserId, url: &str) -> WebhookEndpoint {
    let url = EndpointUrl::parse(url).unwrap();
    let (record, _) = service.create_endpoint(user, None, url, Vec::new(), None).await.unwrap().unwrap();
    let enabled = WebhookEndpoint { is_verified: true, ..record.endpoint.clone() };
    let after = EndpointRecord { endpoint: enabled.clone(), ..record.clone() };
    service.store.replace_webhook(&record.endpoint, &after, None).await.unwrap();
    enabled
}

fn take_queued(harness: &WebhookHarness) -> VecDeque<WebhookDeliveryId> {
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
    let harness = WebhookHarness::new().await;
    let endpoints = FakeEndpoints::new(&harness, EndpointResponse::none("no response within 15 s", 15_000));
    let service = WebhookService { client: endpoints.clone(), ..harness.service.clone() };
    for number in 0..10 {
        endpoint(&service, harness.user.user_id, &format!("https://hooks.example/slow/{number}")).await;
    }
    let other = a_user();
    join(&service.store, &other).await;
    endpoint(&service, other.user_id, "https://hooks.example/fast").await;
    for number in 0..32 {
        service.fan_out(&harness.event(number)).await.unwrap();
    }
    let mut event = harness.event(99);
    event.detail["user_id"] = other.user_id.to_string().into();
    service.fan_out(&event).await.unwrap();
    let queue = Arc::new(Mutex::new(take_queued(&harness)));
    assert_eq!(queue.lock().unwrap().len(), 321);

    let began = harness.clock.now();
    for _ in 0..ENVIRONMENTS {
        let held_permits = HeldPermits::new(Random::Os);
        let (service, queue) = (WebhookService { held_permits, ..service.clone() }, queue.clone());
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
                futures::future::join_all(batch.iter().map(|it| service.send(it))).await;
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
    let harness = WebhookHarness::new().await;
    let times_out = FakeEndpoints::new(&harness, EndpointResponse::none("no response within 15 s", 15_000));
    times_out.gate.add_permits(5);
    let service = WebhookService { client: times_out.clone(), ..harness.service.clone() };
    let slow = endpoint(&service, harness.user.user_id, "https://hooks.example/slow").await;
    let slow_calls = async || harness.service.store.in_flight_calls(&endpoint_subject(&slow)).await.unwrap().slow_calls;
    for number in 0..5 {
        service.fan_out(&harness.event(number)).await.unwrap();
    }
    let first = take_queued(&harness);
    futures::future::join_all(first.iter().map(|it| service.send(it))).await;
    assert_eq!(slow_calls().await, 5);

    let responses =
        FakeEndpoints::new(&harness, EndpointResponse { status: Some(200), ..EndpointResponse::none("", 9_000) });
    let service = WebhookService { client: responses.clone(), ..harness.service.clone() };
    take_queued(&harness);
    for number in 5..8 {
        service.fan_out(&harness.event(number)).await.unwrap();
    }
    let next = take_queued(&harness);
    let sends: Vec<_> = next
        .iter()
        .cloned()
        .map(|it| {
            let service = service.clone();
            tokio::spawn(async move { service.send(&it).await.unwrap() })
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
        let delivery = service.store.webhook_delivery_and_endpoint(name).await.unwrap().0.unwrap();
        assert_eq!((delivery.tries, delivery.postponed), (0, 1));
    }
    responses.gate.add_permits(2);
    futures::future::join_all(postponed.iter().map(|it| service.send(it))).await;
    let ended = service.store.webhook_delivery_and_endpoint(&postponed[0]).await.unwrap().0.unwrap();
    assert_eq!(ended.state, WebhookDeliveryStatus::Delivered);
}

#[tokio::test]
async fn permits_are_released_after_the_call_or_without_one() {
    let harness = WebhookHarness::new().await;
    let (endpoint, _) = harness.enabled_endpoint().await;
    let user = harness.user.user_id;
    let in_flight = async || {
        let (of_user, host) = (LimitSubject::user_endpoints(user), LimitSubject::host_endpoints("127.0.0.1"));
        let open = futures::try_join!(
            harness.service.store.in_flight_calls(&of_user),
            harness.service.store.in_flight_calls(&host),
        );
        let (user, host) = open.unwrap();
        let now = harness.clock.now();
        user.others("another", now) + host.others("another", now)
    };
    harness.service.fan_out(&harness.event(1)).await.unwrap();
    harness.work().await;
    assert_eq!((harness.got().len(), in_flight().await), (1, 0));

    let permits = harness.service.permits(&endpoint, InFlightCalls::default(), &InFlightCalls::default()).await;
    assert_eq!(in_flight().await, 2);
    harness.service.release_permits(permits.unwrap().unwrap()).await;
    assert_eq!(in_flight().await, 0);
}
