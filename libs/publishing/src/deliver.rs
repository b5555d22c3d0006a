//! Makes one delivery: reads first, takes the lease last, makes one call with an effect, and writes
//! its result. The state machine is in [`domain::delivery`].

mod attempts;
mod follow_up;
mod lost_grant;
mod segment;
mod shown;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::metrics;
use cloud::queue::{Admission, DeliveryMessage, Outgoing};
use cloud::timer::sleep_until;
use connecting::CallCredentials;
use domain::attempt::{Attempt, AttemptStep};
use domain::delivery::{AttemptError, Claim, Delivery, NextStep, PUBLISH_CALL_DELAY, Resolution, State};
use domain::post::{Post, SegmentKind};
use platforms::{Publish, PublishRequest, Registry, with_last_call};
use scheduling::queue_imminent;
use storage::{ConnectionRecord, CredentialsRecord, LoadedDelivery, WriteOutcome};

use self::follow_up::follow_up_names;
use self::segment::{reference, reply_to, segment_index, segment_options};
use crate::claims::{Claims, existing_post_error};
use crate::files::Files;
use crate::host_permits::HostPermit;
use crate::user_messages::{
    Phase, for_unknown_outcome, keep_first_reason, not_connected, resolution_with_user_message, with_user_message,
};
use crate::{Publishing, PublishingError};

/// A wait up to this long happens in the function; a longer one is a message with a delay.
const MAX_WAIT: TimeDelta = TimeDelta::seconds(4);

const MAX_STEPS: usize = 40;

/// A worker starts steps and refreshes for this long after the message arrived. A step takes at
/// most [`platforms::STEP_LIMIT`], and the delivery function times out 10 s after that, which is
/// time for our store. A step that is cut off is repeated; a publish call that is cut off has an
/// unknown outcome.
pub const BEGIN_WITHIN: TimeDelta = TimeDelta::seconds(10);

/// Messages arrive up to three seconds early, and this one has to arrive after the lease.
const AFTER_LEASE: TimeDelta = TimeDelta::seconds(3);

const TOO_LATE: &str = "its server was slow several times and did not respond in time";

enum Continue {
    Again,
    Done,
}

struct AttemptContext<'a> {
    delivery: Delivery,
    post: &'a Post,
    /// `None` for an immediate roll-up.
    roll_up_at: Option<DateTime<Utc>>,
    begin_until: DateTime<Utc>,
    admission: Admission,
    /// How many of the profile's last calls were slow.
    slow_calls: u32,
    segment_index: usize,
    /// The follow-ups of the post, if its delivery ends with the call.
    follow_ups: Vec<String>,
    used: Option<&'a CredentialsRecord>,
    attempt: Option<Attempt>,
}

impl Publishing {
    /// Any number of workers may call this at any time.
    pub async fn deliver(
        &self,
        platforms: &Registry<dyn Publish>,
        message: DeliveryMessage,
    ) -> Result<(), PublishingError> {
        let begin_until = self.clock.now() + BEGIN_WITHIN;
        for _ in 0..MAX_STEPS {
            let loaded = self.store.load_delivery(message.ids).await?;
            let Some(loaded) = loaded.filter(|it| it.delivery.revision == message.revision) else { return Ok(()) };
            // Boxed, because one worker holds many waiting deliveries.
            match Box::pin(self.step(platforms, loaded, message, begin_until)).await? {
                Continue::Again if self.clock.now() <= begin_until => {}
                Continue::Again => {
                    // The next worker has the full time.
                    self.queue.send(&[Outgoing { message, at: self.clock.now() }]).await?;
                    return Ok(());
                }
                Continue::Done => return Ok(()),
            }
        }
        tracing::warn!(post_id = %message.ids.post_id, "a delivery made no progress and was left to the sweep");
        Ok(())
    }

