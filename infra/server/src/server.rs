//! The service as it is deployed, on replacements for AWS.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use api::{Api, ClientIp, CommonLayers, TrustedProxy};
use auth::{ClientDocuments, Oidc, SignInMethod};
use aws_config::SdkConfig;
use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::{from_fn, map_request};
use cloud::bucket::{Bucket, BucketConfig};
use cloud::seal::{DataKey, Envelope, LocalKeys};
use connecting::CredentialService;
use connections::StoredVault;
use domain::access_token::TokenLifetime;
use domain::clock::Clock;
use domain::id::Ids;
use domain::media::{FileKey, MediaLimits};
use domain::random::Random;
use domain::token::{random_bytes, random_token};
use egress::fetch::{FETCH_TIMEOUT, Fetcher};
use housekeeping::{Housekeeping, Outbox};
use platforms::{LeadTimesByPlatform, Publish, Registry, Setup};
use publishing::{ConcurrencyLimits, FileAddresses, Planner, Publishing};
use scheduling::{PostRules, RollUps, Scheduling};
use secrecy::ExposeSecret;
use storage::Store;
use tokio::task::JoinHandle;

use crate::clients::Secret;
use crate::data_folder::{DataFolder, FILES};
use crate::database::Stores;
use crate::error::ServerError;
use crate::events::LocalEvents;
use crate::extensions::Extensions;
use crate::health::{self, Health, LastTick};
use crate::metrics::Metrics;
use crate::pictures::LocalPictures;
use crate::queue::{Lanes, LocalQueue};
use crate::settings::{Data, Settings, SignIn};
use crate::sync::WriteSync;
use crate::timers::Timers;
use crate::unread::drain_request_body;
use crate::{clients, queue, request_log, s3, webhook_queue};

/// Nothing is published before [`Server::start`].
pub struct Server {
    pub api: Api,
    pub stores: Stores,
    pub events: LocalEvents,
    pub housekeeping: Housekeeping,
    pub setup: Setup,
    /// Without those of the media store.
    pub routes: Router,
    pub files: Router,
    settings: Settings,
    publishing: Publishing,
    platforms: Registry<dyn Publish>,
    queues: Arc<Lanes>,
    timers: Timers,
}

