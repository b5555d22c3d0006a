//! What the process is started with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use api::{RateLimits, TrustedProxy};
use auth::{OidcConfig, SignInLinks, SignUp};
use connections::{ConnectLinkSettings, Guests};
use domain::media::MediaLimits;
use domain::plan::Plans;
use egress::AddressPolicy;
use platforms::{AppSource, PlatformSettings};
use secrecy::SecretString;

use crate::data_folder::DataFolder;

/// By the platform's name.
pub type AppSources = Arc<dyn Fn(&str) -> Arc<dyn AppSource> + Send + Sync>;

#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// `ORIGIN`: the origin under which users open the service.
    pub origin: String,
    /// `SIGN_UP_ALLOWED`: e-mail addresses and domains, separated by commas; `*` for everyone; by default
    /// nobody.
    pub sign_up: SignUp,
    pub limits: RateLimits,
    /// Proxies whose header names the client's address.
    pub proxies: Vec<TrustedProxy>,
    /// `PLANS`: the plans by name, as JSON.
    pub plans: Plans,
    /// `MEDIA_LIMITS`: the largest files in bytes, as JSON.
    pub media_limits: MediaLimits,
    /// `GUEST_HAND_OFFS`: whether guests may connect their accounts for a user.
    pub guests: Guests,
    /// `BRAND` and `RETURN_ORIGINS`: the operator's brand on the pages of connect links, and where customers return.
    pub connect_links: ConnectLinkSettings,
    /// `ALLOWED_ORIGINS`: web origins that may call the API (CORS), separated by commas.
    pub allowed_origins: Vec<String>,
    /// `PLATFORMS`: the settings of each platform, as JSON; by default those that need no registration.
    pub platforms: PlatformSettings,
    /// `METRICS_TOKEN`: the token for `/metrics`, which does not exist without one.
    pub metrics_token: Option<SecretString>,
}

#[derive(Clone)]
pub struct Settings {
    pub service: ServiceSettings,
    pub data: Data,
    /// The origin at which this process reaches its own media store and API, on loopback.
    pub own_origin: String,
    /// The origin to which browsers upload, and from which platforms fetch files; `None` for
    /// `own_origin`.
    pub files_origin: Option<String>,
    pub sign_in: SignIn,
    pub apps: AppSources,
    pub address_policy: AddressPolicy,
}

#[derive(Clone, Debug)]
pub enum SignIn {
    Oidc(OidcConfig),
    Links(Arc<dyn SignInLinks>),
}

#[derive(Clone, Debug)]
pub enum Data {
    Folder(DataFolder),
    /// The tables are in memory, and files in this folder, which ends with the process.
    Temporary(PathBuf),
}

impl Data {
    pub fn folder(&self) -> &Path {
        match self {
            Self::Folder(folder) => folder.path(),
            Self::Temporary(folder) => folder,
        }
    }

    pub fn lasting(&self) -> Option<&DataFolder> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Temporary(_) => None,
        }
    }
}
