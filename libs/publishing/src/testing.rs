//! Publishing on an in-process store, with a scripted platform and a clock that tests advance.

#![allow(clippy::unwrap_used, clippy::return_self_not_must_use, reason = "a panic here is the failing assertion")]

mod fake_platform;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use aws_config::{BehaviorVersion, SdkConfig};
use chrono::{DateTime, TimeDelta, Utc};
use cloud::bucket::{Bucket, BucketConfig};
use cloud::events::{EventBus, EventError};
use cloud::pictures::NoPictureQueue;
use cloud::queue::{DeliveryMessage, Outgoing, Queue, QueueError};
use cloud::seal::{DataKey, Envelope, LocalKeys, Sealer};
use domain::clock::Clock;
use domain::connection::Connection;
use domain::delivery::{Delivery, PLAN_WINDOW};
use domain::event::Event;
use domain::id::Ids;
use domain::listing::Counts;
use domain::options::{OptionKind, OptionSpec, PlatformOptions, RequestedOptions};
use domain::post::{Changes, FIRST_COMMENT, NewPost, NewSegment, NewTarget, Post};
use domain::random::Random;
use domain::testing::{a_connection, a_user, noon, text};
use domain::user::User;
use platforms::{Credentials, LeadTimes, LeadTimesByPlatform, Platform, Publish, Registry};
use scheduling::{Changed, Created, PostRules, RollUps, Scheduling};
use secrecy::ExposeSecret;
use storage::testing::{connect, join, store};
use storage::{Connected, ConnectionRecord, CredentialsRecord, DueEntry, Store, WriteOutcome, grant_context};

pub use self::fake_platform::{FakePlatform, PublishFault, RefreshFault, Registered, SETTLES, a_public_post};
use crate::{ConcurrencyLimits, HeldPermits, Planner, Publishing};
use connecting::CredentialService;

pub fn later(seconds: i64) -> DateTime<Utc> {
    noon() + TimeDelta::seconds(seconds)
}

/// Each message has the time when it becomes visible.
pub struct TestQueue {
    clock: Clock,
    waiting: Mutex<Vec<(DateTime<Utc>, DeliveryMessage)>>,
    pub down: AtomicBool,
}

impl TestQueue {
    pub fn take(&self) -> Vec<(DateTime<Utc>, DeliveryMessage)> {
        std::mem::take(&mut *self.waiting.lock().unwrap())
    }
}

#[async_trait]
impl Queue for TestQueue {
    async fn send(&self, messages: &[Outgoing]) -> Result<(), QueueError> {
        if self.down.load(Ordering::SeqCst) {
            return Err(QueueError("down".to_owned()));
        }
        let out =
            |it: &Outgoing| (self.clock.now() + TimeDelta::seconds(it.delay_s(self.clock.now()).into()), it.message);
        self.waiting.lock().unwrap().extend(messages.iter().map(out));
        Ok(())
    }
}

#[derive(Default)]
pub struct TestEvents {
    seen: Mutex<Vec<Event>>,
    pub down: AtomicBool,
}

impl TestEvents {
    pub fn types(&self) -> Vec<&'static str> {
        self.seen.lock().unwrap().iter().map(|it| it.detail_type).collect()
    }

    pub fn all(&self) -> Vec<Event> {
        self.seen.lock().unwrap().clone()
    }
}

#[async_trait]
impl EventBus for TestEvents {
    async fn put(&self, events: &[Event]) -> Result<(), EventError> {
        if self.down.load(Ordering::SeqCst) {
            return Err(EventError("down".to_owned()));
        }
        self.seen.lock().unwrap().extend(events.iter().cloned());
        Ok(())
    }
}

pub struct PublishingHarness {
    pub scheduling: Scheduling,
    pub publishing: Publishing,
    pub platforms: Registry<dyn Publish>,
    pub refreshable: Registry<dyn Platform>,
    pub store: Store,
    pub clock: Clock,
    pub fake: Arc<FakePlatform>,
    pub queue: Arc<TestQueue>,
    pub events: Arc<TestEvents>,
    pub user: User,
    pub accounts: Vec<Connection>,
    pub sealer: Arc<dyn Sealer>,
    next_tick: Mutex<DateTime<Utc>>,
}

pub const TICK: TimeDelta = TimeDelta::seconds(60);

fn registries(platform: &Arc<FakePlatform>) -> (Registry<dyn Publish>, Registry<dyn Platform>) {
    let adapter = || Box::new(Registered(Arc::clone(platform)));
    (Registry::from_adapters(vec![adapter()]), Registry::from_adapters(vec![adapter()]))
}

const OPTIONS: &[OptionSpec] = &[OptionSpec::new(FIRST_COMMENT, OptionKind::Text { max: 100 }, "The first comment.")];

fn leads(platform: &FakePlatform) -> LeadTimesByPlatform {
    LeadTimesByPlatform::new([(platform.name(), LeadTimes { always: platform.lead, ..LeadTimes::NONE })])
}

impl PublishingHarness {
    /// At noon, with one account.
    pub async fn new() -> Self {
        Self::with(1, FakePlatform::default()).await
    }

