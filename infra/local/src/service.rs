//! Everything at one origin: the service as it is deployed, and what the cloud
//! gives it there.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use api::{Api, ClientIp, RateLimits};
use auth::{Oidc, OidcSettings, SignUp};
use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::map_request;
use chrono::TimeDelta;
use cloud::bucket::{Bucket, BucketSettings};
use cloud::fetch::{AddressPolicy, FETCH_TIMEOUT, Fetcher};
use cloud::seal::{Envelope, LocalKeys};
use connections::StoredVault;
use domain::clock::Clock;
use domain::id::Ids;
use domain::media::MediaLimits;
use domain::plan::Plans;
use domain::user::User;
use platforms::{AppCredentials, AppSource, Leads, Platform, Publish, Registry, Setup};
use publishing::{Publishing, RollUps};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::call_log::CallLog;
use crate::deliveries::{self, Deliveries, History};
use crate::error::LocalError;
use crate::events::LocalEvents;
use crate::meter::Meter;
use crate::options::Options;
use crate::queue::LocalQueue;
use crate::sandbox::{self, Sandbox};
use crate::{call_log, clients, demo, dynamodb, events, issuer, queue, s3, sealing_key};

/// How often the sweep looks; a minute in the cloud, where each look is paid.
const TICK: Duration = Duration::from_secs(5);

/// How often upkeep looks.
const UPKEEP: Duration = Duration::from_mins(1);

/// The local stack, running.
#[derive(Debug)]
pub struct Running {
    /// Such as `http://localhost:3000`.
    pub origin: String,
    /// Where the API is.
    pub base_url: String,
    /// A token of the demo user.
    pub token: String,
    /// The demo user.
    pub user: User,
    // Removed, with all data in it, when the process ends.
    _ephemeral: Option<TempDir>,
}

/// Starts everything. It runs in tasks of this runtime until the process ends.
pub async fn start(options: &Options) -> Result<Running, LocalError> {
    let bound = TcpListener::bind((options.listen, options.port)).await;
    let listener = bound.map_err(|source| LocalError::Port { port: options.port, option: "--port", source })?;
    let origin = format!("http://localhost:{}", listener.local_addr()?.port());

    let ephemeral = if options.ephemeral { Some(TempDir::new()?) } else { None };
    let data = (!options.ephemeral).then_some(options.data.as_path());
    let folder = ephemeral.as_ref().map_or(options.data.as_path(), TempDir::path);
    std::fs::create_dir_all(folder)?;

    let stack = Stack::open(options, &origin, data, folder).await?;
    let server = stack.router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, server).await });
    run(stack.publishing, stack.delivering, stack.platforms, stack.renewable, stack.messages);

    let user = demo::user(&stack.api).await?;
    let token = demo::token(&stack.api, &user, data).await?;
    Ok(Running { base_url: format!("{origin}/api/v1"), origin, token, user, _ephemeral: ephemeral })
}

struct Stack {
    api: Api,
    publishing: Publishing,
    /// What the delivery function has: its calls of the store can be logged.
    delivering: Publishing,
    platforms: Registry<dyn Publish>,
    renewable: Registry<dyn Platform>,
    messages: tokio::sync::mpsc::UnboundedReceiver<cloud::queue::DeliveryMessage>,
    router: Router,
}

