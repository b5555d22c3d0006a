//! Taking a delivery to its platform: read first, claim last, one call that
//! changes something over there, one write.

mod follow_up;
mod lost_grant;
mod shown;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::metrics;
use cloud::queue::{DeliveryMessage, Outgoing};
use domain::delivery::{AttemptError, Delivery, NextStep, PUBLISH_CALL_DELAY, Resolution, State};
use domain::post::Post;
use domain::token::{random_u32, random_u64};
use platforms::{Publish, PublishRequest, Registry, Step};
use storage::{ConnectionRecord, CredentialsRecord, LimitSubject, LoadedDelivery, WriteOutcome};

use self::follow_up::following;
use crate::claims::Claims;
use crate::concurrency_limiter::HostPermit;
use crate::credentials::OpenCredentials;
use crate::files::Files;
use crate::user_messages::{Doing, not_connected, of_a_doubt, still_lost, with_user_message, worded_answer};
use crate::{Publishing, PublishingError};

/// What is waited out in the function; a longer wait is a message with a delay.
const MAX_WAIT: TimeDelta = TimeDelta::seconds(4);

/// The most steps taken for one message.
const MAX_STEPS: usize = 40;

/// Steps and renewals are begun this long after the message came. What is begun
/// takes [`platforms::STEP_LIMIT`] at most, and the delivery function ends 10 s
/// after that, which are for our own store: a step that is cut off is taken
/// again, and nobody knows what came of a public call.
pub const BEGIN_WITHIN: TimeDelta = TimeDelta::seconds(10);

/// Messages come out up to three seconds before the time they are for, and
/// this one has to come after it.
const AFTER_LEASE: TimeDelta = TimeDelta::seconds(3);

/// Why a call was cut off.
const TOO_LATE: &str = "it was too slow several times and did not answer in time now";

/// Whether there is more to do with a delivery at once.
enum Continue {
    Again,
    Done,
}

/// A delivery that a worker is at.
struct AttemptContext<'a> {
    delivery: Delivery,
    post: &'a Post,
    /// When the post is told how it ended, if not at once.
    roll_up_at: Option<DateTime<Utc>>,
    /// See [`BEGIN_WITHIN`].
    begin_until: DateTime<Utc>,
    /// See [`DeliveryMessage::needs_permit`].
    needs_permit: bool,
    /// The credentials with which its platform is called.
    used: Option<&'a CredentialsRecord>,
}

impl Publishing {
    /// Takes whatever steps a delivery needs now. May be called at any time,
    /// any number of times, by any number of workers.
    pub async fn deliver(
        &self,
        platforms: &Registry<dyn Publish>,
        message: DeliveryMessage,
    ) -> Result<(), PublishingError> {
        let begin_until = self.clock.now() + BEGIN_WITHIN;
        for _ in 0..MAX_STEPS {
            let DeliveryMessage { user_id, post_id, target_id, connection_id, revision, .. } = message;
            let work = self.store.load_delivery(user_id, post_id, target_id, connection_id).await?;
            let Some(work) = work.filter(|it| it.delivery.revision == revision) else { return Ok(()) };
            // On the heap, because one worker holds many deliveries that wait.
            match Box::pin(self.step(platforms, work, message, begin_until)).await? {
                Continue::Again if self.clock.now() <= begin_until => {}
                Continue::Again => {
                    // Whoever takes this one has all the time again.
                    self.queue.send(&[Outgoing { message, at: self.clock.now() }]).await?;
                    return Ok(());
                }
                Continue::Done => return Ok(()),
            }
        }
        tracing::warn!(post_id = %message.post_id, "a delivery makes no headway and is left to the sweep");
        Ok(())
    }

