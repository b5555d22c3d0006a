use publishing::testing::PublishingHarness;

use crate::{Housekeeping, Outbox};

pub(crate) fn housekeeping(harness: &PublishingHarness) -> Housekeeping {
    Housekeeping {
        store: harness.store.clone(),
        bucket: harness.scheduling.bucket.clone(),
        sealer: harness.sealer.clone(),
        clock: harness.clock.clone(),
        media_limits: harness.scheduling.rules.media_limits,
    }
}

pub(crate) fn outbox(harness: &PublishingHarness) -> Outbox {
    Outbox { store: harness.store.clone(), events: harness.events.clone(), clock: harness.clock.clone() }
}
