//! A notice: one event on its way to one endpoint, and its transitions.
//!
//! ```text
//! waiting ──begin──▶ held ──settle──▶ delivered
//!    ▲                 │              failed
//!    └──── a wait ─────┘
//! ```

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::kind::EventKind;
use super::message::{MessageId, WebhookMessage};
use super::response::EndpointResponse;
use super::retry_schedule::{PLANNED_AHEAD, wait, wait_for_permit, with_retry_after};
use crate::id::{UserId, WebhookId};

/// How long a notice is kept after it was made.
pub const KEPT_FOR: TimeDelta = TimeDelta::days(30);

/// How long one worker may hold a notice: longer than the time limit of its
/// function in `template.yaml`.
pub const LEASE: TimeDelta = TimeDelta::seconds(60);

/// The most notices of one endpoint that wait. The oldest beyond that are given up.
pub const MAX_WAITING: u32 = 1_000;

/// How long after an attempt should have been made the tick looks whether it was.
const WATCHDOG: TimeDelta = TimeDelta::seconds(60);

/// Attempts that are kept; those before them are forgotten.
const KEPT_ATTEMPTS: usize = 20;

/// How early a message may come: queues count in whole seconds.
const EARLY: TimeDelta = TimeDelta::seconds(1);

/// Names a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookDeliveryId {
    pub user_id: UserId,
    /// To which endpoint.
    pub webhook_id: WebhookId,
    /// Of which event.
    pub message_id: MessageId,
}

/// Where a notice stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookDeliveryStatus {
    /// There is another attempt.
    Waiting,
    /// The endpoint has taken it.
    Delivered,
    /// There is none, and the endpoint has not taken it.
    Failed,
}

impl WebhookDeliveryStatus {
    /// As clients read it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

/// An attempt to deliver a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When it began.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
    /// The status that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took.
    pub took_ms: u64,
}

/// One event on its way to one endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookDelivery {
    pub user_id: UserId,
    /// To which endpoint.
    pub webhook_id: WebhookId,
    /// What is sent.
    #[serde(flatten)]
    pub message: WebhookMessage,
    /// When it was made.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    /// Where it stands.
    pub state: WebhookDeliveryStatus,
    /// Attempts since it began or was asked for again.
    pub tries: u32,
    /// How often the next attempt found no permit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub postponed: u32,
    /// The latest attempts, oldest first.
    pub attempts: Vec<Attempt>,
    /// The beginning of what was last answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_answer: Option<String>,
    /// When the next attempt is to be made.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub next_step_at: DateTime<Utc>,
    /// Where it stands in the due index: whenever the tick has to see to it.
    /// `None` once it has ended.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub due_at: Option<DateTime<Utc>>,
    /// When the lease of the worker that holds it ends.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<DateTime<Utc>>,
    /// Another with every change.
    pub write_id: u64,
}

impl WebhookDelivery {
    /// One to be tried at once.
    pub fn new(user_id: UserId, webhook_id: WebhookId, message: WebhookMessage, now: DateTime<Utc>) -> Self {
        Self {
            user_id,
            webhook_id,
            message,
            created_at: now,
            state: WebhookDeliveryStatus::Waiting,
            tries: 0,
            postponed: 0,
            attempts: Vec::new(),
            last_answer: None,
            next_step_at: now,
            due_at: Some(now + WATCHDOG),
            lease_expires_at: None,
            write_id: 1,
        }
    }

    pub fn name(&self) -> WebhookDeliveryId {
        let Self { user_id, webhook_id, message, .. } = self;
        WebhookDeliveryId { user_id: *user_id, webhook_id: *webhook_id, message_id: message.id.clone() }
    }

    /// Whether it is still kept.
    pub fn is_kept(&self, now: DateTime<Utc>) -> bool {
        now < self.created_at + KEPT_FOR
    }

    /// Whether somebody makes an attempt now.
    pub fn is_leased(&self, now: DateTime<Utc>) -> bool {
        self.lease_expires_at.is_some_and(|it| now < it)
    }

