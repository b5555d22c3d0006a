//! All parts at one origin: the service as it is deployed, and its replacements for AWS.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use api::{Api, ClientIp, CommonLayers, RateLimits, TrustedProxy};
use auth::{ClientDocuments, ClientSecret, Oidc, OidcConfig, SignUp};
use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_request};
use axum::response::Response;
use cloud::bucket::{Bucket, BucketConfig};
use cloud::seal::{Envelope, LocalKeys};
use connecting::CredentialService;
use connections::StoredVault;
use domain::access_token::TokenLifetime;
use domain::clock::Clock;
use domain::id::Ids;
use domain::media::{FileKey, MediaLimits};
use domain::plan::Plans;
use domain::random::Random;
use domain::token::random_token;
use domain::user::User;
use egress::AddressPolicy;
use egress::fetch::{FETCH_TIMEOUT, Fetcher};
use housekeeping::{Housekeeping, Outbox};
use platforms::{AppCredentials, AppSource, AppUnavailable, LeadTimesByPlatform, Publish, Registry, Setup};
use publishing::{ConcurrencyLimits, FileAddresses, Planner, Publishing};
use scheduling::{PostRules, RollUps, Scheduling};
use secrecy::SecretString;
use storage::Store;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::call_log::CallLog;
use crate::clients::{ACCESS_KEYS, Secret};
use crate::deliveries::{self, Deliveries, History};
use crate::dynamodb::Stores;
use crate::error::LocalError;
use crate::events::LocalEvents;
use crate::fakes::Fakes;
use crate::hosts::Hosts;
use crate::meter::Meter;
use crate::options::Options;
use crate::pictures::LocalPictures;
use crate::queue::{LocalQueue, UserQueues};
use crate::sandbox::{self, Sandbox};
use crate::timers::Timers;
use crate::unread::drain_request_body;
use crate::{
    call_log, clients, demo, dynamodb, erasure, events, hosts, issuer, queue, request_log, s3, sealing_key,
    webhook_queue,
};

/// The folder of the media store, below the data folder.
const FILES: &str = "media";

/// The local stack, running.
#[derive(Debug)]
pub struct Running {
    /// For example `http://localhost:3000`.
    pub origin: String,
    /// The target of the tunnel of `--origin`, for example `http://localhost:3001`.
    pub tunnel: Option<String>,
    /// The URL of the API.
    pub base_url: String,
    pub token: String,
    pub user: User,
    /// The database's URL and the keys of all stores, with `--dynamodb-port`.
    pub stores: Option<StoreKeys>,
    // The data folder, deleted when the process ends.
    _ephemeral: Option<TempDir>,
}

/// How functions in other processes call the stores of this one.
#[derive(Debug)]
pub struct StoreKeys {
    /// The database's URL on this machine.
    pub dynamodb: String,
    /// The access key of the database and the media store.
    pub access_key: &'static str,
    /// New in every run.
    pub secret: SecretString,
}

/// Starts the local stack. Its tasks run on this runtime until the process ends.
pub async fn start(options: &Options) -> Result<Running, LocalError> {
    if let Some(address) = options.listen.filter(IpAddr::is_unspecified) {
        return Err(LocalError::Everywhere(address));
    }
    let public_origin = options.origin.as_deref().map(hosts::parse_origin).transpose()?;
    let listeners = listen(options, options.port, "--port").await?;
    let port = port_of(&listeners)?;
    let origin = format!("http://localhost:{port}");

    let ephemeral = if options.has_no_data_folder() { Some(TempDir::new()?) } else { None };
    let data = (!options.has_no_data_folder()).then_some(options.data.as_path());
    let folder = ephemeral.as_ref().map_or(options.data.as_path(), TempDir::path);
    std::fs::create_dir_all(folder)?;

    let secret = Secret::random();
    let outside_listeners = match public_origin {
        Some(_) => {
            listen(options, options.origin_port.unwrap_or_else(|| port.saturating_add(1)), "--origin-port").await?
        }
        None => Vec::new(),
    };
    let tunnel = port_of(&outside_listeners).ok().map(|port| format!("http://localhost:{port}"));
    let hosts = Hosts::new(port, options.listen).refusing_forwarded(public_origin.is_some());
    let fakes = if options.fakes {
        Fakes::start(public_origin.as_deref().unwrap_or(&origin), &origin).await
    } else {
        Fakes::default()
    };
    let addresses = Addresses { origin: &origin, outside: public_origin.as_deref(), hosts, secret: &secret };
    let stack = Stack::open(options, fakes, addresses, data, folder).await?;
    serve(listeners, &stack.here);
    serve(outside_listeners, &stack.outside);
    let stores = match options.dynamodb_port {
        Some(port) => Some(open_database(options, port, &stack.stores, &secret).await?),
        None => None,
    };
    tokio::spawn(queue::work(stack.publishing, stack.platforms, stack.lanes));
    stack.timers.start(folder.join(FILES));

    let user = demo::user(&stack.api, &origin).await?;
    let token = demo::token(&stack.api, &user, data).await?;
    let base_url = format!("{origin}/api/v1");
    Ok(Running { base_url, origin, tunnel, token, user, stores, _ephemeral: ephemeral })
}

