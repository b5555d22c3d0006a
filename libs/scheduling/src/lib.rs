//! Creates, checks, changes and deletes posts, each written together with its deliveries in one
//! transaction, and rolls the deliveries up into the post. `libs/publishing` makes the deliveries. See
//! `docs/publishing.md`.
//!
//! A change and a delivery of the same post are decided by conditions of the writes: after the
//! response to a change, the old version is never published.

mod attachments;
mod budget;
mod change_post;
mod config;
mod create_post;
mod deliveries;
mod error;
mod options;
mod plan_limits;
mod roll_up;
mod upload_quota;
mod uploads;
mod validate_post;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::bucket::Bucket;
use cloud::events::{EventBus, publish_event};
use cloud::pictures::Pictures;
use cloud::queue::Queue;
use domain::backoff::Backoff;
use domain::budget::Budgets;
use domain::clock::Clock;
use domain::event::Event;
use domain::id::Ids;
use domain::media::MediaLimits;
use domain::options::PlatformOptions;
use domain::plan::Plans;
use domain::post::upload_changes;
use domain::random::Random;
use platforms::LeadTimesByPlatform;
use storage::{PostWrite, PostWritten, StorageError, Store};

pub use change_post::Changed;
pub use create_post::{Created, NotCreated};
pub use deliveries::queue_imminent;
pub use error::SchedulingError;
pub use roll_up::RollUps;
pub use validate_post::{PostValidated, Warning};

/// How long a client's write is retried when other requests write the same post or the same counts.
/// The functions that clients call time out after 29 seconds.
const WRITE_RETRY_WINDOW: TimeDelta = TimeDelta::seconds(12);

#[derive(Clone)]
pub struct Scheduling {
    pub store: Store,
    pub bucket: Bucket,
    pub pictures: Arc<dyn Pictures>,
    pub queue: Arc<dyn Queue>,
    pub events: Arc<dyn EventBus>,
    pub clock: Clock,
    pub random: Random,
    pub ids: Ids,
    pub roll_ups: RollUps,
    pub rules: PostRules,
}

#[derive(Clone, Debug, Default)]
pub struct PostRules {
    pub leads: LeadTimesByPlatform,
    pub vocabulary: PlatformOptions,
    pub media_limits: MediaLimits,
    pub plans: Plans,
    pub budgets: Budgets,
}

impl Scheduling {
    fn write_retries(&self) -> Backoff {
        Backoff::until(self.clock.now() + WRITE_RETRY_WINDOW, self.random.clone())
    }

    /// An error if the next try would be too late.
    async fn await_next_try(&self, retries: &mut Backoff) -> Result<(), SchedulingError> {
        let at = retries.next(self.clock.now()).ok_or(SchedulingError::Contended)?;
        cloud::timer::sleep_until(&self.clock, at).await;
        Ok(())
    }

    /// `None` if other writers conflicted every time.
    async fn try_write_post(
        &self,
        write: &PostWrite<'_>,
        now: DateTime<Utc>,
    ) -> Result<Option<PostWritten>, StorageError> {
        let written = match self.store.write_post(write, now).await {
            Err(StorageError::Contended) => return Ok(None),
            written => written?,
        };
        // The post is written, whatever the result of this is. A lost count costs a warning.
        if written == PostWritten::Done
            && let Err(error) = self.store.count_uploads(&upload_changes(write.before, write.after)).await
        {
            tracing::warn!(%error, "the uploads of a post were not counted for their day");
        }
        Ok(Some(written))
    }

    async fn publish_event(&self, event: Option<Event>) {
        if let Some(event) = event {
            publish_event(self.events.as_ref(), &event).await;
        }
    }
}
