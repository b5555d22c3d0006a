//! What a deployment says of its platforms.

use std::collections::BTreeMap;
use std::sync::Arc;

use outbound::AddressPolicy;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app::AppSource;
use crate::http_clients::HttpClients;
use crate::vault::Vault;

/// What a deployment says of its platforms, and what it gives them.
pub struct Setup {
    settings: PlatformSettings,
    apps: Box<AppSources>,
    /// Where they keep what they are given.
    pub(crate) vault: Arc<dyn Vault>,
    /// How they are called.
    pub(crate) http: HttpClients,
}

/// Our id and secret at the platform with a name.
type AppSources = dyn Fn(&str) -> Arc<dyn AppSource> + Send + Sync;

/// The platforms that are switched on, by name, each with its own settings:
/// `{"bluesky": {}, "sandbox": {"url": "https://sandbox.example"}}`.
pub type PlatformSettings = BTreeMap<String, Value>;

/// Why platforms cannot be set up as they were described.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A name that is not in the registry.
    #[error("there is no platform \"{name}\"; there are {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<&'static str>,
    },
    /// Settings that the platform does not take.
    #[error("the settings of {name}: {source}")]
    Settings {
        /// Whose.
        name: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
}

impl Setup {
    /// `apps` gives the source of our id and secret at the platform with a
    /// name; `policy` says which hosts that users name may be called.
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

    /// Our id and secret at a platform, where an operator has to get them.
    pub(crate) fn app(&self, name: &str) -> Arc<dyn AppSource> {
        (self.apps)(name)
    }

    /// Whether only platforms that there are were switched on.
    pub(crate) fn check_names(&self, known: &[&'static str]) -> Result<(), SetupError> {
        match self.settings.keys().find(|it| !known.contains(&it.as_str())) {
            None => Ok(()),
            Some(name) => Err(SetupError::Unknown { name: name.clone(), known: known.to_vec() }),
        }
    }
}
