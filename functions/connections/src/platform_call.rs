//! A call of an account's platform while a client waits.

use std::time::Duration;

use connecting::{CallCredentials, ConnectingError, StoredCredentials};
use domain::delivery::AttemptError;
use platforms::{Connect, Credentials, DependencyError};
use storage::ConnectionRecord;
use tokio::time::timeout;

use crate::App;
use crate::error::ConnectionsError;

const CALL_TIMEOUT: Duration = Duration::from_secs(12);

impl App {
    /// Refreshes credentials that are about to expire. The inner error is the platform's.
    pub(crate) async fn call_platform<T, F>(
        &self,
        platform: &dyn Connect,
        record: &ConnectionRecord,
        call: impl FnOnce(Credentials) -> F + Send,
    ) -> Result<Result<T, AttemptError>, ConnectionsError>
    where
        F: Future<Output = Result<T, AttemptError>> + Send,
    {
        let connection = &record.connection;
        let (connection_id, title) = (connection.connection_id, &connection.rules.title);
        let lost_grant = || ConnectionsError::LostGrant { title: title.clone() };
        let no_credentials = |source| ConnectionsError::Credentials { connection_id, source };
        if connection.needs_reconnection {
            return Err(lost_grant());
        }

        let stored = self.credential_service().stored(record).await.map_err(no_credentials)?;
        let stored = stored.ok_or_else(lost_grant)?;
        let host = platform.host(stored.credentials());
        let called = async {
            let opened = match self.open_credentials(record, stored).await.map_err(no_credentials)? {
                CallCredentials::Open(opened) => opened,
                CallCredentials::Unavailable(AttemptError::Unauthorized { .. }) => return Err(lost_grant()),
                CallCredentials::Unavailable(error) => return Ok(Err(error)),
            };
            timeout(CALL_TIMEOUT, call(opened.credentials)).await.map_err(|_| ConnectionsError::timed_out(title))
        };
        self.api.with_permit(connection.user_id, host.as_deref(), called).await?
    }

    /// Runs in a task of its own, which continues when the client disconnects: the response of a
    /// refresh may be the only one with the new token.
    async fn open_credentials(
        &self,
        record: &ConnectionRecord,
        stored: StoredCredentials,
    ) -> Result<CallCredentials, ConnectingError> {
        let (app, record) = (self.clone(), record.clone());
        let task = tokio::spawn(async move {
            let Some(platform) = app.platforms.get(&record.connection.provider) else {
                return Ok(CallCredentials::Unavailable(DependencyError.into()));
            };
            app.credential_service().credentials_for_read(platform, &record, stored).await
        });
        task.await.unwrap_or_else(|error| {
            tracing::error!(%error, "credentials were not looked for to the end");
            Ok(CallCredentials::Unavailable(DependencyError.into()))
        })
    }
}
