//! Giving a grant back at its platform.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cloud::seal::Sealer;
use platforms::{Connect, Credentials, Registry};
use storage::{ConnectionRecord, StorageError, Store, credentials_context};

/// How long a platform may take to revoke the grant. The client waits for it.
const REVOCATION: Duration = Duration::from_secs(5);

/// Revokes the grant of a connection at its platform, unless another connection
/// needs it. When that fails or takes too long, it is only logged.
pub async fn revoke_grant(
    store: &Store,
    sealer: &dyn Sealer,
    platforms: &Registry<dyn Connect>,
    record: &ConnectionRecord,
    now: DateTime<Utc>,
) {
    let id = record.connection.connection_id;
    let Some(platform) = platforms.get(&record.connection.provider) else { return };
    let Some(credentials) = open(sealer, record).await else {
        tracing::error!(connection_id = %id, "credentials could not be opened to revoke them");
        return;
    };
    let revoked = async {
        match somebody_else_needs(store, sealer, record, &credentials).await {
            Ok(false) => platform.revoke(&credentials, now).await,
            Ok(true) => Ok(()),
            Err(error) => {
                tracing::error!(%error, connection_id = %id, "a grant is kept, because others may need it");
                Ok(())
            }
        }
    };
    match tokio::time::timeout(REVOCATION, revoked).await {
        Ok(Ok(())) => {}
        Ok(Err(setback)) => tracing::warn!(connection_id = %id, ?setback, "a grant was not revoked"),
        Err(_) => tracing::warn!(connection_id = %id, "a grant was not revoked in time"),
    }
}

/// Whether revoking this connection's token would take it from another
/// connection of this deployment, of whatever user: some platforms give the
/// same token to everybody who connects the same account.
async fn somebody_else_needs(
    store: &Store,
    sealer: &dyn Sealer,
    record: &ConnectionRecord,
    credentials: &Credentials,
) -> Result<bool, StorageError> {
    for other in store.other_connections_of(&record.connection).await? {
        match open(sealer, &other).await {
            Some(theirs) if !theirs.share_a_token(credentials) => {}
            Some(_) | None => return Ok(true),
        }
    }
    Ok(false)
}

async fn open(sealer: &dyn Sealer, record: &ConnectionRecord) -> Option<Credentials> {
    let connection = &record.connection;
    let context = credentials_context(connection.user_id, connection.connection_id, &connection.provider);
    let opened = sealer.open(&record.credentials, &context).await;
    Credentials::from_bytes(&opened.ok()?).ok()
}
