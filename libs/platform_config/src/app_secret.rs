//! This service's id and secret at a platform, as an operator keeps them.

use std::sync::Arc;

use async_trait::async_trait;
use aws_config::SdkConfig;
use cloud::secrets::Secret;
use domain::clock::Clock;
use platforms::{AppCredentials, AppSource, DependencyError};

/// App credentials in a secret of AWS Secrets Manager.
pub(crate) struct AppSecret(Secret<AppCredentials>);

impl AppSecret {
    /// The secret with this name or ARN.
    pub(crate) fn new(aws: &SdkConfig, id: String) -> Self {
        Self(Secret::new(aws, id, AppCredentials::FORM, Clock::System))
    }
}

#[async_trait]
impl AppSource for AppSecret {
    async fn credentials(&self) -> Result<Arc<AppCredentials>, DependencyError> {
        // Why is in the log already.
        self.0.get().await.map_err(|_| DependencyError)
    }

    fn refused(&self, credentials: &Arc<AppCredentials>) {
        self.0.refused(credentials);
    }
}
