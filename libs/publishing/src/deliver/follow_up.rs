//! What follows a publication: best effort, and never made twice.

use chrono::{DateTime, Utc};
use cloud::metrics;
use domain::delivery::{AttemptError, Delivery, FollowUps, State};
use domain::token::random_u32;
use platforms::{FollowUp, Followed, Publish, PublishRequest};
use storage::ConnectionRecord;

use super::{AttemptContext, Continue, TOO_LATE};
use crate::concurrency_limiter::HostPermit;
use crate::{Publishing, PublishingError};

/// What follows the publication of this.
pub(super) fn following(platform: &dyn Publish, job: &PublishRequest<'_>) -> Vec<String> {
    platform.follow_ups(job).into_iter().map(str::to_owned).collect()
}

impl Publishing {
    /// A step of what follows next. Nobody is told of it but the log: the post is
    /// published and looks so.
    pub(super) async fn follow_up(
        &self,
        begun: AttemptContext<'_>,
        host: HostPermit,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        job: &PublishRequest<'_>,
    ) -> Result<Continue, PublishingError> {
        let delivery = &begun.delivery;
        let (State::Published(published), Some(follow_ups)) = (&delivery.state, &delivery.follow_ups) else {
            self.release_host_permit(host).await;
            return Ok(Continue::Done);
        };
        let it = FollowUp { name: follow_ups.first_name(), published, progress: follow_ups.progress.as_deref() };
        let late = || Err(AttemptError::Unknown { may_still_run: true, retry_at: None, reason: TOO_LATE.to_owned() });
        let call = platform.follow_up(job, &it);
        let followed = self.with_host_permit(host, call, |_| true).await.unwrap_or_else(late);
        let followed = match followed {
            Err(setback) => Err(self.check_lost_grant(&begun, platform, record, setback).await),
            done => done,
        };
        let now = self.clock.now();
        let why = followed.as_ref().err().map(state_of);
        let after = match followed {
            Ok(Followed::Again { progress, at }) => delivery.clone().continue_follow_up(progress, at),
            Ok(Followed::Done) => delivery.clone().record_follow_up(Ok(()), now, random_u32()),
            Err(setback) => delivery.clone().record_follow_up(Err(&setback), now, random_u32()),
        };
        if let Some(why) = why {
            note_missed(delivery, &after, why);
        }
        self.keep(&begun, after, now).await
    }

    /// No call for what follows next could be made now.
    pub(super) async fn follow_up_not_called(
        &self,
        task: &AttemptContext<'_>,
        setback: &AttemptError,
        now: DateTime<Utc>,
    ) -> Result<Continue, PublishingError> {
        let after = task.delivery.clone().record_follow_up(Err(setback), now, random_u32());
        note_missed(&task.delivery, &after, state_of(setback));
        self.keep(task, after, now).await
    }

    /// What follows next is not tried any more.
    pub(super) async fn leave_follow_up(
        &self,
        task: &AttemptContext<'_>,
        now: DateTime<Utc>,
    ) -> Result<Continue, PublishingError> {
        self.roll_up(task.post.user_id, task.post.post_id).await?;
        let after = task.delivery.clone().end_follow_up(now);
        let is_in_doubt = task.delivery.follow_ups.as_ref().is_some_and(|it| it.call_begun_at.is_some());
        note_missed(&task.delivery, &after, if is_in_doubt { "unknown" } else { "late" });
        self.keep(task, after, now).await
    }

    /// Nothing that follows is tried any more: its account is gone.
    pub(super) async fn give_follow_ups_up(
        &self,
        task: &AttemptContext<'_>,
        now: DateTime<Utc>,
    ) -> Result<Continue, PublishingError> {
        let after = task.delivery.clone().drop_follow_ups();
        note_missed(&task.delivery, &after, "disconnected");
        self.keep(task, after, now).await
    }
}

/// Logs what is left between these two and was not done. What is tried again is not
/// missed yet.
fn note_missed(before: &Delivery, after: &Delivery, why: &'static str) {
    let names = |it: &Delivery| it.follow_ups.as_ref().map_or(0, |it| it.names.len());
    let missed = names(before).saturating_sub(names(after));
    if missed == 0 {
        return;
    }
    tracing::info!(
        target: metrics::TARGET, follow_ups_missed = missed, why,
        follow_up = before.follow_ups.as_ref().map(FollowUps::first_name), platform = before.provider,
        user_id = %before.user_id, post_id = %before.post_id, target_id = %before.target_id,
        "what follows a post was not done"
    );
}

/// A setback in a word for the log, which its reason is not for.
fn state_of(setback: &AttemptError) -> &'static str {
    match setback {
        AttemptError::Refused { .. } => "refused",
        AttemptError::RetryLater { .. } => "busy",
        AttemptError::Unauthorized { .. } => "disconnected",
        AttemptError::PreparationExpired { .. } => "stale",
        AttemptError::Duplicate { .. } => "duplicate",
        AttemptError::Unknown { .. } => "unknown",
    }
}
