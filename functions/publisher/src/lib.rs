//! The publisher function: each minute, puts the deliveries that are due soon on the queue.

use publishing::{Planned, Publishing, PublishingError};

/// Does the work of one minute.
pub async fn tick(publishing: &Publishing) -> Result<Planned, PublishingError> {
    let planned = publishing.plan().await?;
    let overdue_s = planned.oldest_overdue.num_seconds();
    tracing::info!(planned = planned.count, overdue_s, "planned what is due soon");
    if 0 < overdue_s {
        tracing::info!(target: cloud::metrics::TARGET, oldest_overdue_s = overdue_s, "a delivery is overdue");
    }
    // Deliveries come first: events may be a minute late.
    publishing.empty_outbox().await?;
    Ok(planned)
}
