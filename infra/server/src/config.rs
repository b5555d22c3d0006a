//! The environment variables of `social-server`. Those that a deployment's functions have, too, have the
//! same names.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use api::{RateLimits, TrustedProxy};
use auth::{ClientSecret, OidcConfig, SignUp};
use cloud::config::{ConfigError, json, optional, parsed, required};
use connections::Guests;
use domain::access_token::TokenLifetime;
use domain::media::MediaLimits;
use domain::plan::Plans;
use egress::AddressPolicy;
use platforms::{AppCredentials, AppSource, AppUnavailable, PlatformSettings};

use crate::settings::{AppSources, Data, Settings};

/// The platforms that need no registration of an app.
const DEFAULT_PLATFORMS: [&str; 6] = ["bluesky", "discord", "mastodon", "matrix", "telegram", "wordpress"];

#[derive(Clone)]
pub struct Config {
    /// `LISTEN`: where a proxy with TLS finds this process, by default `127.0.0.1:3000`.
    pub listen: SocketAddr,
    /// `DATA`: the folder of all data, by default `data`.
    pub data: PathBuf,
    /// `ORIGIN`: the origin under which users open the service.
    pub origin: String,
    /// `OIDC_ISSUER`, `OIDC_DISCOVERY`, `OIDC_CLIENT_ID` and `OIDC_CLIENT_SECRET`.
    pub oidc: OidcConfig,
    /// `SIGN_UP_ALLOWED`: e-mail addresses and domains, separated by commas; `*` for everyone.
    pub sign_up: SignUp,
    pub limits: RateLimits,
    pub proxies: Vec<TrustedProxy>,
    /// `PLANS`: the plans by name, as JSON.
    pub plans: Plans,
    /// `MEDIA_LIMITS`: the largest files in bytes, as JSON.
    pub media_limits: MediaLimits,
    /// `GUEST_HAND_OFFS`: whether guests may connect their accounts for a user.
    pub guests: Guests,
    /// `PLATFORMS`: the settings of each platform, as JSON; by default those that need no registration.
    pub platforms: PlatformSettings,
    /// `PLATFORM_SECRETS`: client id and secret at each platform, as JSON.
    pub apps: BTreeMap<String, AppCredentials>,
}

/// Collects the errors of all variables, so that an operator sees them at once.
#[derive(Default)]
struct Errors(Vec<ConfigError>);

impl Errors {
    fn keep<T>(&mut self, read: Result<T, ConfigError>) -> Option<T> {
        read.map_err(|error| self.0.push(error)).ok()
    }
}

impl Config {
    pub fn from_env() -> Result<Self, Vec<ConfigError>> {
        let mut errors = Errors::default();
        let listen = errors.keep(parsed("LISTEN", SocketAddr::from((Ipv4Addr::LOCALHOST, 3000))));
        let origin = errors.keep(api::origin_from_env());
        let issuer = errors.keep(OidcConfig::from_env(|| optional("OIDC_CLIENT_SECRET").map(client_secret)));
        let sign_up = errors.keep(required("SIGN_UP_ALLOWED"));
        let limits = errors.keep(RateLimits::from_env());
        let proxies = errors.keep(TrustedProxy::from_env());
        let plans = errors.keep(json("PLANS"));
        let media_limits = errors.keep(json("MEDIA_LIMITS"));
        let guests = errors.keep(parsed("GUEST_HAND_OFFS", false));
        let platforms = errors.keep(json::<PlatformSettings>("PLATFORMS"));
        let apps = errors.keep(json("PLATFORM_SECRETS"));
        let read = || {
            Some(Self {
                listen: listen?,
                data: optional("DATA").unwrap_or_else(|| "data".to_owned()).into(),
                origin: origin?,
                oidc: issuer?,
                sign_up: SignUp::parse(sign_up?.trim_start_matches('*')),
                limits: limits?,
                proxies: proxies?.into_iter().collect(),
                plans: plans?,
                media_limits: media_limits?,
                guests: if guests? { Guests::Permitted } else { Guests::Denied },
                platforms: platforms.filter(|it| !it.is_empty()).unwrap_or_else(default_platforms),
                apps: apps?,
            })
        };
        read().filter(|_| errors.0.is_empty()).ok_or(errors.0)
    }

    /// `own_origin` is the origin on loopback.
    pub fn settings(self, own_origin: String) -> Settings {
        let apps: AppSources = Arc::new(move |platform: &str| -> Arc<dyn AppSource> {
            match self.apps.get(platform) {
                Some(app) => Arc::new(app.clone()),
                None => Arc::new(AppUnavailable),
            }
        });
        Settings {
            data: Data::Folder(self.data),
            files_origin: Some(self.origin.clone()),
            origin: self.origin,
            own_origin,
            oidc: self.oidc,
            sign_up: self.sign_up,
            limits: self.limits,
            token_lifetime: TokenLifetime::default(),
            allowed_origins: Vec::new(),
            proxies: self.proxies,
            plans: self.plans,
            media_limits: self.media_limits,
            guests: self.guests,
            platforms: self.platforms,
            apps,
            address_policy: AddressPolicy::PublicOnly,
        }
    }
}

fn client_secret(secret: String) -> ClientSecret {
    ClientSecret::Given(secret.into())
}

fn default_platforms() -> PlatformSettings {
    DEFAULT_PLATFORMS.map(|name| (name.to_owned(), serde_json::json!({}))).into()
}
