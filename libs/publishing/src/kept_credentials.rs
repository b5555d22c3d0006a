//! Credentials as they are kept, for a question that a client waits for.

use cloud::seal::Sealer;
use platforms::Credentials;
use storage::{ConnectionRecord, credentials_context};

use crate::PublishingError;

/// The credentials of an account, as they are kept. They are not renewed: whoever
/// asks waits, and upkeep renews what can be renewed well before it ends.
pub async fn kept_credentials(sealer: &dyn Sealer, account: &ConnectionRecord) -> Result<Credentials, PublishingError> {
    let connection = &account.connection;
    let context = credentials_context(connection.user_id, connection.connection_id, &connection.provider);
    let plain = sealer.open(&account.credentials, &context).await?;
    Ok(Credentials::from_bytes(&plain)?)
}