fn serve(listeners: Vec<TcpListener>, router: &Router) {
    for listener in listeners {
        let server = router.clone().into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, server).await });
    }
}

/// Listens on loopback, and on the address of `--listen`.
async fn listen(options: &Options, port: u16, option: &'static str) -> Result<Vec<TcpListener>, LocalError> {
    let bind = async |address: IpAddr, port: u16| {
        let bound = TcpListener::bind((address, port)).await;
        bound.map_err(|source| LocalError::Port { port, option, source })
    };
    let first = bind(Ipv4Addr::LOCALHOST.into(), port).await?;
    let port = first.local_addr()?.port();
    let mut all = vec![first];
    if let Some(address) = options.listen.filter(|it| *it != Ipv4Addr::LOCALHOST) {
        all.push(bind(address, port).await?);
    }
    Ok(all)
}

fn port_of(listeners: &[TcpListener]) -> std::io::Result<u16> {
    let first = listeners.first().ok_or(std::io::ErrorKind::NotConnected)?;
    Ok(first.local_addr()?.port())
}

async fn open_database(
    options: &Options,
    port: u16,
    stores: &Stores,
    secret: &Secret,
) -> Result<StoreKeys, LocalError> {
    let listeners = listen(options, port, "--dynamodb-port").await?;
    let port = port_of(&listeners)?;
    let hosts = Hosts::new(port, options.listen);
    for listener in listeners {
        stores.listen(listener, hosts.clone());
    }
    let dynamodb = format!("http://localhost:{port}");
    Ok(StoreKeys { dynamodb, access_key: ACCESS_KEYS[0], secret: secret.expose().into() })
}

/// The addresses of this process, and the secret of its stores.
struct Addresses<'a> {
    /// The origin on this machine.
    origin: &'a str,
    /// The origin of `--origin`.
    outside: Option<&'a str>,
    hosts: Hosts,
    secret: &'a Secret,
}

struct Stack {
    api: Api,
    stores: Stores,
    /// Its store calls can be logged.
    publishing: Publishing,
    timers: Timers,
    platforms: Registry<dyn Publish>,
    lanes: Arc<UserQueues>,
    /// All routes, for this machine.
    here: Router,
    /// The deployed routes and files, for other callers.
    outside: Router,
}

