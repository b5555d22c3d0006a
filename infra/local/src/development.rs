//! What `cargo dev` changes in the server: fakes of platforms, a log of store calls and a meter, and the
//! history of deliveries.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::Builder;
use domain::clock::Clock;
use platforms::{Connect, Platform, Publish, Registry, Setup, SetupError};
use server::{Extensions, Secret};

use crate::call_log::CallLog;
use crate::deliveries::History;
use crate::fakes::Fakes;
use crate::meter::Meter;

pub(crate) struct Development {
    pub(crate) fakes: Fakes,
    pub(crate) history: History,
    pub(crate) clock: Clock,
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

    fn database_client(&self, config: Builder, deliveries: &str) -> Builder {
        config.interceptor(self.history.watch(deliveries.to_owned(), self.clock.clone()))
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

#[cfg(test)]
pub(crate) async fn recorded_store(history: &History, clock: &Clock) -> storage::Store {
    let secret = Secret::random();
    let extensions: std::sync::Arc<dyn Extensions> = std::sync::Arc::new(Development {
        fakes: Fakes::default(),
        history: history.clone(),
        clock: clock.clone(),
        log: None,
        meter: None,
        secret: secret.clone(),
    });
    server::Stores::open(None, &secret, &extensions).await.unwrap().shared()
}