    /// Whether the next attempt is due, and nobody makes it.
    pub fn is_due(&self, now: DateTime<Utc>) -> bool {
        self.state == WebhookDeliveryStatus::Waiting && self.next_step_at <= now + EARLY && !self.is_leased(now)
    }

    /// Held for an attempt that begins now.
    #[must_use]
    pub fn lease(&self, now: DateTime<Utc>) -> Self {
        let lease_expires_at = now + LEASE;
        Self {
            lease_expires_at: Some(lease_expires_at),
            due_at: Some(lease_expires_at),
            write_id: self.write_id + 1,
            ..self.clone()
        }
    }

    /// After an attempt that began then and was answered so by now.
    #[must_use]
    pub fn record_response(
        &self,
        answer: &EndpointResponse,
        began_at: DateTime<Utc>,
        now: DateTime<Utc>,
        random: u32,
    ) -> Self {
        let mut after = self.freed();
        after.tries += 1;
        after.postponed = 0;
        let EndpointResponse { status, error, took_ms, .. } = answer.clone();
        after.attempts.push(Attempt { at: began_at, status, error, took_ms });
        let surplus = after.attempts.len().saturating_sub(KEPT_ATTEMPTS);
        after.attempts.drain(..surplus);
        after.last_answer.clone_from(&answer.body);
        if answer.is_accepted() {
            return after.ended(WebhookDeliveryStatus::Delivered);
        }
        let tries = usize::try_from(after.tries).unwrap_or(usize::MAX);
        let wait = wait(tries, random).filter(|_| !answer.is_gone() && !after.is_test());
        match wait.map(|it| with_retry_after(it, answer.retry_after, answer.is_throttled())) {
            Some(wait) => after.waiting(now + wait, now),
            None => after.ended(WebhookDeliveryStatus::Failed),
        }
    }

    /// To be tried later, because the call got no permit. No attempt is counted.
    #[must_use]
    pub fn postponed(&self, now: DateTime<Utc>, random: u32) -> Self {
        let after = Self { postponed: self.postponed.saturating_add(1), ..self.freed() };
        after.waiting(now + wait_for_permit(self.postponed, random), now)
    }

    /// Ended without another attempt: its endpoint receives no events any more, or too many
    /// newer ones wait.
    #[must_use]
    pub fn fail(&self) -> Self {
        self.freed().ended(WebhookDeliveryStatus::Failed)
    }

    /// To be tried once more from the beginning, because its owner asked for it.
    #[must_use]
    pub fn redeliver(&self, now: DateTime<Utc>) -> Self {
        let after = Self {
            state: WebhookDeliveryStatus::Waiting,
            tries: 0,
            postponed: 0,
            write_id: self.write_id + 1,
            ..self.clone()
        };
        after.waiting(now, now)
    }

    /// Whether its owner only tries whether their endpoint works.
    pub fn is_test(&self) -> bool {
        self.message.kind == EventKind::WebhookTest
    }

    fn freed(&self) -> Self {
        Self { lease_expires_at: None, write_id: self.write_id + 1, ..self.clone() }
    }

    fn ended(self, state: WebhookDeliveryStatus) -> Self {
        Self { state, due_at: None, ..self }
    }

