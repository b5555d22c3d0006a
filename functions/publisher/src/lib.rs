//! The publisher: each minute, whatever is due soon is put on the queue.

use publishing::{Planned, Publishing, PublishingError};

/// One tick.
pub async fn tick(publishing: &Publishing) -> Result<Planned, PublishingError> {
    let planned = publishing.plan().await?;
    // Named values are what the log store makes metrics of.
    tracing::info!(
        planned = planned.count,
        oldest_overdue_s = planned.oldest_overdue.num_seconds(),
        "planned what is due soon"
    );
    Ok(planned)
}
