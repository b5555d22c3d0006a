//! Upkeep: credentials are renewed before they end, and uploads that no post
//! uses are removed.

use platforms::{Platform, Registry};
use publishing::{Publishing, PublishingError, remove_unused_uploads};

/// One round. What fails is logged and met again in the next round.
pub async fn round(publishing: &Publishing, platforms: &Registry<dyn Platform>) -> Result<(), PublishingError> {
    let renewed = publishing.refresh_due(platforms).await;
    // The uploads do not depend on the credentials: an error of the one is
    // returned only when the other is done.
    let removed = remove_unused_uploads(&publishing.store, &publishing.bucket, publishing.clock.now()).await;
    let (renewed, removed) = (renewed?, removed?);
    tracing::info!(renewed, removed, "upkeep is done");
    Ok(())
}