    async fn step(
        &self,
        platforms: &Registry<dyn Publish>,
        work: LoadedDelivery,
        message: DeliveryMessage,
        begin_until: DateTime<Utc>,
    ) -> Result<Continue, PublishingError> {
        let LoadedDelivery { delivery, post, connection, in_flight_calls: mut in_flight } = work;
        let Some(post) = post else {
            // The post was deleted, so its deliveries are deleted too.
            self.store.remove_delivery(&delivery).await?;
            return Ok(Continue::Done);
        };
        let is_of_revision = post.revision == delivery.revision || delivery.has_only_comment_left();
        if delivery.state == State::Waiting && !is_of_revision {
            // Both change together but are read one after the other: read again.
            return Ok(Continue::Again);
        }
        let mut now = self.clock.now();
        let DeliveryMessage { roll_up_at, admission, .. } = message;
        let mut context = AttemptContext {
            segment_index: delivery.current_segment(),
            delivery,
            post: &post,
            roll_up_at,
            begin_until,
            admission,
            slow_calls: in_flight.of_profile.slow_calls,
            follow_ups: Vec::new(),
            used: None,
            attempt: None,
        };
        let mut early_credentials = None;
        if let NextStep::Wait(at) = context.delivery.next_step(now) {
            if MAX_WAIT < at - now || begin_until < at {
                self.queue.send(&[Outgoing { message, at }]).await?;
                return Ok(Continue::Done);
            }
            if context.delivery.state == State::Waiting {
                if let Some(next) = self.next_admission(&in_flight, admission) {
                    return self.reschedule_for_permit(&context, next).await;
                }
                // Credentials are opened or refreshed before the due second.
                if let (Some(account), Some(platform)) = (&connection, platforms.get(&context.delivery.provider)) {
                    early_credentials = Some(Box::pin(self.credentials.credentials(platform, account, at)).await?);
                }
            }
            now = sleep_until(&self.clock, at).await;
            if self.next_admission(&in_flight, admission).is_some() {
                // These calls may have ended meanwhile.
                in_flight = Box::pin(self.store.delivery_calls(context.delivery.ids())).await?;
            }
        }
        context.roll_up_at = roll_up_at.filter(|it| now < *it);
        match context.delivery.next_step(now) {
            // The other worker may have died, and the sweep comes long after the lease.
            NextStep::Leased(ends) => {
                self.queue.send(&[Outgoing { message, at: ends + AFTER_LEASE }]).await?;
                Ok(Continue::Done)
            }
            NextStep::Nothing => Ok(Continue::Done),
            NextStep::Wait(_) => Ok(Continue::Again),
            NextStep::RollUp => {
                self.roll_ups.roll_up(post.user_id, post.post_id).await?;
                Ok(Continue::Done)
            }
            NextStep::GiveUp => {
                let after = context.delivery.clone().give_up();
                self.keep(&context, after, now).await
            }
            NextStep::EndFollowUp => self.give_up_follow_up(&context, now).await,
            next @ (NextStep::Prepare(_) | NextStep::Publish | NextStep::LookUp | NextStep::FollowUp) => {
                if next == NextStep::FollowUp {
                    // The worker that published the post may have died before the roll-up.
                    self.roll_ups.roll_up(post.user_id, post.post_id).await?;
                }
                let platform = platforms.get(&context.delivery.provider);
                let permits = Box::pin(self.acquire_permits(context.delivery.ids(), in_flight, admission));
                let permits = match permits.await? {
                    Ok(permits) => permits,
                    Err(next) => return self.reschedule_for_permit(&context, next).await,
                };
                let work =
                    Box::pin(self.make_attempt(next, context, platform, connection.map(|it| (it, early_credentials))));
                // Boxed, because it counts calls in the store.
                Box::pin(self.with_permits(permits, work)).await
            }
        }
    }

