//! Moves credentials that are stored on the item of their connection to a record of their own: when
//! they are refreshed or lost, and when they are due in the old index.

use cloud::seal::SealError;
use futures::{StreamExt, TryStreamExt, stream};
use storage::{ConnectionRecord, CredentialsLocation, CredentialsRecord, NewCredentials, REFRESH_SHARDS};

use crate::{CredentialService, PublishingError};

/// Number of connections that are moved concurrently.
const AT_ONCE: usize = 8;

/// The most connections of one shard that a round moves. The rest follows in the next round.
const AT_MOST: i32 = 250;

impl CredentialService {
    /// These credentials in a record of their own; `None` if they changed since they were read.
    pub(super) async fn settled(
        &self,
        record: &CredentialsRecord,
    ) -> Result<Option<CredentialsRecord>, PublishingError> {
        let Some(id) = record.beside else { return Ok(Some(record.clone())) };
        let Some(account) = self.store.connection(record.user_id, id).await? else { return Ok(None) };
        if account.connection.generation != record.generation || !self.move_legacy_credentials(&account).await? {
            return Ok(None);
        }
        Ok(self.store.credentials(record.user_id, &record.grant_name).await?)
    }

    /// Moves the connections that are due in the old index.
    pub(super) async fn move_due(&self) -> Result<(), PublishingError> {
        let until = self.clock.now();
        for shard in 0..REFRESH_SHARDS {
            let (entries, _) = self.store.connections_to_refresh(shard, until, None, AT_MOST).await?;
            let moved = stream::iter(entries).map(|(user, id)| async move {
                match self.store.connection_to_refresh(user, id, until).await? {
                    Some(account) => self.move_legacy_credentials(&account).await.map(|_| ()),
                    None => Ok(()),
                }
            });
            moved.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        }
        Ok(())
    }

    /// False if the credentials changed or moved since they were read.
    async fn move_legacy_credentials(&self, account: &ConnectionRecord) -> Result<bool, PublishingError> {
        let CredentialsLocation::Connection(sealed) = &account.kept else { return Ok(false) };
        let old = CredentialsRecord::beside(&account.connection, sealed);
        let now = self.clock.now();
        let credentials = match self.open(&old).await {
            Ok(credentials) => credentials,
            // The key service is down; this connection is not the cause.
            Err(error @ PublishingError::Seal(SealError::Keys(_))) => return Err(error),
            Err(error) => {
                tracing::error!(%error, connection_id = %account.connection.connection_id, "credentials could not be read");
                self.store.remove_from_refresh_index(&account.connection).await?;
                return Ok(false);
            }
        };
        let moved = NewCredentials {
            sealed: self.seal(&old, &credentials).await?,
            grant_name: old.grant_name,
            token_expires_at: old.token_expires_at,
            renewed_at: old.renewed_at,
            is_gone: old.is_gone,
            // Due at once; the check then sets the next time.
            refresh_at: (!old.is_gone).then_some(now),
        };
        Ok(self.store.move_credentials(account, &moved, now).await?.is_applied())
    }
}
