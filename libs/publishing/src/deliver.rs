//! Taking a delivery to its platform: read first, claim last, one call that
//! changes something over there, one write.

mod follow_up;
mod lost_grant;
mod shown;

use chrono::{DateTime, TimeDelta, Utc};
use cloud::metrics;
use cloud::queue::{DeliveryMessage, Outgoing};
use domain::delivery::{CALL_WITHIN, Delivery, Next, Resolution, Setback, State};
use domain::post::Post;
use domain::token::{random_u32, random_u64};
use platforms::{Job, Publish, Registry, Step};
use storage::{CallsOf, ConnectionRecord, CredentialsRecord, Race, Work};

use self::follow_up::following;
use crate::claims::Claims;
use crate::credentials::Given;
use crate::files::Files;
use crate::places::HostLeave;
use crate::words::{Doing, not_connected, of_a_doubt, still_lost, worded, worded_answer};
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
enum After {
    Again,
    Done,
}

/// A delivery that a worker is at.
struct Task<'a> {
    delivery: Delivery,
    post: &'a Post,
    /// When the post is told how it ended, if not at once.
    roll_up_at: Option<DateTime<Utc>>,
    /// See [`BEGIN_WITHIN`].
    begin_until: DateTime<Utc>,
    /// See [`DeliveryMessage::in_a_crowd`].
    in_a_crowd: bool,
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
            let work = self.store.work(user_id, post_id, target_id, connection_id).await?;
            let Some(work) = work.filter(|it| it.delivery.revision == revision) else { return Ok(()) };
            // On the heap, because one worker holds many deliveries that wait.
            match Box::pin(self.step(platforms, work, message, begin_until)).await? {
                After::Again if self.clock.now() <= begin_until => {}
                After::Again => {
                    // Whoever takes this one has all the time again.
                    self.queue.send(&[Outgoing { message, at: self.clock.now() }]).await?;
                    return Ok(());
                }
                After::Done => return Ok(()),
            }
        }
        tracing::warn!(post_id = %message.post_id, "a delivery makes no headway and is left to the sweep");
        Ok(())
    }

    async fn step(
        &self,
        platforms: &Registry<dyn Publish>,
        work: Work,
        message: DeliveryMessage,
        begin_until: DateTime<Utc>,
    ) -> Result<After, PublishingError> {
        let Work { delivery, post, connection, open_calls } = work;
        let Some(post) = post else {
            // Its post was removed under it, which takes its deliveries along.
            self.store.remove_delivery(&delivery).await?;
            return Ok(After::Done);
        };
        if delivery.state == State::Waiting && post.revision != delivery.revision {
            // They change together, but are not read at one moment: look again.
            return Ok(After::Again);
        }
        let mut now = self.clock.now();
        let DeliveryMessage { roll_up_at, in_a_crowd, .. } = message;
        let mut task = Task { delivery, post: &post, roll_up_at, begin_until, in_a_crowd, used: None };
        let mut ahead = None;
        if let Next::Wait(at) = task.delivery.next(now) {
            if MAX_WAIT < at - now || begin_until < at {
                self.queue.send(&[Outgoing { message, at }]).await?;
                return Ok(After::Done);
            }
            if task.delivery.state == State::Waiting {
                if self.is_crowded_out(&open_calls) {
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
        match task.delivery.next(now) {
            // Its worker may have died, and the sweep comes long after the lease.
            Next::Held(ends) => {
                self.queue.send(&[Outgoing { message, at: ends + AFTER_LEASE }]).await?;
                Ok(After::Done)
            }
            Next::Nothing => Ok(After::Done),
            Next::Wait(_) => Ok(After::Again),
            Next::RollUp => {
                self.roll_up(post.user_id, post.post_id).await?;
                Ok(After::Done)
            }
            Next::GiveUp => {
                let after = task.delivery.clone().given_up();
                self.keep(&task, after, now).await
            }
            Next::LeaveFollowUp => self.leave_follow_up(&task, now).await,
            next @ (Next::Prepare | Next::Publish | Next::Resolve | Next::FollowUp) => {
                if next == Next::FollowUp {
                    // A worker that published it may have died before it told the post.
                    self.roll_up(post.user_id, post.post_id).await?;
                }
                let platform = platforms.get(&task.delivery.provider);
                let (of, most) = (CallsOf::user(task.delivery.user_id), self.share.places());
                let Some(leave) = self.limiter().leave(of, open_calls, most, in_a_crowd).await? else {
                    return self.put_off(&task).await;
                };
                let work = Box::pin(self.work_on(next, task, platform, connection.map(|it| (it, ahead))));
                self.limiter().counted(leave, work).await
            }
        }
    }

    async fn work_on(
        &self,
        next: Next,
        task: Task<'_>,
        platform: Option<&dyn Publish>,
        account: Option<(ConnectionRecord, Option<Result<Given, Setback>>)>,
    ) -> Result<After, PublishingError> {
        let Task { delivery, post, .. } = &task;
        let now = self.clock.now();
        let (Some((record, ahead)), Some(platform), Some(target)) =
            (account, platform, post.target(delivery.target_id))
        else {
            if next == Next::FollowUp {
                return self.give_follow_ups_up(&task, now).await;
            }
            let setback = not_connected(delivery.intent.is_some());
            let after = delivery.clone().not_called(setback, now, random_u32());
            return self.keep(&task, after, now).await;
        };
        let given = match ahead {
            Some(given) => given,
            None => self.custody().credentials(platform, &record, now).await?,
        };
        let given = match given {
            Ok(given) => given,
            Err(setback) if next == Next::FollowUp => return self.follow_up_not_called(&task, &setback, now).await,
            Err(setback) => {
                let setback = match delivery.intent {
                    Some(_) => of_a_doubt(setback, None, &record.connection),
                    None => still_lost(setback, delivery.note.as_deref(), &record.connection),
                };
                let after = delivery.clone().not_called(setback, now, random_u32());
                return self.keep(&task, after, now).await;
            }
        };
        let Some(host) = self.leave_for_host(platform.host(&given.credentials)).await? else {
            return self.put_off(&task).await;
        };
        // A renewal takes its time, and the call begins after it.
        let now = self.clock.now();
        if task.begin_until < now {
            self.no_call(host).await;
            return Ok(After::Again);
        }
        let held = match next {
            Next::Publish => delivery.clone().intended(now),
            Next::FollowUp => delivery.clone().follow_up_begun(now),
            _ => delivery.clone().held(now),
        };
        let held = held.restamped(random_u64());
        if self.store.swap_delivery(delivery, &held).await? == Race::Lost {
            self.no_call(host).await;
            return Ok(After::Done);
        }
        let files = Files {
            bucket: &self.bucket,
            pictures: self.pictures.as_ref(),
            addresses: self.file_addresses.as_ref(),
            user: delivery.user_id,
            now: self.clock.now(),
        };
        let claims = Claims { store: &self.store, connection: &record.connection, delivery };
        let job = Job {
            profile: &record.connection.profile,
            credentials: &given.credentials,
            text: post.text_of(target).as_str(),
            media: post.media_of(target),
            options: &target.options,
            reference: &reference(delivery),
            progress: delivery.progress.as_deref(),
            doubted: delivery.may_have_arrived(),
            publish_at: delivery.publish_at,
            called_at: delivery.intent.as_ref().map_or(now, |it| it.at),
            files: &files,
            claims: &claims,
            now: self.clock.now(),
        };
        let task = Task { delivery: held, used: Some(&given.record), ..task };
        match next {
            Next::Prepare => self.prepare(task, host, platform, &record, &job).await,
            Next::Publish => Box::pin(self.publish(task, host, platform, &record, &job)).await,
            // On the heap, as they are rare and large.
            Next::FollowUp => Box::pin(self.follow_up(task, host, platform, &record, &job)).await,
            _ => Box::pin(self.resolve(task, host, platform, &record, &job)).await,
        }
    }

    async fn prepare(
        &self,
        held: Task<'_>,
        host: HostLeave,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        job: &Job<'_>,
    ) -> Result<After, PublishingError> {
        let late = || Err(Setback::Busy { retry_at: None, reason: TOO_LATE.to_owned() });
        // A step that succeeds may have waited for others: for what the text links
        // to, or for a large file to go up.
        let prepared = self.within(host, platform.prepare(job), Result::is_err).await.unwrap_or_else(late);
        let now = self.clock.now();
        let delivery = held.delivery.clone();
        let after = match prepared {
            Ok(Step::Ready { progress }) => delivery.prepared(progress, None),
            Ok(Step::Again { progress, at }) => delivery.prepared(Some(progress), Some(at)),
            Err(setback) => {
                let setback = self.weighed(&held, platform, record, setback).await;
                let setback = worded(setback, Doing::Preparing, &record.connection);
                delivery.preparation_failed(setback, now, random_u32())
            }
        };
        self.keep(&held, after, now).await
    }

    async fn publish(
        &self,
        intended: Task<'_>,
        host: HostLeave,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        job: &Job<'_>,
    ) -> Result<After, PublishingError> {
        let delivery = &intended.delivery;
        let in_time = delivery.intent.as_ref().is_some_and(|it| job.now - it.at <= CALL_WITHIN);
        if !in_time {
            self.no_call(host).await;
            // Whoever comes after us must not find it lost while it is made.
            let slow = Setback::Busy { retry_at: None, reason: "Our own store was slow. Trying again.".to_owned() };
            let after = delivery.clone().settled(Err(slow), job.now, random_u32());
            return self.keep(&intended, after, job.now).await;
        }
        let late = || Err(Setback::Unknown { may_still_run: true, retry_at: None, reason: TOO_LATE.to_owned() });
        let call = async { self.within(host, platform.publish(job), |_| true).await.unwrap_or_else(late) };
        let attempt = Box::pin(self.shown_when_slow(&intended, call)).await;
        let now = self.clock.now();
        let attempt = match attempt {
            Err(setback) => {
                let setback = self.weighed(&intended, platform, record, setback).await;
                Err(worded(setback, Doing::Publishing, &record.connection))
            }
            Ok(published) => self.claim_published(delivery, platform, record, published).await?,
        };
        let late_ms = (job.now - delivery.publish_at).num_milliseconds();
        let is_first = delivery.attempts == 1 && delivery.restarts == 0;
        let is_unknown = matches!(attempt, Err(Setback::Unknown { .. } | Setback::Duplicate { .. }));
        tracing::info!(
            target: metrics::TARGET, lateness_ms = is_first.then_some(late_ms), retries = (!is_first).then_some(1),
            unknown_outcomes = (is_unknown && !platform.is_confirmed_later(job)).then_some(1),
            platform = delivery.provider, user_id = %delivery.user_id,
            post_id = %delivery.post_id, target_id = %delivery.target_id, attempt = delivery.attempts,
            published = attempt.is_ok().then_some(1), "a public call ended"
        );
        let after = delivery.clone().settled(attempt, now, random_u32()).followed_by(following(platform, job), now);
        self.keep(&intended, after, now).await
    }

    async fn resolve(
        &self,
        held: Task<'_>,
        host: HostLeave,
        platform: &dyn Publish,
        record: &ConnectionRecord,
        job: &Job<'_>,
    ) -> Result<After, PublishingError> {
        let Some(since) = held.delivery.in_doubt_since() else {
            self.no_call(host).await;
            return Ok(After::Done);
        };
        let late = || Resolution::Unclear { reason: TOO_LATE.to_owned() };
        let answer = self.within(host, platform.resolve(job, since), |_| true).await.unwrap_or_else(late);
        let answer = match answer {
            Resolution::Disconnected { reason } => {
                let lost = Setback::Disconnected { reason: reason.clone() };
                let weighed = self.weighed(&held, platform, record, lost).await;
                Resolution::Unclear { reason: of_a_doubt(weighed, Some(&reason), &record.connection).into_reason() }
            }
            answer => {
                worded_answer(self.claim_resolved(&held.delivery, platform, record, answer).await?, &record.connection)
            }
        };
        let now = self.clock.now();
        let after = held.delivery.clone().resolved(answer, platform.looks(), now, random_u32());
        let after = after.followed_by(following(platform, job), now);
        if let State::Published(_) = after.state {
            tracing::info!(
                target: metrics::TARGET, published = 1, platform = after.provider, user_id = %after.user_id,
                post_id = %after.post_id, target_id = %after.target_id, "a call in doubt had taken effect"
            );
        }
        self.keep(&held, after, now).await
    }

    /// Writes what follows, tells the post, and sees to the next step.
    async fn keep(&self, before: &Task<'_>, after: Delivery, now: DateTime<Utc>) -> Result<After, PublishingError> {
        let Task { delivery: before, roll_up_at, in_a_crowd, .. } = before;
        let after = after.restamped(random_u64());
        let after = match roll_up_at {
            Some(at) => after.told_at(*at),
            None => after,
        };
        if self.store.swap_delivery(before, &after).await? == Race::Lost {
            return Ok(After::Done);
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
                return Ok(After::Done);
            }
        }
        match after.next(now) {
            Next::Prepare | Next::Publish | Next::FollowUp | Next::RollUp => Ok(After::Again),
            Next::Wait(at) if at - now <= MAX_WAIT => Ok(After::Again),
            _ => {
                let in_a_crowd = *in_a_crowd || after.was_set_back() || after.intent.is_some();
                self.hint_in(std::slice::from_ref(&after), in_a_crowd, now).await;
                Ok(After::Done)
            }
        }
    }

    /// Too much is being called for the same user or host: this comes back later.
    /// Its post is not told, because many are put off at the same time.
    async fn put_off(&self, task: &Task<'_>) -> Result<After, PublishingError> {
        let now = self.clock.now();
        let after = task.delivery.clone().put_off(now, random_u32()).restamped(random_u64());
        if self.store.swap_delivery(&task.delivery, &after).await? == Race::Won {
            tracing::info!(user_id = %after.user_id, post_id = %after.post_id, "put off");
            self.hint(std::slice::from_ref(&after), now).await;
        }
        Ok(After::Done)
    }
}

/// What a platform can recognise a repeat of this delivery and revision by.
fn reference(delivery: &Delivery) -> String {
    format!("{}-{}-{}", delivery.post_id, delivery.target_id, delivery.revision)
}

#[cfg(test)]
mod tests;
