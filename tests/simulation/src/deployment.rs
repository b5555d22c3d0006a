//! One deployment: the real publishing code on simulated ports, and the functions around it. Each
//! invocation of a function is a separate process.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use chrono::{DateTime, TimeDelta, Utc};
use cloud::bucket::{Bucket, BucketConfig};
use cloud::pictures::NoPictureQueue;
use cloud::queue::DeliveryMessage;
use cloud::seal::{DataKey, Envelope, LocalKeys};
use connecting::CredentialService;
use domain::id::Ids;
use permits::HeldPermits;
use publishing::{ConcurrencyLimits, Publishing, PublishingError};
use scheduling::{PostRules, RollUps, Scheduling};
use tokio::sync::Semaphore;

use crate::bus::SimulatedBus;
use crate::queue::{ReceivedMessage, SimulatedQueue};
use crate::services::Services;
use crate::simulated_platforms::{self, SimulatedPlatforms};
use crate::store::{self, Journal, store};
use crate::webhooks::Webhooks;
use crate::world::{SimulatedWorld, lock};

/// The time limits of the functions in `template.yaml`.
pub(crate) const REQUEST_LIMIT: Duration = Duration::from_secs(29);
const DELIVERY_LIMIT: Duration = Duration::from_mins(1);
const TICK_LIMIT: Duration = Duration::from_secs(55);
const UPKEEP_LIMIT: Duration = Duration::from_mins(4);

/// The periods of the schedules in `template.yaml`.
pub(crate) const TICK: TimeDelta = TimeDelta::minutes(1);
const UPKEEP: TimeDelta = TimeDelta::minutes(5);

/// The batches of a deployment that collects messages: `DeliveryBatch` and the batching window in
/// `template.yaml`.
const COLLECTED: usize = 50;
const WINDOW: Duration = Duration::from_secs(1);

/// Applies without any fault.
const SCHEDULE_JITTER: Duration = Duration::from_secs(59);

/// A tick that is further than this from any due time would find nothing and is skipped. The first
/// value applies while users are active, the second one afterwards: posts that wait for their
/// account wait for hours, and a tick one minute ahead is early enough.
const NOTHING_DUE: TimeDelta = TimeDelta::seconds(240);
const NOTHING_DUE_FOR_HOURS: TimeDelta = TimeDelta::seconds(90);

thread_local! {
    /// Creating an S3 client is slow, and no post of a run has files; so each thread creates one
    /// and never uses it.
    static BUCKET: Bucket = {
        let sdk = SdkConfig::builder().behavior_version(BehaviorVersion::latest()).build();
        Bucket::new(&sdk, &BucketConfig { name: "none".to_owned(), ..BucketConfig::default() })
    };
}

pub(crate) fn prepare_thread() {
    BUCKET.with(|_| ());
    store::prepare_thread();
}

