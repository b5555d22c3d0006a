//! How a deployment configures its platforms.

use std::collections::BTreeMap;
use std::sync::Arc;

use egress::AddressPolicy;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app::{AppSource, Checked};
use crate::http_clients::HttpClients;
use crate::vault::Vault;

/// The settings of a deployment for its platforms, and what it gives them to
/// work with.
pub struct Setup {
    settings: PlatformSettings,
    apps: Box<AppSources>,
    /// Where platforms keep their secrets.
    pub(crate) vault: Arc<dyn Vault>,
    /// The clients with which platforms are called.
    pub(crate) http: HttpClients,
}

/// Gives, for the name of a platform, the source of our id and secret there.
type AppSources = dyn Fn(&str) -> Arc<dyn AppSource> + Send + Sync;

/// The platforms that are switched on, by name, each with its own settings:
/// `{"bluesky": {}, "sandbox": {"url": "https://sandbox.example"}}`.
pub type PlatformSettings = BTreeMap<String, Value>;

/// Why the platforms cannot be set up as configured.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A name that is not in the registry.
    #[error("there is no platform \"{name}\"; there are {}", known.join(", "))]
    Unknown {
        name: String,
        /// The names in the registry.
        known: Vec<&'static str>,
    },
    /// Settings that the platform does not take.
    #[error("the settings of {name}: {source}")]
    Settings {
        /// The platform's name.
        name: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
}

impl Setup {
    /// `apps` gives, for the name of a platform, the source of our id and
    /// secret there. `policy` says which of the hosts that users name may be
    /// called.
    pub fn new(
        settings: PlatformSettings,
        apps: impl Fn(&str) -> Arc<dyn AppSource> + Send + Sync + 'static,
        vault: Arc<dyn Vault>,
        policy: AddressPolicy,
    ) -> Self {
        Self { settings, apps: Box::new(apps), vault, http: HttpClients::new(policy) }
    }

    /// The settings of a platform; `None` when it is switched off.
    pub(crate) fn settings<T: DeserializeOwned>(&self, name: &'static str) -> Result<Option<T>, SetupError> {
        let Some(settings) = self.settings.get(name) else { return Ok(None) };
        serde_json::from_value(settings.clone()).map(Some).map_err(|source| SetupError::Settings { name, source })
    }

    /// The source of our id and secret at a platform, for platforms at which an
    /// operator has to register us. `T` is what else is kept there: a struct with
    /// `deny_unknown_fields`, or [`NoExtraSecrets`](crate::app::NoExtraSecrets). What is kept is
    /// not used while it does not fit.
    pub(crate) fn app<T: DeserializeOwned + 'static>(&self, name: &'static str) -> Arc<dyn AppSource> {
        Arc::new(Checked::<T>::new(name, (self.apps)(name)))
    }

    /// Fails when a platform is switched on that is not in the registry.
    pub(crate) fn check_names(&self, known: &[&'static str]) -> Result<(), SetupError> {
        match self.settings.keys().find(|it| !known.contains(&it.as_str())) {
            None => Ok(()),
            Some(name) => Err(SetupError::Unknown { name: name.clone(), known: known.to_vec() }),
        }
    }
}