    async fn make_attempt(
        &self,
        next: NextStep,
        context: AttemptContext<'_>,
        platform: Option<&dyn Publish>,
        account: Option<(ConnectionRecord, Option<CallCredentials>)>,
    ) -> Result<Continue, PublishingError> {
        let AttemptContext { delivery, post, .. } = &context;
        let now = self.clock.now();
        let segment_index = segment_index(delivery, next);
        let target = post.target(delivery.target_id);
        let segment = target.and_then(|it| post.segments(it).get(segment_index).copied());
        let (Some((record, early_credentials)), Some(platform), Some(target), Some(segment)) =
            (account, platform, target, segment)
        else {
            if next == NextStep::FollowUp {
                return self.drop_follow_ups(&context, now).await;
            }
            let error = not_connected(delivery.intent.is_some());
            let after = delivery.clone().skip_publish(error, now, self.random.u32());
            return self.keep(&context, after, now).await;
        };
        let credentials = match early_credentials {
            Some(credentials) => credentials,
            None => self.credentials.credentials(platform, &record, now).await?,
        };
        let opened = match credentials {
            CallCredentials::Open(opened) => opened,
            CallCredentials::Unavailable(error) if next == NextStep::FollowUp => {
                return self.follow_up_not_called(&context, &error, now).await;
            }
            CallCredentials::Unavailable(error) => {
                let error = match delivery.intent {
                    Some(_) => for_unknown_outcome(error, None, segment.kind, &record.connection),
                    None => keep_first_reason(error, delivery.note.as_ref(), &record.connection),
                };
                let after = delivery.clone().skip_publish(error, now, self.random.u32());
                return self.keep(&context, after, now).await;
            }
        };
        let Some(host_permit) = self.acquire_host_permit(platform.host(&opened.credentials)).await? else {
            return self.reschedule_for_permit(&context, Admission::WithPermits.max(context.admission)).await;
        };
        // A refresh takes time, and the call begins after it.
        let now = self.clock.now();
        if context.begin_until < now {
            self.release_host_permit(host_permit).await;
            return Ok(Continue::Again);
        }
        let leased = match next {
            NextStep::Publish => delivery.clone().open_intent(now),
            NextStep::FollowUp => delivery.clone().begin_follow_up(now),
            _ => delivery.clone().lease(now),
        };
        let leased = leased.with_write_id(self.random.u64());
        if self.store.replace_delivery(delivery, &leased).await? == WriteOutcome::Conflict {
            self.release_host_permit(host_permit).await;
            return Ok(Continue::Done);
        }
        let files = Files {
            bucket: &self.bucket,
            pictures: self.pictures.as_ref(),
            addresses: self.file_addresses.as_ref(),
            user: delivery.user_id,
            now: self.clock.now(),
        };
        let claims = Claims { store: &self.store, connection: &record.connection, delivery };
        let options = segment_options(target, segment.kind);
        let request = PublishRequest {
            profile: &record.connection.profile,
            credentials: &opened.credentials,
            segment: segment.kind,
            reply_to: reply_to(&delivery.published, segment_index, segment.kind),
            text: segment.text,
            media: segment.media,
            options: &options,
            reference: &reference(delivery, segment_index),
            progress: delivery.progress(segment_index),
            may_have_published: delivery.may_have_published(),
            lost_window: delivery.lost_window,
            publish_at: delivery.publish_at,
            called_at: delivery.intent.as_ref().map_or(now, |it| it.at),
            files: &files,
            claims: &claims,
            now: self.clock.now(),
        };
        let follow_ups = follow_up_names(platform, &request, post, target);
        let used = Some(&opened.record);
        let context = AttemptContext { delivery: leased, used, segment_index, follow_ups, attempt: None, ..context };
        match next {
            NextStep::Prepare(_) => Box::pin(self.prepare(context, host_permit, platform, &record, &request)).await,
            NextStep::Publish => Box::pin(self.publish(context, host_permit, platform, &record, &request)).await,
            // Boxed, because follow-ups are rare and large.
            NextStep::FollowUp => Box::pin(self.follow_up(context, host_permit, platform, &record, &request)).await,
            _ => Box::pin(self.resolve(context, host_permit, platform, &record, &request)).await,
        }
    }

    async fn prepare(
        &self,
        context: AttemptContext<'_>,
        host_permit: HostPermit,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        request: &PublishRequest<'_>,
    ) -> Result<Continue, PublishingError> {
        let timed_out = || Err(AttemptError::RetryLater { retry_at: None, reason: TOO_LATE.to_owned() });
        // A successful step may have waited for a third server (a link preview) or for a large
        // upload, so its duration is no sign of a slow host.
        let call = Box::pin(self.with_host_permit(host_permit, platform.prepare(request), Result::is_err));
        let (prepared, last_call) = with_last_call(call).await;
        let now = self.clock.now();
        let prepared = match prepared.unwrap_or_else(timed_out) {
            Err(error) => {
                let error = self.check_lost_grant(&context, platform, record, error).await;
                Err(with_user_message(error, Phase::Preparation, &record.connection))
            }
            prepared => prepared,
        };
        let context = context.attempted(AttemptStep::Prepare, (request.now, now), &prepared, last_call);
        let delivery = context.delivery.clone();
        let after = match prepared {
            Ok(step) => delivery.record_preparation(context.segment_index, step),
            Err(error) => delivery.fail_preparation(context.segment_index, error, now, self.random.u32()),
        };
        self.keep(&context, after, now).await
    }