pub(crate) struct Deployment {
    pub(crate) world: Arc<SimulatedWorld>,
    pub(crate) platforms: SimulatedPlatforms,
    pub(crate) queue: Arc<SimulatedQueue>,
    pub(crate) bus: Arc<SimulatedBus>,
    pub(crate) webhooks: Arc<Webhooks>,
    pub(crate) journal: Arc<Mutex<Journal>>,
    /// For the simulation itself, without faults. Each process has separate instances.
    pub(crate) services: Services,
    environments: Arc<Semaphore>,
    collects: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct Fleet {
    pub(crate) limits: ConcurrencyLimits,
    /// Whether it collects messages for a second, for larger batches.
    pub(crate) collects: bool,
}

impl Fleet {
    /// With scarce permits, the default number, or plenty.
    pub(crate) fn drawn(world: &SimulatedWorld) -> Self {
        let variant = world.dice().usize(0..9);
        let environments = [4, 20, 1_000][variant / 3];
        Self { limits: ConcurrencyLimits { environments }, collects: variant.is_multiple_of(3) }
    }
}

impl Deployment {
    pub(crate) fn new(
        world: &Arc<SimulatedWorld>,
        platforms: SimulatedPlatforms,
        due_shards: u32,
        fleet: Fleet,
    ) -> Arc<Self> {
        let (clock, random) = (world.clock(), world.random.clone());
        let (store, journal) = store(world, due_shards);
        let queue = Arc::new(SimulatedQueue::new(Arc::clone(world)));
        let webhooks = Webhooks::new(Arc::clone(world));
        let bus = Arc::new(SimulatedBus::new(Arc::clone(world), Arc::clone(&webhooks)));
        let Fleet { limits, collects } = fleet;
        let environments = Arc::new(Semaphore::new(usize::try_from(limits.environments).unwrap_or(1)));
        let scheduling = Scheduling {
            store: store.clone(),
            bucket: BUCKET.with(Clone::clone),
            pictures: Arc::new(NoPictureQueue),
            queue: queue.clone(),
            events: bus.clone(),
            ids: Ids::new(clock.clone(), random.clone()),
            clock: clock.clone(),
            random: random.clone(),
            roll_ups: RollUps::new(store.clone(), bus.clone(), clock.clone()),
            rules: PostRules { leads: simulated_platforms::lead_times(), ..PostRules::default() },
        };
        let publishing = Publishing {
            store: store.clone(),
            bucket: scheduling.bucket.clone(),
            pictures: Arc::new(NoPictureQueue),
            file_addresses: None,
            credentials: CredentialService {
                store,
                sealer: Envelope::new(LocalKeys::new(DataKey::new([7; 32])), clock.clone()),
                events: bus.clone(),
                clock: clock.clone(),
            },
            queue: queue.clone(),
            clock,
            roll_ups: scheduling.roll_ups.clone(),
            concurrency_limits: limits,
            held_permits: HeldPermits::new(random.clone()),
            random,
        };
        let services = Services { scheduling, publishing };
        Arc::new(Self {
            world: Arc::clone(world),
            platforms,
            queue,
            bus,
            webhooks,
            journal,
            services,
            environments,
            collects,
        })
    }

    pub(crate) fn started(&self) -> Services {
        let Services { scheduling, publishing } = &self.services;
        let Scheduling { store, events, clock, random, .. } = scheduling;
        let roll_ups = RollUps::new(store.clone(), events.clone(), clock.clone());
        Services {
            scheduling: Scheduling {
                ids: Ids::new(clock.clone(), random.clone()),
                roll_ups: roll_ups.clone(),
                ..scheduling.clone()
            },
            publishing: Publishing { roll_ups, held_permits: HeldPermits::new(random.clone()), ..publishing.clone() },
        }
    }

    pub(crate) async fn deliver_one(&self, message: DeliveryMessage) -> Result<(), PublishingError> {
        self.services.publishing.deliver(&self.platforms.platforms(), message).await
    }

    /// Starts the functions that no user calls: deliveries, ticks, upkeep, webhooks, and the tick of
    /// webhooks if a user has one.
    pub(crate) fn start(self: &Arc<Self>) {
        tokio::spawn(Arc::clone(self).deliver());
        tokio::spawn(Arc::clone(self).tick());
        tokio::spawn(Arc::clone(self).run_upkeep());
        tokio::spawn(Arc::clone(self).notify());
        if self.webhooks.is_used() {
            tokio::spawn(Arc::clone(self).run_webhook_ticks());
        }
    }

    async fn notify(self: Arc<Self>) {
        loop {
            let (event, taken) = self.webhooks.take().await;
            let deployment = Arc::clone(&self);
            tokio::spawn(async move {
                let service = deployment.webhooks.service(&deployment.started());
                let work = webhook_delivery::take(&service, event);
                let Some(response) = deployment.world.process("webhooks", REQUEST_LIMIT, work).await else { return };
                let failed =
                    |id: &u64| response.batch_item_failures.iter().any(|it| it.item_identifier == id.to_string());
                let done: Vec<_> = taken.into_iter().filter(|it| !failed(it)).collect();
                deployment.webhooks.delete(&done);
            });
        }
    }

    async fn run_webhook_ticks(self: Arc<Self>) {
        let mut at = self.world.start;
        loop {
            at += TICK;
            self.wake(at).await;
            let missed = self.world.happens(self.world.probabilities.missed_tick_probability);
            if missed || lock(&self.journal).webhook_delivery_due_times().all(|it| self.world.now() < it) {
                continue;
            }
            let service = self.webhooks.service(&self.started());
            let work = async {
                if let Err(error) = service.tick().await {
                    tracing::error!(%error, ?error, "a tick of webhooks failed");
                }
            };
            self.world.process("webhooks", REQUEST_LIMIT, work).await;
        }
    }

