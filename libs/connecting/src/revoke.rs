//! Revokes grants at their platform.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cloud::seal::Sealer;
use platforms::{Connect, Credentials, Registry};
use storage::{CredentialsRecord, StorageError, Store};

/// The timeout of the platform. The client waits for it.
const REVOCATION: Duration = Duration::from_secs(5);

/// Revokes a grant at its platform, unless another user needs it. A failure or timeout is only
/// logged.
pub async fn revoke_grant(
    store: &Store,
    sealer: &dyn Sealer,
    platforms: &Registry<dyn Connect>,
    record: &CredentialsRecord,
    now: DateTime<Utc>,
) {
    let grant = &record.grant_name;
    let Some(platform) = platforms.get(&record.provider) else { return };
    let Some(credentials) = open(sealer, record).await else {
        tracing::error!(grant, "credentials could not be opened to revoke them");
        return;
    };
    let revoked = async {
        match is_needed_by_others(store, sealer, platform, record, &credentials).await {
            Ok(false) => platform.revoke(&credentials, now).await,
            Ok(true) => Ok(()),
            Err(error) => {
                tracing::error!(%error, grant, "grant was kept, because another connection may need it");
                Ok(())
            }
        }
    };
    match tokio::time::timeout(REVOCATION, revoked).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(grant, ?error, "grant could not be revoked"),
        Err(_) => tracing::warn!(grant, "grant could not be revoked in time"),
    }
}

/// Whether revoking this grant would take it from another user of this deployment: some platforms
/// give every user who connects the same account the same token, and on some a person's grant ends
/// with all of its tokens.
async fn is_needed_by_others(
    store: &Store,
    sealer: &dyn Sealer,
    platform: &dyn Connect,
    record: &CredentialsRecord,
    credentials: &Credentials,
) -> Result<bool, StorageError> {
    let others = store.other_users_records(record).await?;
    for other in others.iter().filter(|it| !it.is_gone) {
        match open(sealer, other).await {
            Some(other_credentials) if !platform.revokes_all() && !other_credentials.shares_token_with(credentials) => {
            }
            Some(_) | None => return Ok(true),
        }
    }
    Ok(false)
}

async fn open(sealer: &dyn Sealer, record: &CredentialsRecord) -> Option<Credentials> {
    let opened = sealer.open(&record.sealed, &record.context()).await;
    Credentials::from_bytes(&opened.ok()?).ok()
}