    async fn publish(
        &self,
        context: AttemptContext<'_>,
        host_permit: HostPermit,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        request: &PublishRequest<'_>,
    ) -> Result<Continue, PublishingError> {
        let delivery = &context.delivery;
        let is_in_time = delivery.intent.as_ref().is_some_and(|it| request.now - it.at <= PUBLISH_CALL_DELAY);
        if !is_in_time {
            self.release_host_permit(host_permit).await;
            // The next worker must not find an open intent and assume that the post was lost while
            // this call runs.
            let slow = AttemptError::RetryLater { retry_at: None, reason: "Our database was slow.".to_owned() };
            let after = delivery.clone().record_publish(Err(slow), request.now, self.random.u32());
            return self.keep(&context, after, request.now).await;
        }
        let timed_out =
            || Err(AttemptError::Unknown { may_still_run: true, retry_at: None, reason: TOO_LATE.to_owned() });
        let call = async {
            self.with_host_permit(host_permit, platform.publish(request), |_| true).await.unwrap_or_else(timed_out)
        };
        let (attempt, last_call) = Box::pin(with_last_call(self.show_when_slow(&context, call))).await;
        let now = self.clock.now();
        let attempt = match attempt {
            Err(error) => {
                let error = self.check_lost_grant(&context, platform, record, error).await;
                Err(with_user_message(error, Phase::Publish(request.segment), &record.connection))
            }
            Ok(published) => match self.claim(&context.delivery, platform, record, &published).await? {
                Claim::Ours => Ok(published),
                Claim::Others => Err(existing_post_error(&record.connection, &published)),
            },
        };
        let step = match request.segment {
            SegmentKind::Post | SegmentKind::Reply => AttemptStep::Publish,
            SegmentKind::Comment => AttemptStep::Comment,
        };
        let context = context.attempted(step, (request.now, now), &attempt, last_call);
        let delivery = &context.delivery;
        let late_ms = (request.now - delivery.publish_at).num_milliseconds();
        let is_first = delivery.attempts == 1 && delivery.restarts == 0;
        let is_unknown = matches!(attempt, Err(AttemptError::Unknown { .. } | AttemptError::Duplicate { .. }));
        tracing::info!(
            target: metrics::TARGET, lateness_ms = (is_first && context.segment_index == 0).then_some(late_ms), retries = (!is_first).then_some(1),
            unknown_outcomes = is_unknown.then_some(1),
            platform = delivery.provider, user_id = %delivery.user_id,
            post_id = %delivery.post_id, target_id = %delivery.target_id, attempt = delivery.attempts,
            published = attempt.is_ok().then_some(1), "publish call ended"
        );
        let after = delivery
            .clone()
            .record_publish(attempt, now, self.random.u32())
            .with_follow_ups(context.follow_ups.clone(), now);
        let kept = Box::pin(self.keep(&context, after, now)).await;
        Box::pin(self.record_pace(delivery.ids(), now - request.now, context.slow_calls)).await;
        kept
    }

