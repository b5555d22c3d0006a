use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::id::UserId;
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

/// Endpoints of which those with "slow" in their address answer when the gate opens.
struct Endpoints {
    clock: Clock,
    gate: Semaphore,
    held: AtomicUsize,
    most_held: AtomicUsize,
    slow_answer: EndpointResponse,
    arrived: Mutex<Vec<DateTime<Utc>>>,
}

impl Endpoints {
    fn new(world: &Harness, slow_answer: EndpointResponse) -> Arc<Self> {
        let (held, most_held) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (clock, arrived) = (world.clock.clone(), Mutex::default());
        Arc::new(Self { clock, gate: Semaphore::new(0), held, most_held, slow_answer, arrived })
    }

    fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl EndpointClient for Endpoints {
    async fn call(&self, request: Request) -> EndpointResponse {
        if request.url.to_string().contains("slow") {
            let held = 1 + self.held.fetch_add(1, Ordering::SeqCst);
            self.most_held.fetch_max(held, Ordering::SeqCst);
            self.gate.acquire().await.unwrap().forget();
            self.held.fetch_sub(1, Ordering::SeqCst);
            return self.slow_answer.clone();
        }
        self.arrived.lock().unwrap().push(self.clock.now());
        EndpointResponse { status: Some(204), ..EndpointResponse::none("", 5) }
    }
}

/// An enabled endpoint.
async fn endpoint(app: &App, user: UserId, url: &str) -> WebhookEndpoint {
    let (record, _) = app.add(user, EndpointUrl::parse(url).unwrap(), Vec::new(), None).await.unwrap().unwrap();
    let enabled = WebhookEndpoint { is_verified: true, ..record.endpoint.clone() };
    let after = EndpointRecord { endpoint: enabled.clone(), ..record.clone() };
    app.api.store.swap_webhook(&record.endpoint, &after, None).await.unwrap();
    enabled
}

fn taken(world: &Harness) -> VecDeque<WebhookDeliveryId> {
    world.sent.hints.lock().unwrap().drain(..).map(|it| it.name).collect()
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waited = tokio::time::timeout(Duration::from_mins(1), async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// The queue brings all 320 before the other user's message, and no call to a slow endpoint ends.
#[tokio::test]
async fn another_users_delivery_arrives_within_five_seconds_beside_320_to_slow_endpoints() {
    let world = Harness::new().await;
    let endpoints = Endpoints::new(&world, EndpointResponse::none("no answer within 15 s", 15_000));
    let app = App { calls: endpoints.clone(), ..world.app.clone() };
    for number in 0..10 {
        endpoint(&app, world.user.user_id, &format!("https://hooks.example/slow/{number}")).await;
    }
    let other = a_user();
    join(&app.api.store, &other).await;
    endpoint(&app, other.user_id, "https://hooks.example/fast").await;
    for number in 0..32 {
        app.fan_out(&world.event(number)).await.unwrap();
    }
    let mut event = world.event(99);
    event.detail["user_id"] = other.user_id.to_string().into();
    app.fan_out(&event).await.unwrap();
    let queue = Arc::new(Mutex::new(taken(&world)));
    assert_eq!(queue.lock().unwrap().len(), 321);

    let began = world.clock.now();
    for _ in 0..ENVIRONMENTS {
        let (app, queue) = (App { held_permits: HeldPermits::default(), ..app.clone() }, queue.clone());
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

    until("the other user's delivery", || !endpoints.arrived.lock().unwrap().is_empty()).await;
    let waited = endpoints.arrived.lock().unwrap()[0] - began;
    assert!(waited <= TimeDelta::seconds(5), "it came after {waited}");
    let held = endpoints.held();
    assert!((1..=ENVIRONMENTS_PER_USER * BATCH).contains(&held), "{held} calls of one user are open");
}

#[tokio::test]
async fn after_five_time_outs_in_a_row_an_endpoint_gets_one_call_at_a_time_until_it_answers() {
    let world = Harness::new().await;
    let times_out = Endpoints::new(&world, EndpointResponse::none("no answer within 15 s", 15_000));
    times_out.gate.add_permits(5);
    let app = App { calls: times_out.clone(), ..world.app.clone() };
    let slow = endpoint(&app, world.user.user_id, "https://hooks.example/slow").await;
    let strikes = async || world.app.api.store.in_flight_calls(&calls_to(&slow)).await.unwrap().slow_calls;
    for number in 0..5 {
        app.fan_out(&world.event(number)).await.unwrap();
    }
    let first = taken(&world);
    futures::future::join_all(first.iter().map(|it| app.send(it))).await;
    assert_eq!(strikes().await, 5);

    let answers = Endpoints::new(&world, EndpointResponse { status: Some(200), ..EndpointResponse::none("", 9_000) });
    let app = App { calls: answers.clone(), ..world.app.clone() };
    taken(&world);
    for number in 5..8 {
        app.fan_out(&world.event(number)).await.unwrap();
    }
    let next = taken(&world);
    let sends: Vec<_> = next
        .iter()
        .cloned()
        .map(|it| {
            let app = app.clone();
            tokio::spawn(async move { app.send(&it).await.unwrap() })
        })
        .collect();
    until("two are postponed", || world.sent.hints.lock().unwrap().len() == 2).await;
    until("one is called", || answers.held() == 1).await;
    answers.gate.add_permits(1);
    for send in sends {
        send.await.unwrap();
    }
    assert_eq!((answers.most_held.load(Ordering::SeqCst), strikes().await), (1, 0));

    // The postponed ones come later, at the same time, and no attempt of theirs was counted.
    world.clock.advance(TimeDelta::minutes(1));
    let postponed = taken(&world);
    for name in &postponed {
        let notice = app.api.store.webhook_delivery_and_endpoint(name).await.unwrap().0.unwrap();
        assert_eq!((notice.tries, notice.postponed), (0, 1));
    }
    answers.gate.add_permits(2);
    futures::future::join_all(postponed.iter().map(|it| app.send(it))).await;
    let ended = app.api.store.webhook_delivery_and_endpoint(&postponed[0]).await.unwrap().0.unwrap();
    assert_eq!(json!(ended.state), json!("delivered"));
}

#[tokio::test]
async fn permits_are_returned_when_a_call_ends_and_when_none_is_made() {
    let world = Harness::new().await;
    let webhook = world.webhook().await;
    let user = world.user.user_id;
    let open = async || {
        let (of_user, host) = (LimitSubject::endpoints_of(user), LimitSubject::endpoints_on("127.0.0.1"));
        let open = futures::try_join!(
            world.app.api.store.in_flight_calls(&of_user),
            world.app.api.store.in_flight_calls(&host),
        );
        let (user, host) = open.unwrap();
        let now = world.clock.now();
        user.others("another", now) + host.others("another", now)
    };
    world.app.fan_out(&world.event(1)).await.unwrap();
    world.work().await;
    assert_eq!((world.got().len(), open().await), (1, 0));

    let record = world.app.api.store.webhooks(user).await.unwrap().remove(0);
    assert_eq!(json!(record.endpoint.webhook_id), webhook["id"]);
    let permits = world.app.permits(&record.endpoint, InFlightCalls::default(), &InFlightCalls::default()).await;
    assert_eq!(open().await, 2);
    world.app.return_permits(permits.unwrap().unwrap()).await;
    assert_eq!(open().await, 0);
}
