//! The app credentials (client id and secret) that an operator stored for a platform.

use std::sync::Arc;

use async_trait::async_trait;
use aws_config::SdkConfig;
use cloud::secrets::Secret;
use domain::clock::Clock;
use platforms::{AppCredentials, AppSource, DependencyError};

pub(crate) struct AppSecret(Secret<AppCredentials>);

impl AppSecret {
    /// `id` is the name or ARN of the secret.
    pub(crate) fn new(aws: &SdkConfig, id: String) -> Self {
        Self(Secret::new(aws, id, AppCredentials::EXAMPLE_JSON, Clock::System))
    }
}

#[async_trait]
impl AppSource for AppSecret {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError> {
        // The cause is already logged.
        self.0.get().await.map_err(|_| DependencyError)
    }

    fn report_refused(&self, credentials: &Arc<AppCredentials>) {
        self.0.refused(credentials);
    }
}
