use std::collections::BTreeMap;
use std::sync::Arc;

use egress::AddressPolicy;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::app::{AppSource, Checked};
use crate::http_clients::HttpClients;
use crate::vault::Vault;

/// The settings of a deployment for its platforms, with the clients and secrets that adapters use.
pub struct Setup {
    settings: PlatformSettings,
    apps: Box<AppSources>,
    pub(crate) vault: Arc<dyn Vault>,
    pub(crate) http: HttpClients,
}

type AppSources = dyn Fn(&str) -> Arc<dyn AppSource> + Send + Sync;

/// The enabled platforms by name, each with its own settings: `{"bluesky": {}, "sandbox": {"url":
/// "https://sandbox.example"}}`.
pub type PlatformSettings = BTreeMap<String, Value>;

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("unknown platform \"{name}\"; the platforms are {}", known.join(", "))]
    Unknown { name: String, known: Vec<&'static str> },
    #[error("the settings of {name}: {source}")]
    Settings { name: &'static str, source: serde_json::Error },
}

/// A URL of a platform that is written in its adapter.
pub(crate) fn official(url: &str) -> Url {
    Url::parse(url).unwrap_or_else(|error| unreachable!("{url}: {error}"))
}

impl Setup {
    /// `apps` returns the client credentials for the name of a platform. `policy` decides which
    /// hosts that users name may be called.
    pub fn new(
        settings: PlatformSettings,
        apps: impl Fn(&str) -> Arc<dyn AppSource> + Send + Sync + 'static,
        vault: Arc<dyn Vault>,
        policy: AddressPolicy,
    ) -> Self {
        Self { settings, apps: Box::new(apps), vault, http: HttpClients::new(policy) }
    }

    /// `None` if the platform is not enabled.
    pub(crate) fn settings<T: DeserializeOwned>(&self, name: &'static str) -> Result<Option<T>, SetupError> {
        let Some(settings) = self.settings.get(name) else { return Ok(None) };
        serde_json::from_value(settings.clone()).map(Some).map_err(|source| SetupError::Settings { name, source })
    }

    /// The client credentials of a platform at which an operator registers this service. `T` are
    /// the extra secrets: a struct with `deny_unknown_fields`, or
    /// [`NoExtraSecrets`](crate::app::NoExtraSecrets). Credentials whose extra secrets are invalid
    /// are not used.
    pub(crate) fn app<T: DeserializeOwned + 'static>(&self, name: &'static str) -> Arc<dyn AppSource> {
        Arc::new(Checked::<T>::new(name, (self.apps)(name)))
    }

    /// Fails if an enabled platform is not in the registry.
    pub(crate) fn check_names(&self, known: &[&'static str]) -> Result<(), SetupError> {
        match self.settings.keys().find(|it| !known.contains(&it.as_str())) {
            None => Ok(()),
            Some(name) => Err(SetupError::Unknown { name: name.clone(), known: known.to_vec() }),
        }
    }
}
