//! The server with what `cargo dev` adds: the sandbox, fakes of platforms, and an issuer.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::RateLimits;
use auth::{ClientSecret, OidcConfig, SignUp};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use domain::clock::Clock;
use domain::media::MediaLimits;
use domain::plan::Plans;
use egress::AddressPolicy;
use platforms::{AppCredentials, AppSource, AppUnavailable};
use server::{AppSources, Data, Metrics, Secret, Server, ServiceSettings, Settings, SignIn, with_addresses};

use crate::call_log::CallLog;
use crate::development::Development;
use crate::error::LocalError;
use crate::fakes::Fakes;
use crate::hosts::Hosts;
use crate::meter::Meter;
use crate::options::Options;
use crate::{erasure, events, hosts, issuer};
use fakes::sandbox::{self, Sandbox};

pub(crate) struct Addresses<'a> {
    pub(crate) origin: &'a str,
    pub(crate) outside: Option<&'a str>,
    pub(crate) hosts: Hosts,
    pub(crate) secret: &'a Secret,
}

pub(crate) struct Stack {
    pub(crate) server: Server,
    /// Routes for this machine.
    pub(crate) here: Router,
    /// Deployed routes and files, for other callers.
    pub(crate) outside: Router,
}

impl Stack {
    pub(crate) async fn open(
        options: &Options,
        fakes: Fakes,
        addresses: Addresses<'_>,
        data: Data,
    ) -> Result<Self, LocalError> {
        let Addresses { origin, outside, hosts, secret } = addresses;
        let clock = Clock::System;
        let lasting = data.lasting().map(|it| it.path().to_owned());
        let log = options.log_calls.as_deref().map(CallLog::create).transpose()?;
        let meter = options.meter.then(Meter::new);
        let address_policy = address_policy(options, &fakes);
        let platforms = options.platform_settings(origin, fakes.settings())?;
        let fakes = fakes.enabled_in(&platforms);
        let service = ServiceSettings {
            origin: outside.unwrap_or(origin).to_owned(),
            sign_up: SignUp::Everyone,
            limits: rate_limits(options),
            proxies: Vec::new(),
            plans: Plans::default(),
            media_limits: MediaLimits::default(),
            guests: options.guests(),
            connect_links: options.connect_links(origin)?,
            allowed_origins: Vec::new(),
            platforms,
            metrics_token: None,
        };
        let settings = Settings {
            service,
            data,
            own_origin: origin.to_owned(),
            files_origin: outside.map(str::to_owned),
            sign_in: SignIn::Oidc(oidc_config(origin)),
            apps: app_sources(options, &fakes)?,
            address_policy,
        };
        let extensions = Arc::new(Development {
            fakes: fakes.clone(),
            log: log.clone(),
            meter: meter.clone(),
            secret: secret.clone(),
        });
        let effective_origin = settings.service.origin.clone();
        let server = Server::open(settings, extensions, secret, Metrics::default()).await?;

        let sandbox = Sandbox::open(lasting.map(|it| it.join("sandbox")), origin.to_owned(), clock.clone())?;
        let files = server.files.clone();
        // The deployed routes, the only ones that callers from outside reach.
        let public = server.routes.clone().merge(match log {
            Some(log) => log.watch_links(files),
            None => files,
        });
        let erasure = erasure::router(server.housekeeping.clone(), fakes.registry(&server.setup)?);
        let local_routes = Router::new()
            .merge(sandbox::router(sandbox))
            .merge(fakes.router())
            .merge(issuer::router(origin.to_owned(), &effective_origin, clock))
            .merge(events::router(server.events.clone()))
            .merge(erasure)
            .merge(meter.map(Meter::router).unwrap_or_default())
            .layer(from_fn(hosts::reject_cross_site));
        let here = public.clone().merge(local_routes).layer(from_fn_with_state((hosts, origin.to_owned()), check_host));
        Ok(Self { server, here: with_addresses(here), outside: with_addresses(public) })
    }
}

fn address_policy(options: &Options, fakes: &Fakes) -> AddressPolicy {
    AddressPolicy::Also(options.allow_fetch_from.iter().copied().chain(fakes.addresses()).collect())
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

async fn check_host(State((hosts, origin)): State<(Hosts, String)>, request: Request, next: Next) -> Response {
    if !hosts.name(&request) {
        return hosts::misdirected(&origin);
    }
    match hosts::redirect_to_origin(&request, &origin) {
        Some(redirect) => redirect,
        None => next.run(request).await,
    }
}

fn app_sources(options: &Options, fakes: &Fakes) -> Result<AppSources, LocalError> {
    let mut apps = fakes.apps();
    apps.extend(options.apps()?);
    Ok(Arc::new(move |platform: &str| app(&apps, platform)))
}

/// The sandbox's, or those of `--platform-secrets`.
fn app(named: &BTreeMap<String, AppCredentials>, platform: &str) -> Arc<dyn AppSource> {
    match named.get(platform) {
        Some(app) => Arc::new(app.clone()),
        None if platform == sandbox::PLATFORM => {
            Arc::new(AppCredentials::new(sandbox::CLIENT_ID, sandbox::CLIENT_SECRET))
        }
        None => Arc::new(AppUnavailable),
    }
}
