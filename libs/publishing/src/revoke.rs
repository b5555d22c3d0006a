//! Giving a grant back at its platform.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cloud::seal::Sealer;
use platforms::{Connect, Credentials, Registry};
use storage::{CredentialsRecord, KeptIn, StorageError, Store};

/// How long a platform may take to revoke the grant. The client waits for it.
const REVOCATION: Duration = Duration::from_secs(5);

/// Revokes a grant at its platform, unless somebody else needs it. When that
/// fails or takes too long, it is only logged.
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
        match somebody_else_needs(store, sealer, platform, record, &credentials).await {
            Ok(false) => platform.revoke(&credentials, now).await,
            Ok(true) => Ok(()),
            Err(error) => {
                tracing::error!(%error, grant, "a grant is kept, because others may need it");
                Ok(())
            }
        }
    };
    match tokio::time::timeout(REVOCATION, revoked).await {
        Ok(Ok(())) => {}
        Ok(Err(setback)) => tracing::warn!(grant, ?setback, "a grant was not revoked"),
        Err(_) => tracing::warn!(grant, "a grant was not revoked in time"),
    }
}

/// Whether revoking this grant would take it from another user of this
/// deployment: some platforms give the same token to everybody who connects the
/// same account, and at some a person's grant ends with all of its tokens.
async fn somebody_else_needs(
    store: &Store,
    sealer: &dyn Sealer,
    platform: &dyn Connect,
    record: &CredentialsRecord,
    credentials: &Credentials,
) -> Result<bool, StorageError> {
    let mut others = store.same_grant_of_others(record).await?;
    // Those that were connected before grants had records of their own.
    for other in store.other_connections_of(record.user_id, &record.grant_name).await? {
        if let KeptIn::Connection(sealed) = &other.kept {
            others.push(CredentialsRecord::beside(&other.connection, sealed));
        }
    }
    for other in others.iter().filter(|it| !it.is_gone) {
        match open(sealer, other).await {
            Some(theirs) if !platform.revokes_all() && !theirs.share_a_token(credentials) => {}
            Some(_) | None => return Ok(true),
        }
    }
    Ok(false)
}

async fn open(sealer: &dyn Sealer, record: &CredentialsRecord) -> Option<Credentials> {
    let opened = sealer.open(&record.sealed, &record.context()).await;
    Credentials::from_bytes(&opened.ok()?).ok()
}