impl Server {
    /// `secret` is that of the stores' access keys.
    #[expect(clippy::too_many_lines, reason = "a list of everything that the process consists of")]
    pub async fn open(
        settings: Settings,
        extensions: Arc<dyn Extensions>,
        secret: &Secret,
        metrics: Metrics,
    ) -> Result<Self, ServerError> {
        let folder = settings.data.folder().to_owned();
        std::fs::create_dir_all(&folder)?;
        let clock = Clock::System;
        let ids = Ids::new(clock.clone(), Random::Os);
        let lasting = settings.data.lasting();
        let stores = Stores::open(lasting.map(DataFolder::path), secret, &extensions).await?;
        let store = stores.shared();
        if let Some(folder) = lasting {
            folder.check_database(store.planned_until().await?)?;
        }
        let write_sync = if lasting.is_some() { WriteSync::Full } else { WriteSync::None };
        let key = lasting.map_or_else(|| DataKey::new(random_bytes()), |it| it.key().data_key());
        let sealer = Envelope::new(LocalKeys::new(key), clock.clone());
        let bus = LocalEvents::default();
        let queue = LocalQueue::new(clock.clone());
        let queues = queue.lanes();
        let bucket_config = BucketConfig {
            name: s3::BUCKET.to_owned(),
            endpoint: Some(settings.own_origin.clone()),
            public_endpoint: settings.files_origin.clone(),
        };
        let files = clients::config(&settings.own_origin, secret);
        let bucket_of = |config: &SdkConfig| Bucket::new(config, &bucket_config);
        let bucket = bucket_of(&files);
        let vault = Arc::new(StoredVault::new(stores.shared(), sealer.clone(), clock.clone()));
        let budgets = platforms::budgets(&settings.service.platforms)?;
        let apps = Arc::clone(&settings.apps);
        let app = move |name: &str| apps(name);
        let setup = Setup::new(settings.service.platforms.clone(), app, vault, settings.address_policy.clone());
        // New in every run: proves that the function `mcp` forwarded a client's address.
        let assistants_proxy = TrustedProxy::mcp(random_token());
        let api = api(&settings, &store, &ids, &clock, &assistants_proxy);
        let egress = webhook_delivery::egress_clients(settings.address_policy.clone());
        let webhooks =
            webhook_queue::start(stores.for_function("webhooks"), &ids, &clock, sealer.clone(), &bus, egress.clone());
        let file_key = match lasting.map(|it| it.key().derived_text("file addresses")) {
            Some(secret) => FileKey::new(secret.expose_secret()).unwrap_or_else(|_| FileKey::random()),
            None => FileKey::random(),
        };
        let file_addresses =
            FileAddresses { origin: settings.service.origin.clone(), key: file_key.clone(), serves_videos: true };
        let posts_store = stores.for_function("posts");
        let pictures = LocalPictures::working(&bucket);
        let scheduling = Scheduling {
            roll_ups: RollUps::new(posts_store.clone(), Arc::new(bus.clone()), clock.clone()),
            store: posts_store.clone(),
            bucket: bucket.clone(),
            pictures: pictures.clone(),
            queue: queue.clone(),
            events: Arc::new(bus.clone()),
            clock: clock.clone(),
            random: Random::Os,
            ids,
            rules: PostRules {
                leads: LeadTimesByPlatform::default(),
                vocabulary: platforms::vocabulary(),
                budgets,
                ..PostRules::default()
            },
        };
        let credentials = |store: Store| CredentialService {
            store,
            sealer: sealer.clone(),
            events: Arc::new(bus.clone()),
            clock: clock.clone(),
        };
        let delivery_store = stores.for_function("delivery");
        let publishing = Publishing {
            pictures,
            bucket: bucket.clone(),
            file_addresses: Some(file_addresses),
            credentials: credentials(delivery_store.clone()),
            queue: queue.clone(),
            clock: clock.clone(),
            random: Random::Os,
            roll_ups: RollUps::new(delivery_store.clone(), Arc::new(bus.clone()), clock.clone()),
            store: delivery_store,
            concurrency_limits: ConcurrencyLimits::default(),
            held_permits: permits::HeldPermits::new(Random::Os),
        };
        let planner = Planner {
            store: store.clone(),
            queue,
            clock: clock.clone(),
            concurrency_limits: ConcurrencyLimits::default(),
        };
        let outbox = Outbox { store: store.clone(), events: Arc::new(bus.clone()), clock: clock.clone() };
        let housekeeping = Housekeeping {
            store: store.clone(),
            bucket,
            sealer: sealer.clone(),
            clock: clock.clone(),
            media_limits: settings.service.media_limits,
        };
        let timers = Timers {
            planner,
            outbox,
            housekeeping: housekeeping.clone(),
            credentials: credentials(store),
            renewable: extensions.refreshing(&setup)?,
            last_tick: LastTick::default(),
            metrics: metrics.clone(),
        };
        let health = health::router(Health {
            store: stores.shared(),
            clock: Clock::System,
            last_tick: timers.last_tick.clone(),
            metrics,
            queues: Arc::clone(&queues),
            folder: lasting.map(|it| it.path().to_owned()),
            metrics_token: settings.service.metrics_token.clone(),
        });
        let method = match &settings.sign_in {
            SignIn::Oidc(config) => SignInMethod::Oidc(Oidc::new(config.clone(), &api.origin)),
            SignIn::Links(links) => SignInMethod::Links(Arc::clone(links)),
        };
        let api_of = |function| Api { store: stores.for_function(function), ..api.clone() };
        let functions = Router::new()
            .merge(auth::router(auth::App {
                api: api_of("auth"),
                method,
                clients: ClientDocuments::new(settings.address_policy.clone()),
                sign_up: settings.service.sign_up.clone(),
            }))
            .merge(connections::router(connections::App {
                api: api_of("connections"),
                platforms: extensions.connecting(&setup)?,
                vocabulary: platforms::vocabulary(),
                sealer,
                events: Arc::new(bus.clone()),
                plans: settings.service.plans.clone(),
                guests: settings.service.guests,
                connect_links: settings.service.connect_links.clone(),
            }))
            .merge(media::router(media::App {
                api: api_of("media"),
                bucket: bucket_of(&extensions.files_config("media", files)),
                fetcher: Fetcher::new(settings.address_policy.clone(), FETCH_TIMEOUT),
                limits: settings.service.media_limits,
                plans: settings.service.plans.clone(),
                file_key: Some(file_key),
                max_file_bytes: u64::MAX,
            }))
            .merge(posts::router(posts::App { api: Api { store: posts_store, ..api.clone() }, scheduling }))
            .merge(webhooks::router(webhooks::App { api: api_of("webhooks"), egress, webhooks }));
        let assistants = mcp::App::new(assistants_config(&api, &settings, assistants_proxy))?;
        Ok(Self {
            routes: api::finish(functions, api.clone()).merge(mcp::router(assistants)).merge(health),
            files: s3::router(&folder.join(FILES), secret, write_sync, largest_file(&settings.service.media_limits))?,
            platforms: extensions.publishing(&setup)?,
            events: bus,
            api,
            stores,
            housekeeping,
            setup,
            settings,
            publishing,
            queues,
            timers,
        })
    }

