//! Follow-ups of a publication: best effort, and never made twice.

use chrono::{DateTime, Utc};
use cloud::metrics;
use domain::attempt::AttemptStep;
use domain::delivery::{AttemptError, Delivery, FollowUps};
use domain::post::{Post, SegmentKind, Target};
use platforms::{FollowUp, Followed, Publish, PublishRequest, with_last_call};
use storage::ConnectionRecord;

use super::{AttemptContext, Continue, TOO_LATE};
use crate::host_permits::HostPermit;
use crate::user_messages::removed_post;
use crate::{Publishing, PublishingError};

/// The names do not depend on the segment of the request.
pub(super) fn follow_up_names(
    platform: &dyn Publish,
    request: &PublishRequest<'_>,
    post: &Post,
    target: &Target,
) -> Vec<String> {
    let of_post = PublishRequest {
        segment: SegmentKind::Post,
        reply_to: None,
        text: post.text_of(target).as_str(),
        media: post.media_of(target),
        options: &target.options,
        ..*request
    };
    platform.follow_ups(&of_post).into_iter().map(str::to_owned).collect()
}

impl Publishing {
    /// Makes one step of the next follow-up. A failure is only logged: the post is published and
    /// stays so, unless the step finds that the platform has removed it.
    pub(super) async fn follow_up(
        &self,
        context: AttemptContext<'_>,
        host_permit: HostPermit,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        request: &PublishRequest<'_>,
    ) -> Result<Continue, PublishingError> {
        let delivery = &context.delivery;
        let (Some(published), Some(follow_ups)) = (delivery.published.first(), &delivery.follow_ups) else {
            self.release_host_permit(host_permit).await;
            return Ok(Continue::Done);
        };
        let follow_up = FollowUp { name: follow_ups.first_name(), published, progress: follow_ups.progress.as_deref() };
        let timed_out =
            || Err(AttemptError::Unknown { may_still_run: true, retry_at: None, reason: TOO_LATE.to_owned() });
        let call = Box::pin(self.with_host_permit(host_permit, platform.follow_up(request, &follow_up), |_| true));
        let (result, last_call) = with_last_call(call).await;
        let ended_at = self.clock.now();
        let result = match result.unwrap_or_else(timed_out) {
            Err(error) => Err(self.check_lost_grant(&context, platform, record, error).await),
            done => done,
        };
        let context = context.attempted(AttemptStep::Comment, (request.now, ended_at), &result, last_call);
        let delivery = &context.delivery;
        let now = self.clock.now();
        let error_kind_name = result.as_ref().err().map(error_kind);
        let after = match result {
            Ok(Followed::Again { progress, at }) => delivery.clone().continue_follow_up(progress, at),
            Ok(Followed::Removed { reason }) => {
                delivery.clone().record_removal(removed_post(&reason, &record.connection))
            }
            Ok(Followed::Done) => delivery.clone().record_follow_up(Ok(()), now, self.random.u32()),
            Err(error) => delivery.clone().record_follow_up(Err(&error), now, self.random.u32()),
        };
        if let Some(error_kind_name) = error_kind_name {
            log_missed(delivery, &after, error_kind_name);
        }
        self.keep(&context, after, now).await
    }

    pub(super) async fn follow_up_not_called(
        &self,
        context: &AttemptContext<'_>,
        error: &AttemptError,
        now: DateTime<Utc>,
    ) -> Result<Continue, PublishingError> {
        let after = context.delivery.clone().record_follow_up(Err(error), now, self.random.u32());
        log_missed(&context.delivery, &after, error_kind(error));
        self.keep(context, after, now).await
    }

    pub(super) async fn give_up_follow_up(
        &self,
        context: &AttemptContext<'_>,
        now: DateTime<Utc>,
    ) -> Result<Continue, PublishingError> {
        self.roll_ups.roll_up(context.post.user_id, context.post.post_id).await?;
        let after = context.delivery.clone().end_follow_up(now);
        let is_outcome_unknown = context.delivery.follow_ups.as_ref().is_some_and(|it| it.call_begun_at.is_some());
        log_missed(&context.delivery, &after, if is_outcome_unknown { "unknown" } else { "late" });
        self.keep(context, after, now).await
    }

    pub(super) async fn drop_follow_ups(
        &self,
        context: &AttemptContext<'_>,
        now: DateTime<Utc>,
    ) -> Result<Continue, PublishingError> {
        let after = context.delivery.clone().drop_follow_ups();
        log_missed(&context.delivery, &after, "disconnected");
        self.keep(context, after, now).await
    }
}

/// Logs the follow-ups that ended between these two states without being done. A follow-up that
/// will be tried again is not missed yet.
fn log_missed(before: &Delivery, after: &Delivery, why: &'static str) {
    let names = |it: &Delivery| it.follow_ups.as_ref().map_or(0, |it| it.names.len());
    let missed = names(before).saturating_sub(names(after));
    if missed == 0 {
        return;
    }
    tracing::info!(
        target: metrics::TARGET, follow_ups_missed = missed, why,
        follow_up = before.follow_ups.as_ref().map(FollowUps::first_name), platform = before.provider,
        user_id = %before.user_id, post_id = %before.post_id, target_id = %before.target_id,
        "follow-ups of a post were not done"
    );
}

/// For the log. The reason of the error is not logged.
fn error_kind(error: &AttemptError) -> &'static str {
    match error {
        AttemptError::Refused { .. } => "refused",
        AttemptError::RetryLater { .. } => "busy",
        AttemptError::Unauthorized { .. } => "disconnected",
        AttemptError::PreparationExpired { .. } => "stale",
        AttemptError::Duplicate { .. } => "duplicate",
        AttemptError::Unknown { .. } | AttemptError::Accepted { .. } => "unknown",
    }
}
