//! What another program changes in the process: `cargo dev` adds fakes of platforms, logs and meters.

use aws_config::SdkConfig;
use platforms::{Connect, Platform, Publish, Registry, Setup, SetupError};

/// By default, nothing is changed.
pub trait Extensions: Send + Sync {
    /// `None` for clients that belong to no function.
    fn database_config(&self, _function: Option<&'static str>, config: SdkConfig) -> SdkConfig {
        config
    }

    fn files_config(&self, _function: &'static str, config: SdkConfig) -> SdkConfig {
        config
    }

    fn publishing(&self, setup: &Setup) -> Result<Registry<dyn Publish>, SetupError> {
        Registry::new(setup)
    }

    fn connecting(&self, setup: &Setup) -> Result<Registry<dyn Connect>, SetupError> {
        Registry::new(setup)
    }

    fn refreshing(&self, setup: &Setup) -> Result<Registry<dyn Platform>, SetupError> {
        Registry::new(setup)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct NoExtensions;

impl Extensions for NoExtensions {}
