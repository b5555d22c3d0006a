//! Everything that the process consists of: the service as it is deployed, on replacements for AWS.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
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
use egress::AddressPolicy;
use egress::fetch::{FETCH_TIMEOUT, Fetcher};
use housekeeping::{Housekeeping, Outbox};
use platforms::{AppCredentials, AppSource, AppUnavailable, LeadTimesByPlatform, Publish, Registry, Setup};
use publishing::{ConcurrencyLimits, FileAddresses, Planner, Publishing};
use scheduling::{PostRules, RollUps, Scheduling};
use storage::Store;

use crate::call_log::CallLog;
use crate::clients::Secret;
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
use crate::{call_log, clients, dynamodb, erasure, events, hosts, issuer, request_log, s3, sealing_key, webhook_queue};

/// The folder of the media store, below the data folder.
pub(crate) const FILES: &str = "media";

/// The addresses of this process, and the secret of its stores.
pub(crate) struct Addresses<'a> {
    /// The origin on this machine.
    pub(crate) origin: &'a str,
    /// The origin of `--origin`.
    pub(crate) outside: Option<&'a str>,
    pub(crate) hosts: Hosts,
    pub(crate) secret: &'a Secret,
}

pub(crate) struct Stack {
    pub(crate) api: Api,
    pub(crate) stores: Stores,
    /// Its store calls can be logged.
    pub(crate) publishing: Publishing,
    pub(crate) timers: Timers,
    pub(crate) platforms: Registry<dyn Publish>,
    pub(crate) lanes: Arc<UserQueues>,
    /// All routes, for this machine.
    pub(crate) here: Router,
    /// The deployed routes and files, for other callers.
    pub(crate) outside: Router,
}

impl Stack {
    #[expect(clippy::too_many_lines, reason = "a list of everything that the process consists of")]
    pub(crate) async fn open(
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
        let delivery_store = stores.for_function("delivery", log.as_ref());
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