    async fn step(
        &self,
        platforms: &Registry<dyn Publish>,
        work: LoadedDelivery,
        message: DeliveryMessage,
        begin_until: DateTime<Utc>,
    ) -> Result<Continue, PublishingError> {
        let LoadedDelivery { delivery, post, connection, in_flight_calls: open_calls } = work;
        let Some(post) = post else {
            // Its post was removed under it, which takes its deliveries along.
            self.store.remove_delivery(&delivery).await?;
            return Ok(Continue::Done);
        };
        if delivery.state == State::Waiting && post.revision != delivery.revision {
            // They change together, but are not read at one moment: look again.
            return Ok(Continue::Again);
        }
        let mut now = self.clock.now();
        let DeliveryMessage { roll_up_at, needs_permit, .. } = message;
        let mut task = AttemptContext { delivery, post: &post, roll_up_at, begin_until, needs_permit, used: None };
        let mut ahead = None;
        if let NextStep::Wait(at) = task.delivery.next_step(now) {
            if MAX_WAIT < at - now || begin_until < at {
                self.queue.send(&[Outgoing { message, at }]).await?;
                return Ok(Continue::Done);
            }
            if task.delivery.state == State::Waiting {
                if self.is_over_limit(&open_calls) {
                    return self.put_off(&task).await;
                }
                // What can be read, or renewed, before the second is not after it.
                if let (Some(account), Some(platform)) = (&connection, platforms.get(&task.delivery.provider)) {
                    ahead = Some(Box::pin(self.custody().credentials(platform, account, at)).await?);
                }
            }
            now = self.sleep_until(at).await;
        }
        task.roll_up_at = roll_up_at.filter(|it| now < *it);
        match task.delivery.next_step(now) {
            // Its worker may have died, and the sweep comes long after the lease.
            NextStep::Leased(ends) => {
                self.queue.send(&[Outgoing { message, at: ends + AFTER_LEASE }]).await?;
                Ok(Continue::Done)
            }
            NextStep::Nothing => Ok(Continue::Done),
            NextStep::Wait(_) => Ok(Continue::Again),
            NextStep::RollUp => {
                self.roll_up(post.user_id, post.post_id).await?;
                Ok(Continue::Done)
            }
            NextStep::GiveUp => {
                let after = task.delivery.clone().give_up();
                self.keep(&task, after, now).await
            }
            NextStep::EndFollowUp => self.leave_follow_up(&task, now).await,
            next @ (NextStep::Prepare | NextStep::Publish | NextStep::LookUp | NextStep::FollowUp) => {
                if next == NextStep::FollowUp {
                    // A worker that published it may have died before it told the post.
                    self.roll_up(post.user_id, post.post_id).await?;
                }
                let platform = platforms.get(&task.delivery.provider);
                let (of, most) = (LimitSubject::user(task.delivery.user_id), self.concurrency_limits.permits());
                let Some(leave) = self.limiter().acquire(of, open_calls, most, needs_permit).await? else {
                    return self.put_off(&task).await;
                };
                let work = Box::pin(self.work_on(next, task, platform, connection.map(|it| (it, ahead))));
                self.limiter().with_permit(leave, work).await
            }
        }
    }

