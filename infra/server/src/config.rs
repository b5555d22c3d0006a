//! The settings of `social-server`: environment variables, and a file with the same names in lower case.
//! Those that a deployment's functions have, too, have the same names.

mod variables;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use api::{RateLimits, TrustedProxy};
use auth::oidc::is_private;
use auth::{ClientSecret, OidcConfig, SignUp};
use cloud::config::{ConfigError, json, optional, parsed, required};
use connections::{ConnectLinkSettings, Guests};
use domain::clock::Clock;
use egress::AddressPolicy;
use platforms::{AppCredentials, AppSource, AppUnavailable, PlatformSettings};
use secrecy::SecretString;
use tracing_subscriber::filter::{LevelFilter, Targets};
use url::Url;

pub use variables::{SettingError, read as read_variables};

use crate::data_folder::DataFolder;
use crate::error::ServerError;
use crate::listener::Tls;
use crate::mail::Mailer;
use crate::sealing_key::SealingKey;
use crate::settings::{AppSources, Data, ServiceSettings, Settings, SignIn};
use crate::sign_in_links::LinkFolder;

/// The variables, each of which is also read from the file that `NAME_FILE` names.
const NAMES: [&str; 37] = [
    "LISTEN",
    "TLS_CERTIFICATE",
    "TLS_KEY",
    "ACME_CONTACT",
    "ACME_DIRECTORY",
    "DATA",
    "ORIGIN",
    "SEALING_KEY",
    "OIDC_ISSUER",
    "OIDC_DISCOVERY",
    "OIDC_CLIENT_ID",
    "OIDC_CLIENT_SECRET",
    "SMTP_URL",
    "SMTP_FROM",
    "SIGN_UP_ALLOWED",
    "REQUESTS_PER_MINUTE",
    "MEDIA_PER_MINUTE",
    "CALLS_PER_USER",
    "CALLS_PER_HOST",
    "TRUSTED_PROXY_HEADER",
    "TRUSTED_PROXY_SECRET",
    "PLANS",
    "MEDIA_LIMITS",
    "GUEST_HAND_OFFS",
    "BRAND",
    "RETURN_ORIGINS",
    "ALLOWED_ORIGINS",
    "PRIVATE_ADDRESSES",
    "METRICS_TOKEN",
    "PLATFORMS",
    "PLATFORM_SECRETS",
    "LOG_LEVEL",
    // Of `move`, and of backups to S3.
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_ENDPOINT_URL",
];

/// As for the secret of a proxy.
const MIN_TOKEN_CHARS: usize = 32;

pub struct Place {
    /// `DATA`: the folder of all data, by default `data`.
    pub data: PathBuf,
    /// `SEALING_KEY`: 32 bytes in Base64; by default the file `sealing.key` of the folder.
    pub key: Option<SealingKey>,
}

pub struct Config {
    /// `LISTEN`: by default `[::]:443` with TLS, and `127.0.0.1:3000` for a proxy.
    pub listen: SocketAddr,
    /// `None` behind a proxy, which encrypts the connections.
    pub tls: Option<Tls>,
    pub place: Place,
    pub service: ServiceSettings,
    /// `OIDC_ISSUER`, `OIDC_DISCOVERY`, `OIDC_CLIENT_ID` and `OIDC_CLIENT_SECRET`; `None` without an
    /// issuer: users sign in with links.
    pub oidc: Option<OidcConfig>,
    /// `SMTP_URL` and `SMTP_FROM`: sends sign-in links.
    pub mailer: Option<Mailer>,
    /// `PRIVATE_ADDRESSES`: addresses with ports, separated by commas, that the service may call although
    /// they are not public, such as a Mastodon server in the same network.
    pub private_addresses: Vec<SocketAddr>,
    /// `LOG_LEVEL`: such as `warn` or `info,publishing=debug`.
    pub log_level: Targets,
    /// `PLATFORM_SECRETS`: client id and secret at each platform, as JSON.
    pub apps: BTreeMap<String, AppCredentials>,
}