    fn waiting(self, next_step_at: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        // What a queue can hold back is looked after by a watchdog; of the others
        // the tick hears in time.
        let is_soon = next_step_at <= now + PLANNED_AHEAD;
        let due_at = if is_soon { next_step_at + WATCHDOG } else { next_step_at - PLANNED_AHEAD };
        Self { next_step_at, due_at: Some(due_at), ..self }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{a_notice, noon};
    use crate::webhook::TRIES;

    fn answered(status: u16) -> EndpointResponse {
        EndpointResponse { status: Some(status), ..EndpointResponse::none("", 7) }
    }

    fn attempt(notice: &WebhookDelivery, answer: &EndpointResponse, now: DateTime<Utc>) -> WebhookDelivery {
        assert!(notice.is_due(now), "{notice:?}");
        let held = notice.lease(now);
        assert!(!held.is_due(now), "one at a time");
        held.record_response(answer, now, now, 0)
    }

    #[test]
    fn what_is_accepted_ends_and_what_fails_is_tried_ten_times() {
        let delivered = attempt(&a_notice(), &answered(204), noon());
        assert_eq!((delivered.state, delivered.due_at), (WebhookDeliveryStatus::Delivered, None));

        let (mut notice, mut now) = (a_notice(), noon());
        for tried in 1..TRIES {
            notice = attempt(&notice, &answered(500), now);
            assert_eq!(notice.state, WebhookDeliveryStatus::Waiting, "after {tried}");
            assert!(notice.due_at.is_some() && !notice.is_due(notice.next_step_at - TimeDelta::seconds(2)));
            now = notice.next_step_at;
        }
        let failed = attempt(&notice, &answered(500), now);
        assert_eq!((failed.state, failed.due_at, failed.attempts.len()), (WebhookDeliveryStatus::Failed, None, TRIES));
    }

    #[test]
    fn a_redirect_is_a_failure_and_gone_is_the_end() {
        assert_eq!(attempt(&a_notice(), &answered(302), noon()).state, WebhookDeliveryStatus::Waiting);
        assert_eq!(attempt(&a_notice(), &answered(410), noon()).state, WebhookDeliveryStatus::Failed);
    }

    #[test]
    fn a_long_wait_is_left_to_the_tick_and_a_short_one_to_the_queue() {
        let asked = EndpointResponse { retry_after: Some(TimeDelta::hours(3)), ..answered(503) };
        let long = attempt(&a_notice(), &asked, noon());
        assert_eq!(long.next_step_at, noon() + TimeDelta::hours(3));
        assert!(long.due_at.unwrap() < long.next_step_at);
        let short = attempt(&a_notice(), &answered(503), noon());
        assert!(short.next_step_at < short.due_at.unwrap());
    }

    #[test]
    fn a_worker_that_dies_holds_it_for_a_minute() {
        let held = a_notice().lease(noon());
        assert!(held.due_at.is_some_and(|it| it <= noon() + LEASE));
        assert!(held.is_due(noon() + LEASE));
    }

    #[test]
    fn what_is_asked_for_again_has_all_its_attempts_and_the_same_id() {
        let failed = attempt(&a_notice(), &answered(410), noon());
        let again = failed.redeliver(noon() + TimeDelta::days(2));
        assert_eq!((again.state, again.tries, &again.message), (WebhookDeliveryStatus::Waiting, 0, &failed.message));
        assert!(again.is_due(noon() + TimeDelta::days(2)) && again.attempts.len() == 1);
    }

    #[test]
    fn a_notice_without_a_permit_waits_longer_each_time_and_counts_no_attempt() {
        let once = a_notice().postponed(noon(), 0);
        let twice = once.postponed(once.next_step_at, 0);
        assert_eq!(
            (once.next_step_at - noon(), twice.next_step_at - once.next_step_at),
            (TimeDelta::seconds(8), TimeDelta::seconds(16))
        );
        assert_eq!((twice.tries, twice.attempts.len(), twice.state), (0, 0, WebhookDeliveryStatus::Waiting));
        assert!(twice.next_step_at < twice.due_at.unwrap(), "the tick looks when the queue lost it");
        assert_eq!(attempt(&twice, &answered(500), twice.next_step_at).postponed, 0);
    }

    #[test]
    fn a_test_is_tried_once_and_old_attempts_are_forgotten() {
        let mut test = a_notice();
        test.message.kind = EventKind::WebhookTest;
        assert_eq!(attempt(&test, &answered(500), noon()).state, WebhookDeliveryStatus::Failed);

        let mut notice = a_notice();
        for _ in 0..30 {
            notice = attempt(&notice.redeliver(noon()), &answered(500), noon());
        }
        assert_eq!(notice.attempts.len(), KEPT_ATTEMPTS);
    }
}