    /// Starts publishing, and everything that a deployment runs by schedules. The tasks run until the
    /// process ends.
    pub fn start(self) -> Started {
        let work = tokio::spawn(queue::work(self.publishing, self.platforms, Arc::clone(&self.queues)));
        let [ticks, upkeep] = self.timers.start(self.settings.data.clone());
        Started { queues: self.queues, tasks: vec![work, ticks, upkeep], data: self.settings.data }
    }
}

pub struct Started {
    queues: Arc<Lanes>,
    /// They end only by a panic.
    tasks: Vec<JoinHandle<()>>,
    data: Data,
}

impl Started {
    pub async fn ended(&mut self) {
        let (ended, ..) = futures::future::select_all(&mut self.tasks).await;
        if let Err(error) = ended {
            tracing::error!(%error, "a task of the service ended");
        }
    }

    /// Begins no other delivery, and waits until those in progress have ended, at most this long. A
    /// delivery that is cut off continues after the next start.
    pub async fn stop(self, limit: Duration) {
        self.queues.close();
        let ended = async {
            while self.queues.sizes().1 != 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        if tokio::time::timeout(limit, ended).await.is_err() {
            tracing::warn!("deliveries in progress were cut off; they continue after the next start");
        }
        // What was cut off may still write. The folder is unlocked when the process ends.
        std::mem::forget(self.data);
    }
}

fn largest_file(limits: &MediaLimits) -> u64 {
    limits.image.max(limits.gif).max(limits.video).max(limits.document)
}

fn api(settings: &Settings, store: &Store, ids: &Ids, clock: &Clock, assistants: &TrustedProxy) -> Api {
    Api {
        store: store.clone(),
        clock: clock.clone(),
        random: Random::Os,
        ids: ids.clone(),
        limits: settings.service.limits,
        origin: settings.service.origin.clone(),
        token_lifetime: TokenLifetime::default(),
        allowed_origins: settings.service.allowed_origins.clone(),
        proxies: settings.service.proxies.iter().chain([assistants]).cloned().collect(),
    }
}

fn assistants_config(api: &Api, settings: &Settings, proof: TrustedProxy) -> mcp::config::Config {
    mcp::config::Config {
        origin: api.origin.clone(),
        api_origin: settings.own_origin.clone(),
        proof,
        front: CommonLayers { proxies: settings.service.proxies.clone(), ..CommonLayers::from(api) },
        allowed_origins: settings.service.allowed_origins.clone(),
    }
}

/// As the gateway does in a deployment. Also logs the requests.
pub fn with_addresses(router: Router) -> Router {
    router.layer(map_request(with_client_ip)).layer(from_fn(drain_request_body)).layer(from_fn(request_log::log))
}

async fn with_client_ip(mut request: Request) -> Request {
    let address = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|it| it.0.ip());
    request.extensions_mut().insert(ClientIp(address.unwrap_or(IpAddr::from([127, 0, 0, 1]))));
    request
}
