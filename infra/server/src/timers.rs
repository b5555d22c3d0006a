//! What a deployment runs by schedules.

use std::time::Duration;

use connecting::CredentialService;
use housekeeping::{Housekeeping, Outbox};
use platforms::{Platform, Registry};
use publishing::Planner;
use storage::Store;
use tokio::task::JoinHandle;

use crate::data_folder::{DataFolder, FILES};
use crate::error::ServerError;
use crate::health::LastTick;
use crate::metrics::Metrics;
use crate::pictures;
use crate::settings::Data;

/// A deployment uses one minute, because each run is billed.
const TICK: Duration = Duration::from_secs(5);

const UPKEEP: Duration = Duration::from_mins(1);

pub(crate) struct Timers {
    pub(crate) planner: Planner,
    pub(crate) outbox: Outbox,
    pub(crate) housekeeping: Housekeeping,
    pub(crate) credentials: CredentialService,
    pub(crate) renewable: Registry<dyn Platform>,
    pub(crate) last_tick: LastTick,
    pub(crate) metrics: Metrics,
}

impl Timers {
    pub(crate) fn start(self, data: Data) -> [JoinHandle<()>; 2] {
        let Self { planner, outbox, housekeeping, credentials, renewable, last_tick, metrics } = self;
        let clock = housekeeping.clock.clone();
        let files = data.folder().join(FILES);
        let ticks = tokio::spawn(async move {
            // The queue of an earlier process is lost, so its deliveries are planned again.
            if let Err(error) = planner.plan_anew().await {
                tracing::error!(%error, "deliveries of an earlier process could not be planned again");
            }
            let mut ticks = tokio::time::interval(TICK);
            loop {
                ticks.tick().await;
                match publisher::tick(&planner, &outbox).await {
                    Ok(planned) => {
                        last_tick.set(clock.now());
                        metrics.set_oldest_overdue(planned.oldest_overdue.num_seconds().cast_unsigned());
                    }
                    Err(error) => tracing::error!(%error, "the publisher's tick failed"),
                }
                if let Some(folder) = data.lasting()
                    && let Err(error) = record_planned_until(folder.clone(), &planner.store).await
                {
                    tracing::error!(%error, "the data folder could not be updated");
                }
            }
        });
        let rounds = tokio::spawn(async move {
            let mut rounds = tokio::time::interval(UPKEEP);
            loop {
                rounds.tick().await;
                if let Err(error) = upkeep::round(&housekeeping, &credentials, &renewable).await {
                    tracing::error!(%error, "upkeep failed");
                }
                // In a deployment, a rule of the bucket does this.
                if let Err(error) = pictures::remove_old(&files, housekeeping.clock.now().into()) {
                    tracing::error!(%error, "old derived files could not be removed");
                }
            }
        });
        [ticks, rounds]
    }
}

async fn record_planned_until(folder: DataFolder, store: &Store) -> Result<(), ServerError> {
    let until = store.planned_until().await?;
    tokio::task::spawn_blocking(move || folder.record_planned_until(until)).await.map_err(std::io::Error::from)?
}