    async fn resolve(
        &self,
        context: AttemptContext<'_>,
        host_permit: HostPermit,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        request: &PublishRequest<'_>,
    ) -> Result<Continue, PublishingError> {
        let Some(since) = context.delivery.unknown_outcome_since() else {
            self.release_host_permit(host_permit).await;
            return Ok(Continue::Done);
        };
        let timed_out = || Resolution::Pending { reason: TOO_LATE.to_owned() };
        let call = Box::pin(self.with_host_permit(host_permit, platform.look_up(request, since), |_| true));
        let (resolution, last_call) = with_last_call(call).await;
        let ended_at = self.clock.now();
        let resolution = match resolution.unwrap_or_else(timed_out) {
            Resolution::Unauthorized { reason } => {
                let unauthorized = AttemptError::Unauthorized { reason: reason.clone() };
                let checked = self.check_lost_grant(&context, platform, record, unauthorized).await;
                let checked = for_unknown_outcome(checked, Some(&reason), request.segment, &record.connection);
                Resolution::Pending { reason: checked.into_reason() }
            }
            resolution => resolution_with_user_message(
                self.claim_resolved(&context.delivery, platform, record, resolution).await?,
                request.segment,
                &record.connection,
            ),
        };
        let context = context.looked_up((request.now, ended_at), &resolution, last_call);
        let now = self.clock.now();
        let after =
            context.delivery.clone().record_look_up(resolution, platform.look_up_policy(), now, self.random.u32());
        let after = after.with_follow_ups(context.follow_ups.clone(), now);
        if context.delivery.published.len() < after.published.len() {
            tracing::info!(
                target: metrics::TARGET, published = 1, platform = after.provider, user_id = %after.user_id,
                post_id = %after.post_id, target_id = %after.target_id, "publish call with unknown outcome had taken effect"
            );
        }
        self.keep(&context, after, now).await
    }

    /// Writes the new state of the delivery and the record of the call, rolls the post up, and
    /// continues or plans the next step.
    async fn keep(
        &self,
        before: &AttemptContext<'_>,
        after: Delivery,
        now: DateTime<Utc>,
    ) -> Result<Continue, PublishingError> {
        let AttemptContext { delivery: before, roll_up_at, admission, attempt, .. } = before;
        let after = after.with_write_id(self.random.u64());
        let after = match roll_up_at {
            Some(at) => after.defer_roll_up(*at),
            None => after,
        };
        let (written, ()) =
            futures::join!(self.store.replace_delivery(before, &after), self.record_attempt(attempt.as_ref()));
        if written? == WriteOutcome::Conflict {
            return Ok(Continue::Done);
        }
        if let State::Failed { class, .. } = &after.state
            && before.state != after.state
        {
            tracing::info!(
                target: metrics::TARGET, failed = 1, class = class.as_str(), platform = after.provider,
                user_id = %after.user_id, post_id = %after.post_id, target_id = %after.target_id, "target failed"
            );
        }
        // A long call was shown as `publishing`, which ends with it.
        let has_intent_changed = before.intent.is_some() != after.intent.is_some();
        let needs_roll_up = has_intent_changed
            || before.note != after.note
            || before.state != after.state
            || before.attempts != after.attempts;
        if roll_up_at.is_none() && (needs_roll_up || after.intent.is_some()) {
            self.roll_ups.roll_up(after.user_id, after.post_id).await?;
            if after.has_ended() {
                return Ok(Continue::Done);
            }
        }
        match after.next_step(now) {
            NextStep::Prepare(_) | NextStep::Publish | NextStep::FollowUp | NextStep::RollUp => Ok(Continue::Again),
            NextStep::Wait(at) if at - now <= MAX_WAIT => Ok(Continue::Again),
            _ => {
                let is_retry = after.is_waiting_after_error() || after.intent.is_some();
                let admission = if is_retry { Admission::WithPermits.max(*admission) } else { *admission };
                queue_imminent(self.queue.as_ref(), std::slice::from_ref(&after), admission, now).await;
                Ok(Continue::Done)
            }
        }
    }

    /// Too many calls for the same user, profile or host. The post is not rolled up, because many
    /// deliveries are rescheduled at the same time.
    async fn reschedule_for_permit(
        &self,
        context: &AttemptContext<'_>,
        admission: Admission,
    ) -> Result<Continue, PublishingError> {
        let now = self.clock.now();
        let after = context.delivery.clone().reschedule(now, self.random.u32()).with_write_id(self.random.u64());
        if self.store.replace_delivery(&context.delivery, &after).await? == WriteOutcome::Applied {
            tracing::info!(user_id = %after.user_id, post_id = %after.post_id, "delivery rescheduled: too many calls in flight");
            queue_imminent(self.queue.as_ref(), std::slice::from_ref(&after), admission, now).await;
        }
        Ok(Continue::Done)
    }
}

#[cfg(test)]
mod tests;