/// Collects the errors of all variables, so that an operator sees them at once.
#[derive(Default)]
struct Errors(Vec<SettingError>);

impl Errors {
    fn keep<T, E: Into<SettingError>>(&mut self, read: Result<T, E>) -> Option<T> {
        read.map_err(|error| self.0.push(error.into())).ok()
    }
}

impl Place {
    pub fn from_env() -> Result<Self, Vec<SettingError>> {
        let key = sealing_key().map_err(|error| vec![error.into()])?;
        Ok(Self { data: optional("DATA").unwrap_or_else(|| "data".to_owned()).into(), key })
    }

    pub fn open(&mut self) -> Result<DataFolder, ServerError> {
        DataFolder::open(&self.data, self.key.take())
    }

    /// `None` before the first start.
    pub fn open_if_exists(&mut self) -> Result<Option<DataFolder>, ServerError> {
        if DataFolder::exists(&self.data) { self.open().map(Some) } else { Ok(None) }
    }

    pub fn check_exists(&self) -> Result<(), ServerError> {
        if DataFolder::exists(&self.data) { Ok(()) } else { Err(ServerError::NoData(self.data.clone())) }
    }

    pub fn stored_key(&mut self) -> Result<SealingKey, ServerError> {
        self.check_exists()?;
        SealingKey::given_or_stored(self.key.take(), &self.data)
    }
}

impl Config {
    pub fn from_env() -> Result<Self, Vec<SettingError>> {
        let mut errors = Errors::default();
        let tls = errors.keep(Tls::from_env());
        let default_listen = match tls {
            Some(Some(_)) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 443)),
            _ => SocketAddr::from((Ipv4Addr::LOCALHOST, 3000)),
        };
        let listen = errors.keep(parsed("LISTEN", default_listen));
        let place = Place::from_env().map_err(|place| errors.0.extend(place)).ok();
        let origin = errors.keep(origin(matches!(tls, Some(Some(_)))));
        let oidc = errors.keep(oidc());
        let mailer = errors.keep(mailer());
        let limits = errors.keep(RateLimits::from_env());
        let proxies = errors.keep(TrustedProxy::from_env());
        let plans = errors.keep(json("PLANS"));
        let media_limits = errors.keep(json("MEDIA_LIMITS"));
        let guests = errors.keep(parsed("GUEST_HAND_OFFS", false));
        let connect_links = errors.keep(ConnectLinkSettings::from_env());
        let private_addresses = errors.keep(addresses());
        let platforms = errors.keep(json::<PlatformSettings>("PLATFORMS"));
        let apps = errors.keep(apps());
        let metrics_token = errors.keep(metrics_token());
        let log_level = errors.keep(parsed("LOG_LEVEL", Targets::new().with_default(LevelFilter::INFO)));
        let read = || {
            Some(Self {
                service: ServiceSettings {
                    origin: origin?,
                    sign_up: match optional("SIGN_UP_ALLOWED").as_deref() {
                        Some("*") => SignUp::Everyone,
                        list => SignUp::listed(list.unwrap_or_default()),
                    },
                    limits: limits?,
                    proxies: proxies?.into_iter().collect(),
                    plans: plans?,
                    media_limits: media_limits?,
                    guests: if guests? { Guests::Permitted } else { Guests::Denied },
                    connect_links: connect_links?,
                    allowed_origins: list("ALLOWED_ORIGINS"),
                    platforms: platforms.filter(|it| !it.is_empty()).unwrap_or_else(platforms::default_settings),
                    metrics_token: metrics_token?,
                },
                listen: listen?,
                tls: tls?,
                place: place?,
                oidc: oidc?,
                mailer: mailer?,
                private_addresses: private_addresses?,
                log_level: log_level?,
                apps: apps?,
            })
        };
        read().filter(|_| errors.0.is_empty()).ok_or(errors.0)
    }

    /// `own_origin` is the origin on loopback.
    pub fn settings(self, data: DataFolder, own_origin: String) -> Settings {
        let apps: AppSources = Arc::new(move |platform: &str| -> Arc<dyn AppSource> {
            match self.apps.get(platform) {
                Some(app) => Arc::new(app.clone()),
                None => Arc::new(AppUnavailable),
            }
        });
        let origin = &self.service.origin;
        let sign_in = match self.oidc {
            Some(oidc) => SignIn::Oidc(oidc),
            None => SignIn::Links(Arc::new(LinkFolder::new(data.path(), &**origin, Clock::System, self.mailer))),
        };
        Settings {
            files_origin: Some(origin.clone()),
            service: self.service,
            data: Data::Folder(data),
            own_origin,
            sign_in,
            apps,
            address_policy: AddressPolicy::Also(self.private_addresses),
        }
    }
}