    async fn work_on(
        &self,
        next: NextStep,
        task: AttemptContext<'_>,
        platform: Option<&dyn Publish>,
        account: Option<(ConnectionRecord, Option<Result<OpenCredentials, AttemptError>>)>,
    ) -> Result<Continue, PublishingError> {
        let AttemptContext { delivery, post, .. } = &task;
        let now = self.clock.now();
        let (Some((record, ahead)), Some(platform), Some(target)) =
            (account, platform, post.target(delivery.target_id))
        else {
            if next == NextStep::FollowUp {
                return self.give_follow_ups_up(&task, now).await;
            }
            let setback = not_connected(delivery.intent.is_some());
            let after = delivery.clone().skip_publish(setback, now, random_u32());
            return self.keep(&task, after, now).await;
        };
        let given = match ahead {
            Some(given) => given,
            None => self.custody().credentials(platform, &record, now).await?,
        };
        let given = match given {
            Ok(given) => given,
            Err(setback) if next == NextStep::FollowUp => return self.follow_up_not_called(&task, &setback, now).await,
            Err(setback) => {
                let setback = match delivery.intent {
                    Some(_) => of_a_doubt(setback, None, &record.connection),
                    None => still_lost(setback, delivery.note.as_deref(), &record.connection),
                };
                let after = delivery.clone().skip_publish(setback, now, random_u32());
                return self.keep(&task, after, now).await;
            }
        };
        let Some(host) = self.acquire_host_permit(platform.host(&given.credentials)).await? else {
            return self.put_off(&task).await;
        };
        // A renewal takes its time, and the call begins after it.
        let now = self.clock.now();
        if task.begin_until < now {
            self.release_host_permit(host).await;
            return Ok(Continue::Again);
        }
        let held = match next {
            NextStep::Publish => delivery.clone().open_intent(now),
            NextStep::FollowUp => delivery.clone().begin_follow_up(now),
            _ => delivery.clone().lease(now),
        };
        let held = held.with_write_id(random_u64());
        if self.store.replace_delivery(delivery, &held).await? == WriteOutcome::Conflict {
            self.release_host_permit(host).await;
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
        let job = PublishRequest {
            profile: &record.connection.profile,
            credentials: &given.credentials,
            text: post.text_of(target).as_str(),
            media: post.media_of(target),
            options: &target.options,
            reference: &reference(delivery),
            progress: delivery.progress.as_deref(),
            may_have_published: delivery.may_have_published(),
            publish_at: delivery.publish_at,
            called_at: delivery.intent.as_ref().map_or(now, |it| it.at),
            files: &files,
            claims: &claims,
            now: self.clock.now(),
        };
        let task = AttemptContext { delivery: held, used: Some(&given.record), ..task };
        match next {
            NextStep::Prepare => self.prepare(task, host, platform, &record, &job).await,
            NextStep::Publish => Box::pin(self.publish(task, host, platform, &record, &job)).await,
            // On the heap, as they are rare and large.
            NextStep::FollowUp => Box::pin(self.follow_up(task, host, platform, &record, &job)).await,
            _ => Box::pin(self.resolve(task, host, platform, &record, &job)).await,
        }
    }

    async fn prepare(
        &self,
        held: AttemptContext<'_>,
        host: HostPermit,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        job: &PublishRequest<'_>,
    ) -> Result<Continue, PublishingError> {
        let late = || Err(AttemptError::RetryLater { retry_at: None, reason: TOO_LATE.to_owned() });
        // A step that succeeds may have waited for others: for what the text links
        // to, or for a large file to go up.
        let prepared = self.with_host_permit(host, platform.prepare(job), Result::is_err).await.unwrap_or_else(late);
        let now = self.clock.now();
        let delivery = held.delivery.clone();
        let after = match prepared {
            Ok(Step::Ready { progress }) => delivery.record_preparation(progress, None),
            Ok(Step::Again { progress, at }) => delivery.record_preparation(Some(progress), Some(at)),
            Err(setback) => {
                let setback = self.check_lost_grant(&held, platform, record, setback).await;
                let setback = with_user_message(setback, Doing::Preparing, &record.connection);
                delivery.fail_preparation(setback, now, random_u32())
            }
        };
        self.keep(&held, after, now).await
    }

    async fn publish(
        &self,
        intended: AttemptContext<'_>,
        host: HostPermit,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        job: &PublishRequest<'_>,
    ) -> Result<Continue, PublishingError> {
        let delivery = &intended.delivery;
        let in_time = delivery.intent.as_ref().is_some_and(|it| job.now - it.at <= PUBLISH_CALL_DELAY);
        if !in_time {
            self.release_host_permit(host).await;
            // Whoever comes after us must not find it lost while it is made.
            let slow =
                AttemptError::RetryLater { retry_at: None, reason: "Our own store was slow. Trying again.".to_owned() };
            let after = delivery.clone().record_publish(Err(slow), job.now, random_u32());
            return self.keep(&intended, after, job.now).await;
        }
        let late = || Err(AttemptError::Unknown { may_still_run: true, retry_at: None, reason: TOO_LATE.to_owned() });
        let call = async { self.with_host_permit(host, platform.publish(job), |_| true).await.unwrap_or_else(late) };
        let attempt = Box::pin(self.shown_when_slow(&intended, call)).await;
        let now = self.clock.now();
        let attempt = match attempt {
            Err(setback) => {
                let setback = self.check_lost_grant(&intended, platform, record, setback).await;
                Err(with_user_message(setback, Doing::Publishing, &record.connection))
            }
            Ok(published) => self.claim_published(delivery, platform, record, published).await?,
        };
        let late_ms = (job.now - delivery.publish_at).num_milliseconds();
        let is_first = delivery.attempts == 1 && delivery.restarts == 0;
        let is_unknown = matches!(attempt, Err(AttemptError::Unknown { .. } | AttemptError::Duplicate { .. }));
        tracing::info!(
            target: metrics::TARGET, lateness_ms = is_first.then_some(late_ms), retries = (!is_first).then_some(1),
            unknown_outcomes = (is_unknown && !platform.is_confirmed_later(job)).then_some(1),
            platform = delivery.provider, user_id = %delivery.user_id,
            post_id = %delivery.post_id, target_id = %delivery.target_id, attempt = delivery.attempts,
            published = attempt.is_ok().then_some(1), "a public call ended"
        );
        let after =
            delivery.clone().record_publish(attempt, now, random_u32()).with_follow_ups(following(platform, job), now);
        self.keep(&intended, after, now).await
    }

    async fn resolve(
        &self,
        held: AttemptContext<'_>,
        host: HostPermit,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        job: &PublishRequest<'_>,
    ) -> Result<Continue, PublishingError> {
        let Some(since) = held.delivery.unknown_outcome_since() else {
            self.release_host_permit(host).await;
            return Ok(Continue::Done);
        };
        let late = || Resolution::Pending { reason: TOO_LATE.to_owned() };
        let answer = self.with_host_permit(host, platform.look_up(job, since), |_| true).await.unwrap_or_else(late);
        let answer = match answer {
            Resolution::Unauthorized { reason } => {
                let lost = AttemptError::Unauthorized { reason: reason.clone() };
                let weighed = self.check_lost_grant(&held, platform, record, lost).await;
                Resolution::Pending { reason: of_a_doubt(weighed, Some(&reason), &record.connection).into_reason() }
            }
            answer => {
                worded_answer(self.claim_resolved(&held.delivery, platform, record, answer).await?, &record.connection)
            }
        };
        let now = self.clock.now();
        let after = held.delivery.clone().record_look_up(answer, platform.look_up_policy(), now, random_u32());
        let after = after.with_follow_ups(following(platform, job), now);
        if let State::Published(_) = after.state {
            tracing::info!(
                target: metrics::TARGET, published = 1, platform = after.provider, user_id = %after.user_id,
                post_id = %after.post_id, target_id = %after.target_id, "a call in doubt had taken effect"
            );
        }
        self.keep(&held, after, now).await
    }

    /// Writes what follows, tells the post, and sees to the next step.
    async fn keep(
        &self,
        before: &AttemptContext<'_>,
        after: Delivery,
        now: DateTime<Utc>,
    ) -> Result<Continue, PublishingError> {
        let AttemptContext { delivery: before, roll_up_at, needs_permit, .. } = before;
        let after = after.with_write_id(random_u64());
        let after = match roll_up_at {
            Some(at) => after.defer_roll_up(*at),
            None => after,
        };
        if self.store.replace_delivery(before, &after).await? == WriteOutcome::Conflict {
            return Ok(Continue::Done);
        }
        if let (State::Waiting, State::Failed { class, .. }) = (&before.state, &after.state) {
            tracing::info!(
                target: metrics::TARGET, failed = 1, class = class.as_str(), platform = after.provider,
                user_id = %after.user_id, post_id = %after.post_id, target_id = %after.target_id, "a target failed"
            );
        }
        // A call that took long shows as `publishing`, which is over with its end.
        let ended = before.intent.is_some() != after.intent.is_some();
        let told =
            ended || before.note != after.note || before.state != after.state || before.attempts != after.attempts;
        if roll_up_at.is_none() && (told || after.intent.is_some()) {
            self.roll_up(after.user_id, after.post_id).await?;
            if after.has_ended() {
                return Ok(Continue::Done);
            }
        }
        match after.next_step(now) {
            NextStep::Prepare | NextStep::Publish | NextStep::FollowUp | NextStep::RollUp => Ok(Continue::Again),
            NextStep::Wait(at) if at - now <= MAX_WAIT => Ok(Continue::Again),
            _ => {
                let needs_permit = *needs_permit || after.is_waiting_after_error() || after.intent.is_some();
                self.hint_in(std::slice::from_ref(&after), needs_permit, now).await;
                Ok(Continue::Done)
            }
        }
    }

    /// Too much is being called for the same user or host: this comes back later.
    /// Its post is not told, because many are put off at the same time.
    async fn put_off(&self, task: &AttemptContext<'_>) -> Result<Continue, PublishingError> {
        let now = self.clock.now();
        let after = task.delivery.clone().reschedule(now, random_u32()).with_write_id(random_u64());
        if self.store.replace_delivery(&task.delivery, &after).await? == WriteOutcome::Applied {
            tracing::info!(user_id = %after.user_id, post_id = %after.post_id, "put off");
            self.hint(std::slice::from_ref(&after), now).await;
        }
        Ok(Continue::Done)
    }
}

/// What a platform can recognise a repeat of this delivery and revision by.
fn reference(delivery: &Delivery) -> String {
    format!("{}-{}-{}", delivery.post_id, delivery.target_id, delivery.revision)
}

#[cfg(test)]
mod tests;
