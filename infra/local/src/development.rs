//! What `cargo dev` changes in the server: fakes of platforms, a log of store calls and a meter.

use aws_config::SdkConfig;
use platforms::{Connect, Platform, Publish, Registry, Setup, SetupError};
use server::{Extensions, Secret};

use crate::call_log::CallLog;
use crate::fakes::Fakes;
use crate::meter::Meter;

pub(crate) struct Development {
    pub(crate) fakes: Fakes,
    pub(crate) log: Option<CallLog>,
    pub(crate) meter: Option<Meter>,
    pub(crate) secret: Secret,
}

impl Extensions for Development {
    fn database_config(&self, function: Option<&'static str>, config: SdkConfig) -> SdkConfig {
        let metered = match (&self.meter, config.http_client()) {
            (Some(meter), Some(client)) => {
                let client = meter.before(client);
                let mut config = config.into_builder();
                config.set_http_client(Some(client));
                config.build()
            }
            _ => config,
        };
        match function {
            Some(function) => self.files_config(function, metered),
            None => metered,
        }
    }

    fn files_config(&self, function: &'static str, config: SdkConfig) -> SdkConfig {
        match &self.log {
            Some(log) => log.config(function, config, &self.secret),
            None => config,
        }
    }

    fn publishing(&self, setup: &Setup) -> Result<Registry<dyn Publish>, SetupError> {
        self.fakes.registry(setup)
    }

    fn connecting(&self, setup: &Setup) -> Result<Registry<dyn Connect>, SetupError> {
        self.fakes.registry(setup)
    }

    fn refreshing(&self, setup: &Setup) -> Result<Registry<dyn Platform>, SetupError> {
        self.fakes.registry(setup)
    }
}
