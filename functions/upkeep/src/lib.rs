//! Upkeep: renews credentials before they expire, and removes uploads that no
//! post uses.

use platforms::{Platform, Registry};
use publishing::{Publishing, PublishingError, remove_unused_uploads};

/// Does one round of both. What fails is logged and tried again in the next
/// round.
pub async fn round(publishing: &Publishing, platforms: &Registry<dyn Platform>) -> Result<(), PublishingError> {
    let renewed = publishing.refresh_due(platforms).await;
    // The uploads do not depend on the credentials, so an error with the
    // credentials is returned only after the uploads were removed.
    let removed = remove_unused_uploads(&publishing.store, &publishing.bucket, publishing.clock.now()).await;
    let (renewed, removed) = (renewed?, removed?);
    tracing::info!(renewed, removed, "upkeep is done");
    Ok(())
}
