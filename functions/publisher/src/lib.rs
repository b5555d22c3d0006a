//! The publisher function: each minute, puts the deliveries that are due soon on the queue.

use housekeeping::{HousekeepingError, Outbox};
use publishing::{Planned, Planner, PublishingError};

/// The next tick repeats the part that failed.
#[derive(Debug, thiserror::Error)]
pub enum TickError {
    #[error("deliveries: {0}")]
    Deliveries(#[from] PublishingError),
    #[error("outbox: {0}")]
    Outbox(#[from] HousekeepingError),
}

pub async fn tick(deliveries: &Planner, outbox: &Outbox) -> Result<Planned, TickError> {
    let planned = deliveries.plan().await?;
    let overdue_s = planned.oldest_overdue.num_seconds();
    tracing::info!(planned = planned.count, overdue_s, "planned what is due soon");
    if 0 < overdue_s {
        tracing::info!(target: cloud::metrics::TARGET, oldest_overdue_s = overdue_s, "a delivery is overdue");
    }
    // Deliveries come first: events may be a minute late.
    outbox.sweep().await?;
    Ok(planned)
}