impl Stack {
    #[expect(clippy::too_many_lines, reason = "a list of everything that the process consists of")]
    async fn open(
        options: &Options,
        fakes: Fakes,
        addresses: Addresses<'_>,
        data: Option<&Path>,
        folder: &Path,
    ) -> Result<Self, LocalError> {
        let Addresses { origin, outside, hosts, secret } = addresses;
        let effective_origin = outside.unwrap_or(origin).to_owned();
        let clock = Clock::System;
        let ids = Ids::new(clock.clone(), Random::Os);
        let meter = options.meter.then(Meter::new);
        let history = data.map(|it| History::open(&it.join("deliveries.jsonl"))).transpose()?.unwrap_or_default();
        let log = options.log_calls.as_deref().map(CallLog::create).transpose()?;
        let stores = dynamodb::open(data, secret, meter.as_ref(), &history, clock.clone()).await?;
        let store = stores.shared();
        let sealer = Envelope::new(LocalKeys::new(sealing_key::sealing_key(data)?), clock.clone());
        let bus = LocalEvents::default();
        let queue = LocalQueue::new(clock.clone());
        let lanes = queue.lanes();
        let bucket_config = bucket_config(origin, outside);
        let files = clients::config(origin, secret);
        let bucket = Bucket::new(&files, &bucket_config);
        let policy = address_policy(options, &fakes);
        let vault = Arc::new(StoredVault::new(stores.shared(), sealer.clone(), clock.clone()));
        let settings_of_platforms = options.platform_settings(origin, fakes.settings())?;
        let fakes = fakes.enabled_in(&settings_of_platforms);
        let budgets = platforms::budgets(&settings_of_platforms)?;
        let setup = Setup::new(settings_of_platforms, app_sources(options, &fakes)?, vault, policy.clone());
        // New in every run: proves that the function `mcp` forwarded a client's address.
        let trusted_proxy = TrustedProxy::mcp(random_token());
        let api = api_at(&effective_origin, options, &store, &ids, &clock, &trusted_proxy);
        let egress = webhook_delivery::egress_clients(policy.clone());
        let webhooks = webhook_queue::start(
            stores.for_function("webhooks", log.as_ref()),
            &ids,
            &clock,
            sealer.clone(),
            &bus,
            egress.clone(),
        );
        // URLs of files are valid until this process ends.
        let file_key = FileKey::random();
        let file_addresses =
            FileAddresses { origin: effective_origin.clone(), key: file_key.clone(), serves_videos: true };
        let posts_store = stores.for_function("posts", log.as_ref());
        let scheduling = Scheduling {
            roll_ups: RollUps::new(posts_store.clone(), Arc::new(bus.clone()), clock.clone()),
            store: posts_store.clone(),
            bucket: bucket.clone(),
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
        let delivery_store = stores.for_function("delivery", log.as_ref());
        let publishing = Publishing {
            pictures: LocalPictures::working(&bucket),
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
        let posts = posts::App { api: Api { store: posts_store, ..api.clone() }, scheduling };
        let planner = Planner {
            store: store.clone(),
            queue: queue.clone(),
            clock: clock.clone(),
            concurrency_limits: ConcurrencyLimits::default(),
        };
        let outbox = Outbox { store: store.clone(), events: Arc::new(bus.clone()), clock: clock.clone() };
        let housekeeping = Housekeeping {
            store: store.clone(),
            bucket: bucket.clone(),
            sealer: sealer.clone(),
            clock: clock.clone(),
            media_limits: MediaLimits::default(),
        };
        let timers = Timers {
            planner,
            outbox,
            housekeeping: housekeeping.clone(),
            credentials: credentials(store),
            renewable: fakes.registry(&setup)?,
        };
        let api_of = |function| Api { store: stores.for_function(function, log.as_ref()), ..api.clone() };
        let deployed = Router::new()
            .merge(auth::router(auth_app(&api_of("auth"), origin, policy.clone())))
            .merge(connections::router(connections::App {
                api: api_of("connections"),
                platforms: fakes.registry(&setup)?,
                vocabulary: platforms::vocabulary(),
                sealer,
                events: Arc::new(bus.clone()),
                plans: Plans::default(),
                guests: options.guests(),
            }))
            .merge(media::router(media_app(
                api_of("media"),
                Bucket::new(&call_log::config_for("media", log.as_ref(), &files, secret), &bucket_config),
                policy,
                file_key,
            )))
            .merge(posts::router(posts))
            .merge(webhooks::router(webhooks::App { api: api_of("webhooks"), egress, webhooks }));
        let sandbox = Sandbox::open(data.map(|it| it.join("sandbox")), origin.to_owned(), clock.clone())?;
        let files = s3::router(&folder.join(FILES), secret)?;
        // The deployed routes, the only ones that callers from outside reach.
        let assistants = mcp::App::new(mcp_config(&api, origin, trusted_proxy))?;
        let public = api::finish(deployed, api.clone()).merge(mcp::router(assistants)).merge(match log {
            Some(log) => log.watch_links(files),
            None => files,
        });
        let local_routes = Router::new()
            .merge(deliveries::router(deliveries_app(&api, history, &sandbox, &fakes)))
            .merge(sandbox::router(sandbox))
            .merge(fakes.clone().router())
            .merge(issuer::router(origin.to_owned(), &effective_origin, clock))
            .merge(events::router(bus))
            .merge(erasure::router(housekeeping, fakes.registry(&setup)?))
            .merge(meter.map(Meter::router).unwrap_or_default())
            .layer(from_fn(hosts::reject_cross_site));
        let here = public.clone().merge(local_routes).layer(from_fn_with_state((hosts, origin.to_owned()), check_host));
        Ok(Self {
            api,
            stores,
            publishing,
            timers,
            platforms: fakes.registry(&setup)?,
            lanes,
            here: with_addresses(here),
            outside: with_addresses(public),
        })
    }
}

fn media_app(api: Api, bucket: Bucket, policy: AddressPolicy, file_key: FileKey) -> media::App {
    media::App {
        api,
        bucket,
        fetcher: Fetcher::new(policy, FETCH_TIMEOUT),
        limits: MediaLimits::default(),
        plans: Plans::default(),
        file_key: Some(file_key),
        max_file_bytes: u64::MAX,
    }
}

fn deliveries_app(api: &Api, history: History, sandbox: &Sandbox, fakes: &Fakes) -> Deliveries {
    Deliveries {
        history,
        store: api.store.clone(),
        network: sandbox.clone(),
        fakes: fakes.clone(),
        clock: api.clock.clone(),
    }
}

/// The private addresses that the service may call.
fn address_policy(options: &Options, fakes: &Fakes) -> AddressPolicy {
    AddressPolicy::Also(options.allow_fetch_from.iter().copied().chain(fakes.addresses()).collect())
}

fn mcp_config(api: &Api, origin: &str, trusted_proxy: TrustedProxy) -> mcp::config::Config {
    mcp::config::Config {
        origin: api.origin.clone(),
        api_origin: origin.to_owned(),
        proof: trusted_proxy,
        front: CommonLayers { proxies: Vec::new(), ..CommonLayers::from(api) },
        allowed_origins: Vec::new(),
    }
}

fn api_at(
    origin: &str,
    options: &Options,
    store: &Store,
    ids: &Ids,
    clock: &Clock,
    trusted_proxy: &TrustedProxy,
) -> Api {
    Api {
        store: store.clone(),
        clock: clock.clone(),
        random: Random::Os,
        ids: ids.clone(),
        limits: rate_limits(options),
        origin: origin.to_owned(),
        token_lifetime: TokenLifetime::default(),
        allowed_origins: Vec::new(),
        proxies: vec![trusted_proxy.clone()],
    }
}

fn auth_app(api: &Api, origin: &str, policy: AddressPolicy) -> auth::App {
    auth::App {
        api: api.clone(),
        oidc: Oidc::new(oidc_config(origin), &api.origin),
        clients: ClientDocuments::new(policy),
        sign_up: SignUp::parse(""),
    }
}

fn bucket_config(origin: &str, outside: Option<&str>) -> BucketConfig {
    BucketConfig {
        name: s3::BUCKET.to_owned(),
        endpoint: Some(origin.to_owned()),
        // Platforms fetch files from links, and users upload to links.
        public_endpoint: outside.map(str::to_owned),
    }
}

fn rate_limits(options: &Options) -> RateLimits {
    RateLimits {
        requests_per_minute: options.requests_per_minute,
        media_per_minute: options.media_per_minute,
        calls_per_host: options.calls_per_host,
        ..RateLimits::default()
    }
}

fn oidc_config(origin: &str) -> OidcConfig {
    OidcConfig {
        issuer: issuer::url(origin),
        discovery: None,
        client_id: issuer::CLIENT_ID.to_owned(),
        client_secret: Some(ClientSecret::Given(issuer::CLIENT_SECRET.into())),
    }
}

fn with_addresses(router: Router) -> Router {
    router.layer(map_request(with_client_ip)).layer(from_fn(drain_request_body)).layer(from_fn(request_log::log))
}

async fn check_host(State((hosts, origin)): State<(Hosts, String)>, request: Request, next: Next) -> Response {
    if !hosts.name(&request) {
        return hosts::misdirected(&origin);
    }
    match hosts::redirect_to_origin(&request, &origin) {
        Some(redirect) => redirect,
        None => next.run(request).await,
    }
}

/// The source of the client id and secret at each platform.
fn app_sources(
    options: &Options,
    fakes: &Fakes,
) -> Result<impl Fn(&str) -> Arc<dyn AppSource> + Send + Sync + 'static + use<>, LocalError> {
    let mut apps = fakes.apps();
    apps.extend(options.apps()?);
    Ok(move |platform: &str| app(&apps, platform))
}

/// Client id and secret at a platform: the sandbox's, or those of `--platform-secrets`.
fn app(named: &BTreeMap<String, AppCredentials>, platform: &str) -> Arc<dyn AppSource> {
    match named.get(platform) {
        Some(app) => Arc::new(app.clone()),
        None if platform == sandbox::PLATFORM => {
            Arc::new(AppCredentials::new(sandbox::CLIENT_ID, sandbox::CLIENT_SECRET))
        }
        None => Arc::new(AppUnavailable),
    }
}

/// Sets the client's address, as the gateway does in a deployment.
async fn with_client_ip(mut request: Request) -> Request {
    let address = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|it| it.0.ip());
    request.extensions_mut().insert(ClientIp(address.unwrap_or(IpAddr::from([127, 0, 0, 1]))));
    request
}