    async fn deliver(self: Arc<Self>) {
        loop {
            let environments = Arc::clone(&self.environments);
            let environment = environments.acquire_owned().await.expect("it is never closed");
            let batch = if self.collects { COLLECTED } else { self.world.dice().usize(1..=10) };
            let window = if self.collects { WINDOW } else { Duration::ZERO };
            let taken = self.queue.take(batch, window).await;
            let deployment = Arc::clone(&self);
            tokio::spawn(async move {
                deployment.deliver_batch(taken).await;
                drop(environment);
            });
        }
    }

    async fn deliver_batch(&self, taken: Vec<ReceivedMessage>) {
        let Services { publishing, .. } = self.started();
        let event = event(&taken);
        let work = async { delivery::deliver(&publishing, &self.platforms.platforms(), event).await };
        let Some(response) = self.world.process("delivery", DELIVERY_LIMIT, work).await else { return };
        let failed =
            |it: &ReceivedMessage| response.batch_item_failures.iter().any(|f| f.item_identifier == it.id.to_string());
        let done: Vec<_> = taken.into_iter().filter(|it| !failed(it)).collect();
        self.queue.delete(&done);
    }

    async fn tick(self: Arc<Self>) {
        let (mut at, mut number) = (self.world.start, 0);
        loop {
            at += TICK;
            self.wake(at).await;
            number += 1;
            if self.world.misses_tick(number) {
                self.world.count_fault();
                self.world.note("a tick is missed");
                continue;
            }
            if self.is_idle() {
                continue;
            }
            let deployment = Arc::clone(&self);
            tokio::spawn(async move {
                let services = deployment.started();
                let work = async {
                    if let Err(error) = services.tick().await {
                        tracing::error!(%error, ?error, "a tick failed");
                    }
                };
                deployment.world.process("publisher", TICK_LIMIT, work).await;
            });
        }
    }

    async fn run_upkeep(self: Arc<Self>) {
        let mut at = self.world.start;
        loop {
            at += UPKEEP;
            self.wake(at).await;
            let missed = self.world.happens(self.world.probabilities.missed_tick_probability);
            if missed || !self.needs_refresh() {
                continue;
            }
            let services = self.started();
            let work = async {
                if let Err(error) = services.round(&self.platforms.refreshable()).await {
                    tracing::error!(%error, ?error, "a round of upkeep failed");
                }
            };
            self.world.process("upkeep", UPKEEP_LIMIT, work).await;
        }
    }

    async fn wake(&self, at: DateTime<Utc>) {
        let jitter = if self.world.quiet_at <= at { Duration::ZERO } else { self.world.up_to(SCHEDULE_JITTER) };
        self.world.sleep_until(at + TimeDelta::from_std(jitter).unwrap_or_default()).await;
    }

    fn is_idle(&self) -> bool {
        let soon = self.world.now() + if self.world.is_long_quiet() { NOTHING_DUE_FOR_HOURS } else { NOTHING_DUE };
        let journal = lock(&self.journal);
        journal.deliveries().all(|it| it.due_at.is_none_or(|due_at| soon < due_at.max(it.next_step_at)))
            && journal.outbox_due_times().all(|it| soon < it)
    }

    fn needs_refresh(&self) -> bool {
        let soon = self.world.now() + TimeDelta::seconds(10);
        lock(&self.journal).refreshes().any(|it| it < soon)
    }

    pub(crate) fn is_at_rest(&self) -> bool {
        !self.world.is_busy()
            && !self.platforms.is_busy()
            && self.queue.is_empty()
            && lock(&self.journal).deliveries().all(|it| it.due_at.is_none())
            && lock(&self.journal).outbox_due_times().next().is_none()
            && lock(&self.journal).webhook_delivery_due_times().next().is_none()
            && self.webhooks.is_empty()
    }
}

fn event(taken: &[ReceivedMessage]) -> SqsEvent {
    let record = |it: &ReceivedMessage| {
        let mut record = SqsMessage::default();
        record.message_id = Some(it.id.to_string());
        record.body = Some(serde_json::to_string(&it.message).expect("a message in JSON"));
        record
    };
    let mut event = SqsEvent::default();
    event.records = taken.iter().map(record).collect();
    event
}
