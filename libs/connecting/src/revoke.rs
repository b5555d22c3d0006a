//! Revokes grants at their platform: of disconnected accounts, and those that a connect flow
//! received and does not store.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cloud::seal::Sealer;
use domain::connection::Connection;
use domain::credentials::CredentialState;
use futures::future::join_all;
use platforms::{Account, Connect, Credentials, Registry};
use secrecy::ExposeSecret;
use storage::{CredentialsRecord, StorageError, Store, grant_context, grant_name};

use crate::{ConnectFlows, ConnectingError, LoadedFlow};

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
    for other in others.iter().filter(|it| !it.state.is_gone) {
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

impl ConnectFlows {
    /// Revokes the grants of accounts that were not stored. Revokes nothing if the user has
    /// connected one of them, because the grant may serve that connection too.
    pub(crate) async fn revoke_unused(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        accounts: &[Account],
    ) -> Result<(), ConnectingError> {
        let (store, user) = (&self.store, loaded.flow.user_id);
        let connected = store.connections(user).await?;
        let is_one =
            |it: &Connection| accounts.iter().any(|account| account.profile.account_id == it.profile.account_id);
        if connected.iter().any(|it| it.provider == platform.name() && is_one(it)) {
            return Ok(());
        }
        let mut records = Vec::<CredentialsRecord>::new();
        for account in accounts {
            let grant_name = grant_name(platform.name(), account.grant_name());
            if records.iter().any(|it| it.grant_name == grant_name) {
                continue;
            }
            let plain = account.credentials.to_bytes();
            let context = grant_context(user, &grant_name);
            records.push(CredentialsRecord {
                user_id: user,
                provider: platform.name().to_owned(),
                sealed: self.sealer.seal(plain.expose_secret().as_bytes(), &context).await?,
                grant_name,
                state: CredentialState::default(),
                connections: [].into(),
            });
        }
        let stored = store.grants_by_name(user, records.iter().map(|it| it.grant_name.as_str())).await?;
        records.retain(|it| !stored.contains_key(&it.grant_name));
        let now = self.clock.now();
        join_all(records.iter().map(|it| revoke_grant(store, self.sealer.as_ref(), &self.platforms, it, now))).await;
        Ok(())
    }
}