    pub async fn with(accounts: u32, platform: FakePlatform) -> Self {
        let (store, clock, platform) = (store().await, Clock::manual(noon()), Arc::new(platform));
        let queue = TestQueue { clock: clock.clone(), waiting: Mutex::default(), down: AtomicBool::new(false) };
        let (queue, events) = (Arc::new(queue), Arc::new(TestEvents::default()));
        let sealer: Arc<dyn Sealer> = Envelope::new(LocalKeys::new(DataKey::new([7; 32])), clock.clone());
        let sdk = SdkConfig::builder().behavior_version(BehaviorVersion::latest()).build();
        let (platforms, refreshable) = registries(&platform);
        let scheduling = Scheduling {
            store: store.clone(),
            bucket: Bucket::new(&sdk, &BucketConfig { name: "none".to_owned(), ..BucketConfig::default() }),
            pictures: Arc::new(NoPictureQueue),
            queue: queue.clone(),
            events: events.clone(),
            clock: clock.clone(),
            random: Random::Os,
            ids: Ids::new(clock.clone(), Random::Os),
            roll_ups: RollUps::new(store.clone(), events.clone(), clock.clone()),
            rules: PostRules {
                leads: leads(&platform),
                vocabulary: PlatformOptions::new([(platform.name(), OPTIONS)]),
                ..PostRules::default()
            },
        };
        let publishing = Publishing {
            store: store.clone(),
            bucket: scheduling.bucket.clone(),
            pictures: Arc::new(NoPictureQueue),
            file_addresses: None,
            credentials: CredentialService {
                store: store.clone(),
                sealer: Arc::clone(&sealer),
                events: events.clone(),
                clock: clock.clone(),
            },
            queue: queue.clone(),
            clock: clock.clone(),
            random: Random::Os,
            roll_ups: scheduling.roll_ups.clone(),
            concurrency_limits: ConcurrencyLimits::default(),
            held_permits: HeldPermits::new(Random::Os),
        };
        let user = a_user();
        join(&store, &user).await;
        let next_tick = Mutex::new(noon() + TICK / 2);
        let mut harness = Self {
            scheduling,
            publishing,
            platforms,
            refreshable,
            store,
            clock,
            fake: platform,
            queue,
            events,
            user,
            accounts: Vec::new(),
            sealer,
            next_tick,
        };
        for index in 0..accounts {
            let mut account = a_connection(&harness.user);
            account.connection_id = harness.scheduling.ids.fresh();
            account.profile.account_id = index.to_string();
            account.rules = account.rules.with_threads();
            harness.connect(&account, Self::credentials(None), None).await;
            harness.accounts.push(account);
        }
        harness
    }

    pub fn be(&mut self, platform: FakePlatform) {
        self.fake = Arc::new(platform);
        (self.platforms, self.refreshable) = registries(&self.fake);
        self.scheduling.rules.leads = leads(&self.fake);
    }

    pub fn planner(&self) -> Planner {
        let Publishing { store, queue, clock, concurrency_limits, .. } = self.publishing.clone();
        Planner { store, queue, clock, concurrency_limits }
    }

    /// Credentials that expire can be refreshed.
    pub fn credentials(expires_at: Option<DateTime<Utc>>) -> Credentials {
        Credentials {
            refresh_token: expires_at.map(|_| "refresh".into()),
            expires_at,
            ..Credentials::new("first".into())
        }
    }

    pub async fn connect(&self, account: &Connection, credentials: Credentials, refresh_at: Option<DateTime<Utc>>) {
        let context = grant_context(account.user_id, &account.account());
        let sealed = self.sealer.seal(credentials.to_bytes().expose_secret().as_bytes(), &context).await.unwrap();
        let account = Connection { token_expires_at: credentials.expires_at, ..account.clone() };
        let connected = connect(&self.store, &account, &sealed, refresh_at).await;
        assert_eq!(connected, Connected::Done { left: Vec::new() });
    }

    pub async fn reconnect(&self, account: usize, credentials: Credentials, refresh_at: Option<DateTime<Utc>>) {
        self.connect(&self.accounts[account], credentials, refresh_at).await;
    }

    pub async fn connection(&self, account: usize) -> ConnectionRecord {
        let id = self.accounts[account].connection_id;
        self.store.connection(self.user.user_id, id).await.unwrap().unwrap()
    }

    pub async fn grant(&self, account: usize) -> CredentialsRecord {
        self.store.connection_credentials(&self.connection(account).await).await.unwrap().unwrap()
    }

    pub async fn stored_credentials(&self, account: usize) -> Credentials {
        let record = self.grant(account).await;
        Credentials::from_bytes(&self.sealer.open(&record.sealed, &record.context()).await.unwrap()).unwrap()
    }

    pub async fn schedule(&self, content: &str, at: DateTime<Utc>) -> Post {
        self.schedule_thread(&[content], None, at).await
    }

