use housekeeping::{Housekeeping, Outbox};
use platforms::{Platform, Registry};
use publisher::TickError;
use publishing::{Planner, Publishing};
use scheduling::Scheduling;
use upkeep::RoundError;

#[derive(Clone)]
pub(crate) struct Services {
    pub(crate) scheduling: Scheduling,
    pub(crate) publishing: Publishing,
}

impl Services {
    pub(crate) fn planner(&self) -> Planner {
        let Publishing { store, queue, clock, concurrency_limits, .. } = self.publishing.clone();
        Planner { store, queue, clock, concurrency_limits }
    }

    pub(crate) async fn tick(&self) -> Result<(), TickError> {
        let Scheduling { store, events, clock, .. } = self.scheduling.clone();
        publisher::tick(&self.planner(), &Outbox { store, events, clock }).await.map(drop)
    }

    pub(crate) async fn round(&self, platforms: &Registry<dyn Platform>) -> Result<(), RoundError> {
        let Scheduling { store, bucket, clock, rules, .. } = self.scheduling.clone();
        let credentials = &self.publishing.credentials;
        let sealer = credentials.sealer.clone();
        let housekeeping = Housekeeping { store, bucket, sealer, clock, media_limits: rules.media_limits };
        upkeep::round(&housekeeping, credentials, platforms).await
    }
}