impl Stack {
    async fn open(options: &Options, origin: &str, data: Option<&Path>, folder: &Path) -> Result<Self, LocalError> {
        let reached_at = options.origin.as_deref().unwrap_or(origin).trim_end_matches('/').to_owned();
        let clock = Clock::System;
        let ids = Ids::new(clock.clone());
        let meter = if options.meter { Some(Meter::new()?) } else { None };
        let history = data.map(|it| History::open(&it.join("deliveries.jsonl"))).transpose()?.unwrap_or_default();
        let log = options.log_calls.as_deref().map(CallLog::create).transpose()?;
        let database = SocketAddr::new(options.listen, options.dynamodb_port);
        let stores = dynamodb::open(database, data, meter.as_ref(), &history, clock.clone()).await?;
        let store = stores.shared();
        let sealer = Envelope::new(LocalKeys::new(sealing_key::sealing_key(data)?), clock.clone());
        let bus = LocalEvents::default();
        let (queue, messages) = LocalQueue::new(clock.clone());
        let settings =
            BucketSettings { name: s3::BUCKET.to_owned(), endpoint: Some(origin.to_owned()), public_endpoint: None };
        let bucket = Bucket::new(&clients::config(origin), &settings);
        let policy = AddressPolicy::Also(options.allow_fetch_from.clone());
        let vault = Arc::new(StoredVault::new(stores.shared(), sealer.clone()));
        let setup = Setup::new(options.platform_settings(origin)?, app, vault, policy.clone());
        let api = Api {
            store: store.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            limits: RateLimits {
                requests_per_minute: options.requests_per_minute,
                media_per_minute: options.media_per_minute,
            },
            origin: reached_at.clone(),
            token_lifetime: TimeDelta::days(180),
            allowed_origins: Vec::new(),
        };
        let publishing = Publishing {
            store,
            leads: Leads::default(),
            bucket,
            sealer: sealer.clone(),
            queue,
            events: Arc::new(bus.clone()),
            clock: clock.clone(),
            ids,
            media_limits: MediaLimits::default(),
            plans: Plans::default(),
            roll_ups: RollUps::default(),
        };
        let delivering = Publishing { store: stores.of("delivery", log.as_ref()), ..publishing.clone() };
        let oidc = OidcSettings {
            issuer: issuer::url(origin),
            discovery: None,
            client_id: issuer::CLIENT_ID.to_owned(),
            client_secret: Some(issuer::CLIENT_SECRET.into()),
        };

        let deployed = Router::new()
            .merge(auth::router(auth::App {
                api: api.clone(),
                oidc: Oidc::new(oidc, &reached_at),
                sign_up: SignUp::parse(""),
            }))
            .merge(connections::router(connections::App {
                api: api.clone(),
                platforms: Registry::new(&setup)?,
                sealer,
                events: Arc::new(bus.clone()),
                plans: Plans::default(),
            }))
            .merge(media::router(media::App {
                api: Api { store: stores.of("media", log.as_ref()), ..api.clone() },
                bucket: Bucket::new(&call_log::config_of("media", log.as_ref(), origin), &settings),
                fetcher: Fetcher::new(policy, FETCH_TIMEOUT),
                limits: MediaLimits::default(),
                plans: Plans::default(),
            }))
            .merge(posts::router(posts::App { api: api.clone(), publishing: publishing.clone() }));
        let network = Sandbox::open(data.map(|it| it.join("sandbox")), origin.to_owned(), clock.clone())?;
        let files = s3::router(&folder.join("media"))?;
        let router = api::finish(deployed, api.clone())
            .merge(deliveries::router(Deliveries {
                history,
                store: api.store.clone(),
                network: network.clone(),
                clock: clock.clone(),
            }))
            .merge(sandbox::router(network))
            .merge(issuer::router(origin.to_owned(), clock))
            .merge(events::router(bus))
            .merge(match log {
                Some(log) => log.watch_links(files),
                None => files,
            })
            .merge(meter.map(Meter::router).unwrap_or_default())
            .layer(map_request(with_client_ip));
        Ok(Self {
            api,
            publishing,
            delivering,
            platforms: Registry::new(&setup)?,
            renewable: Registry::new(&setup)?,
            messages,
            router,
        })
    }
}

/// The sandbox is the only platform here that wants an id and a secret.
fn app(_platform: &str) -> Arc<dyn AppSource> {
    Arc::new(AppCredentials { client_id: sandbox::CLIENT_ID.to_owned(), client_secret: sandbox::CLIENT_SECRET.into() })
}

/// The caller's address, as the gateway tells it in the cloud.
async fn with_client_ip(mut request: Request) -> Request {
    let address = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|it| it.0.ip());
    request.extensions_mut().insert(ClientIp(address.unwrap_or(IpAddr::from([127, 0, 0, 1]))));
    request
}

/// Starts what timers and the queue start in the cloud.
fn run(
    publishing: Publishing,
    delivering: Publishing,
    platforms: Registry<dyn Publish>,
    renewable: Registry<dyn Platform>,
    messages: tokio::sync::mpsc::UnboundedReceiver<cloud::queue::DeliveryMessage>,
) {
    tokio::spawn(queue::work(delivering, platforms, messages));
    let ticking = publishing.clone();
    tokio::spawn(async move {
        // The queue of an earlier process is lost, so what was on it is planned
        // again.
        if let Err(error) = ticking.plan_anew().await {
            tracing::error!(%error, "what was planned could not be planned anew");
        }
        let mut ticks = tokio::time::interval(TICK);
        loop {
            ticks.tick().await;
            if let Err(error) = publisher::tick(&ticking).await {
                tracing::error!(%error, "a tick failed");
            }
        }
    });
    tokio::spawn(async move {
        let mut rounds = tokio::time::interval(UPKEEP);
        loop {
            rounds.tick().await;
            if let Err(error) = upkeep::round(&publishing, &renewable).await {
                tracing::error!(%error, "a round of upkeep failed");
            }
        }
    });
}