    /// With a first comment, to every account.
    pub async fn schedule_thread(&self, texts: &[&str], comment: Option<&str>, at: DateTime<Utc>) -> Post {
        let options = comment.map(|it| (FIRST_COMMENT.to_owned(), it.into())).into_iter().collect();
        let options = RequestedOptions { said: options, ..RequestedOptions::default() };
        let target = |(index, it): (usize, &Connection)| NewTarget {
            options: options.clone(),
            ..NewTarget::new(index, it.connection_id)
        };
        let reply = |(index, it): (usize, &&str)| NewSegment {
            field: format!("thread.{index}"),
            text: text(it),
            media: Vec::new(),
        };
        let request = NewPost {
            targets: self.accounts.iter().enumerate().map(target).collect(),
            scheduled_at: Some(at),
            thread: texts[1..].iter().enumerate().map(reply).collect(),
            ..NewPost::new(text(texts[0]))
        };
        match self.scheduling.create_post(self.user.user_id, request, None).await.unwrap() {
            Created::New(post) => *post,
            other => panic!("{other:?}"),
        }
    }

    pub async fn change(&self, post: &Post, change: Changes) -> Changed {
        let post = self.post(post).await;
        self.scheduling.change_post(self.user.user_id, post, change).await.unwrap()
    }

    pub async fn rewrite(&self, post: &Post, content: &str) -> Changed {
        self.change(post, Changes { text: Some(text(content)), ..Changes::default() }).await
    }

    pub async fn reschedule(&self, post: &Post, at: Option<DateTime<Utc>>) -> Changed {
        self.change(post, Changes { scheduled_at: Some(at), ..Changes::default() }).await
    }

    pub async fn post(&self, post: &Post) -> Post {
        self.store.post(post.user_id, post.post_id).await.unwrap().unwrap()
    }

    pub async fn deliveries(&self, post: &Post) -> Vec<Delivery> {
        self.store.deliveries(post.user_id, post.post_id).await.unwrap()
    }

    pub async fn delivery(&self, post: &Post) -> Delivery {
        let mut deliveries = self.deliveries(post).await;
        assert_eq!(deliveries.len(), 1);
        deliveries.remove(0)
    }

    /// Writes a delivery in the state that a crashed worker leaves.
    pub async fn leave(&self, before: &Delivery, after: Delivery) -> Delivery {
        let after = after.with_write_id(before.write_id + 1);
        assert_eq!(self.store.replace_delivery(before, &after).await.unwrap(), WriteOutcome::Applied);
        after
    }

    pub async fn counts(&self) -> Counts {
        self.store.load_post_context(self.user.user_id, [], [], None, noon()).await.unwrap().counts
    }

    pub async fn pending(&self, account: usize) -> u32 {
        self.connection(account).await.connection.pending
    }

    pub async fn due(&self) -> Vec<DueEntry> {
        let mut due = Vec::new();
        for shard in 0..self.store.due_shards() {
            let all_time = (DateTime::UNIX_EPOCH, noon() + TimeDelta::days(99));
            due.extend(self.store.due_deliveries(shard, all_time, None, 100).await.unwrap().entries);
        }
        due
    }

    pub async fn deliver(&self, message: DeliveryMessage, workers: usize) {
        let deliver = |_| {
            let (publishing, platforms) = (self.publishing.clone(), self.platforms.clone());
            tokio::spawn(async move { publishing.deliver(&platforms, message).await })
        };
        let workers: Vec<_> = (0..workers).map(deliver).collect();
        for worker in workers {
            worker.await.unwrap().unwrap();
        }
    }

    /// Advances the time: messages become visible and the sweep runs.
    pub async fn live(&self, until: DateTime<Utc>) {
        loop {
            let tick = *self.next_tick.lock().unwrap();
            let message = self.queue.waiting.lock().unwrap().iter().map(|it| it.0).min();
            let at = message.map_or(tick, |it| it.min(tick));
            if until < at {
                break;
            }
            self.clock.skip_to(at);
            if message.is_some_and(|it| it <= at) {
                self.take_first().await;
            } else {
                if let Err(error) = self.planner().plan().await {
                    assert!(self.queue.down.load(Ordering::SeqCst), "{error}");
                }
                let next = self.due().await.iter().map(|it| it.due_at - PLAN_WINDOW).min().unwrap_or(until);
                let ticks = (next.max(at + TICK) - at).num_milliseconds().div_euclid(TICK.num_milliseconds());
                *self.next_tick.lock().unwrap() = at + TICK * i32::try_from(ticks).unwrap();
            }
        }
        self.clock.skip_to(until);
    }

    /// A message whose delivery fails is delivered again, as a queue does.
    async fn take_first(&self) {
        let (_, message) = {
            let mut waiting = self.queue.waiting.lock().unwrap();
            let first = (0..waiting.len()).min_by_key(|it| waiting[*it].0).unwrap();
            waiting.remove(first)
        };
        if self.publishing.deliver(&self.platforms, message).await.is_err() {
            let again_at = self.clock.now() + TimeDelta::seconds(10);
            self.queue.waiting.lock().unwrap().push((again_at, message));
        }
    }
}
