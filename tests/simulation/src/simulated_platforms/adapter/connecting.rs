//! The simulation uses only disconnecting from this trait.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::delivery::AttemptError;
use domain::rules::Rules;
use platforms::{
    Account, AuthorizationRequest, AuthorizeStep, Callback, Connect, ConnectError, Credentials, FieldValues,
};

use super::Adapter;
use crate::simulated_platforms::faults::{PlatformFault, read_probabilities};

#[async_trait]
impl Connect for Adapter {
    fn rules(&self) -> Rules {
        domain::testing::rules()
    }

    async fn authorize(
        &self,
        _: &FieldValues,
        _: &AuthorizationRequest,
        _: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        Err(ConnectError::Unreachable)
    }

    async fn complete(&self, _: &Callback, _: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        Err(ConnectError::Unreachable)
    }

    async fn revoke(&self, credentials: &Credentials, _: DateTime<Utc>) -> Result<(), AttemptError> {
        let (call, fault) =
            self.call(format!("revoke {}", self.spec.name), &read_probabilities(&self.platforms.world.probabilities));
        call.go().await;
        if fault.is_done() {
            self.platforms.lock().grants.revoke(credentials);
        }
        call.respond().await;
        match fault {
            PlatformFault::Fine => Ok(()),
            _ => Err(AttemptError::Unknown {
                may_still_run: false,
                retry_at: None,
                reason: "it did not answer".to_owned(),
            }),
        }
    }
}