fn sealing_key() -> Result<Option<SealingKey>, ConfigError> {
    let Some(text) = optional("SEALING_KEY") else { return Ok(None) };
    let reason = || "must be 32 bytes in Base64, as `openssl rand -base64 32` prints them".to_owned();
    SealingKey::parse(&text).map(Some).ok_or_else(|| ConfigError::Invalid { name: "SEALING_KEY", reason: reason() })
}

/// Cookies of pages are accepted by browsers only over TLS, or from the machine itself.
fn origin(has_tls: bool) -> Result<String, ConfigError> {
    let origin = api::parse_origin(&required("ORIGIN")?)?;
    let is_safe = Url::parse(&origin).is_ok_and(|it| is_private(&it) && (it.scheme() == "https" || !has_tls));
    let reason = "must begin with https://; only http://localhost works, without TLS".to_owned();
    if is_safe { Ok(origin) } else { Err(ConfigError::Invalid { name: "ORIGIN", reason }) }
}

fn oidc() -> Result<Option<OidcConfig>, ConfigError> {
    let secret = |secret: String| ClientSecret::Given(secret.into());
    match optional("OIDC_ISSUER") {
        Some(_) => OidcConfig::from_env(|| optional("OIDC_CLIENT_SECRET").map(secret)).map(Some),
        None => Ok(None),
    }
}

fn mailer() -> Result<Option<Mailer>, SettingError> {
    match (optional("SMTP_URL"), optional("SMTP_FROM")) {
        (None, _) => Ok(None),
        (Some(_), None) => Err(ConfigError::Missing("SMTP_FROM").into()),
        (Some(url), Some(from)) => Ok(Some(Mailer::new(&url.into(), &from)?)),
    }
}

/// The error quotes nothing of the value.
fn apps() -> Result<BTreeMap<String, AppCredentials>, ConfigError> {
    let Some(raw) = optional("PLATFORM_SECRETS") else { return Ok(BTreeMap::new()) };
    serde_json::from_str(&raw).map_err(|error| ConfigError::Invalid {
        name: "PLATFORM_SECRETS",
        reason: format!(
            "must be like {{\"linkedin\": {}}}; the error is in line {}, column {}",
            AppCredentials::EXAMPLE_JSON,
            error.line(),
            error.column()
        ),
    })
}

fn metrics_token() -> Result<Option<SecretString>, ConfigError> {
    let Some(token) = optional("METRICS_TOKEN") else { return Ok(None) };
    if token.len() < MIN_TOKEN_CHARS {
        let reason = format!("must have at least {MIN_TOKEN_CHARS} characters");
        return Err(ConfigError::Invalid { name: "METRICS_TOKEN", reason });
    }
    Ok(Some(token.into()))
}

fn addresses() -> Result<Vec<SocketAddr>, ConfigError> {
    let parse = |it: &String| {
        it.parse().map_err(|_| ConfigError::Invalid {
            name: "PRIVATE_ADDRESSES",
            reason: format!("{it} is not an address with a port, such as 192.168.1.5:443"),
        })
    };
    list("PRIVATE_ADDRESSES").iter().map(parse).collect()
}

fn list(name: &'static str) -> Vec<String> {
    let items = optional(name).unwrap_or_default();
    items.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}
