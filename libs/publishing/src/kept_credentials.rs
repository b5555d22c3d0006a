//! Credentials as they are kept, for a question that a client waits for.

use cloud::seal::Sealer;
use platforms::{Credentials, UnreadableCredentials};
use storage::{ConnectionRecord, KeptIn, Store, credentials_context};

use crate::PublishingError;

/// The credentials of an account, as they are kept; `None` where its grant is gone.
/// They are not renewed: whoever asks waits, and upkeep renews what can be renewed
/// well before it ends.
pub async fn kept_credentials(
    store: &Store,
    sealer: &dyn Sealer,
    account: &ConnectionRecord,
) -> Result<Option<Credentials>, PublishingError> {
    let Some(record) = store.credentials_of(account).await?.filter(|it| !it.is_gone) else { return Ok(None) };
    let plain = sealer.open(&record.sealed, &record.context()).await?;
    with_its_own(sealer, account, Credentials::from_bytes(&plain)?).await.map(Some)
}

/// The credentials of a grant, with what is this account's own.
pub(crate) async fn with_its_own(
    sealer: &dyn Sealer,
    account: &ConnectionRecord,
    credentials: Credentials,
) -> Result<Credentials, PublishingError> {
    let own = match &account.kept {
        KeptIn::Grant { own: Some(own), .. } => {
            let connection = &account.connection;
            let context = credentials_context(connection.user_id, connection.connection_id, &connection.provider);
            let plain = sealer.open(own, &context).await?;
            Some(String::from_utf8(plain).map_err(|_| UnreadableCredentials)?.into())
        }
        KeptIn::Grant { own: None, .. } | KeptIn::Connection(_) => None,
    };
    Ok(Credentials { own, ..credentials })
}
