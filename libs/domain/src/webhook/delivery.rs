//! A webhook delivery, one event on its way to one endpoint, and its transitions.
//!
//! ```text
//! waiting ──lease──▶ leased ──record_response──▶ delivered
//!    ▲                  │                        failed
//!    └──── a wait ──────┘
//! ```

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::kind::EventKind;
use super::message::{MessageId, WebhookMessage};
use super::response::EndpointResponse;
use super::retry_schedule::{PLANNED_AHEAD, wait, wait_for_permit, with_retry_after};
use crate::id::{UserId, WebhookId};

pub const KEPT_FOR: TimeDelta = TimeDelta::days(30);

/// The lease of one worker: longer than the timeout of its function in `template.yaml`.
pub const LEASE: TimeDelta = TimeDelta::seconds(60);

/// The most waiting deliveries of one endpoint. The oldest beyond that are given up.
pub const MAX_WAITING: u32 = 1_000;

/// How long after an attempt is due the tick checks whether it was made.
const WATCHDOG: TimeDelta = TimeDelta::seconds(60);

/// Older attempts are dropped.
const KEPT_ATTEMPTS: usize = 20;

/// How early a message may arrive, because queues count in whole seconds.
const EARLY: TimeDelta = TimeDelta::seconds(1);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookDeliveryId {
    pub user_id: UserId,
    pub webhook_id: WebhookId,
    pub message_id: MessageId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookDeliveryStatus {
    Waiting,
    Delivered,
    Failed,
}

impl WebhookDeliveryStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
    /// The HTTP status; `None` if there was no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub took_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookDelivery {
    pub user_id: UserId,
    pub webhook_id: WebhookId,
    #[serde(flatten)]
    pub message: WebhookMessage,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub created_at: DateTime<Utc>,
    pub state: WebhookDeliveryStatus,
    /// Attempts since its creation or the last request to redeliver it.
    pub tries: u32,
    /// How often in a row the next attempt got no permit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub postponed: u32,
    /// The latest attempts, oldest first.
    pub attempts: Vec<Attempt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_answer: Option<String>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub next_step_at: DateTime<Utc>,
    /// Position in the due index: when the tick has to check it. `None` once it has ended.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub due_at: Option<DateTime<Utc>>,
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<DateTime<Utc>>,
    pub write_id: u64,
}

impl WebhookDelivery {
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

    pub fn is_kept(&self, now: DateTime<Utc>) -> bool {
        now < self.created_at + KEPT_FOR
    }

    pub fn is_leased(&self, now: DateTime<Utc>) -> bool {
        self.lease_expires_at.is_some_and(|it| now < it)
    }

    pub fn is_due(&self, now: DateTime<Utc>) -> bool {
        self.state == WebhookDeliveryStatus::Waiting && self.next_step_at <= now + EARLY && !self.is_leased(now)
    }

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

    #[must_use]
    pub fn record_response(
        &self,
        response: &EndpointResponse,
        began_at: DateTime<Utc>,
        now: DateTime<Utc>,
        random: u32,
    ) -> Self {
        let mut after = self.release_lease();
        after.tries += 1;
        after.postponed = 0;
        let EndpointResponse { status, error, took_ms, .. } = response.clone();
        after.attempts.push(Attempt { at: began_at, status, error, took_ms });
        let surplus = after.attempts.len().saturating_sub(KEPT_ATTEMPTS);
        after.attempts.drain(..surplus);
        after.last_answer.clone_from(&response.body);
        if response.is_accepted() {
            return after.ended(WebhookDeliveryStatus::Delivered);
        }
        let tries = usize::try_from(after.tries).unwrap_or(usize::MAX);
        let wait = wait(tries, random).filter(|_| !response.is_gone() && !after.is_test());
        match wait.map(|it| with_retry_after(it, response.retry_after, response.is_throttled())) {
            Some(wait) => after.waiting(now + wait, now),
            None => after.ended(WebhookDeliveryStatus::Failed),
        }
    }

    /// Postpones the attempt, because it got no permit. No attempt is counted.
    #[must_use]
    pub fn postponed(&self, now: DateTime<Utc>, random: u32) -> Self {
        let after = Self { postponed: self.postponed.saturating_add(1), ..self.release_lease() };
        after.waiting(now + wait_for_permit(self.postponed, random), now)
    }

    /// Ends the delivery without another attempt: its endpoint receives no events any more, or too
    /// many newer deliveries wait.
    #[must_use]
    pub fn fail(&self) -> Self {
        self.release_lease().ended(WebhookDeliveryStatus::Failed)
    }

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

    pub fn is_test(&self) -> bool {
        self.message.kind == EventKind::WebhookTest
    }

    fn release_lease(&self) -> Self {
        Self { lease_expires_at: None, write_id: self.write_id + 1, ..self.clone() }
    }

    fn ended(self, state: WebhookDeliveryStatus) -> Self {
        Self { state, due_at: None, ..self }
    }

    fn waiting(self, next_step_at: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        // A watchdog covers waits that a queue can hold; the tick finds longer ones in the due
        // index in time.
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
    use crate::testing::{a_webhook_delivery, noon};
    use crate::webhook::TRIES;

    fn answered(status: u16) -> EndpointResponse {
        EndpointResponse { status: Some(status), ..EndpointResponse::none("", 7) }
    }

    fn attempt(delivery: &WebhookDelivery, response: &EndpointResponse, now: DateTime<Utc>) -> WebhookDelivery {
        assert!(delivery.is_due(now), "{delivery:?}");
        let leased = delivery.lease(now);
        assert!(!leased.is_due(now), "one at a time");
        leased.record_response(response, now, now, 0)
    }

    #[test]
    fn accepted_delivery_ends_and_failed_one_has_ten_attempts() {
        let delivered = attempt(&a_webhook_delivery(), &answered(204), noon());
        assert_eq!((delivered.state, delivered.due_at), (WebhookDeliveryStatus::Delivered, None));

        let (mut delivery, mut now) = (a_webhook_delivery(), noon());
        for tried in 1..TRIES {
            delivery = attempt(&delivery, &answered(500), now);
            assert_eq!(delivery.state, WebhookDeliveryStatus::Waiting, "after {tried}");
            assert!(delivery.due_at.is_some() && !delivery.is_due(delivery.next_step_at - TimeDelta::seconds(2)));
            now = delivery.next_step_at;
        }
        let failed = attempt(&delivery, &answered(500), now);
        assert_eq!((failed.state, failed.due_at, failed.attempts.len()), (WebhookDeliveryStatus::Failed, None, TRIES));
    }

    #[test]
    fn redirect_is_a_failed_attempt_and_410_ends_the_delivery() {
        assert_eq!(attempt(&a_webhook_delivery(), &answered(302), noon()).state, WebhookDeliveryStatus::Waiting);
        assert_eq!(attempt(&a_webhook_delivery(), &answered(410), noon()).state, WebhookDeliveryStatus::Failed);
    }

    #[test]
    fn long_wait_uses_the_tick_and_short_wait_the_queue() {
        let with_retry_after = EndpointResponse { retry_after: Some(TimeDelta::hours(3)), ..answered(503) };
        let long = attempt(&a_webhook_delivery(), &with_retry_after, noon());
        assert_eq!(long.next_step_at, noon() + TimeDelta::hours(3));
        assert!(long.due_at.unwrap() < long.next_step_at);
        let short = attempt(&a_webhook_delivery(), &answered(503), noon());
        assert!(short.next_step_at < short.due_at.unwrap());
    }

    #[test]
    fn lease_of_a_dead_worker_expires_after_a_minute() {
        let leased = a_webhook_delivery().lease(noon());
        assert!(leased.due_at.is_some_and(|it| it <= noon() + LEASE));
        assert!(leased.is_due(noon() + LEASE));
    }

    #[test]
    fn redelivery_has_all_attempts_and_the_same_id() {
        let failed = attempt(&a_webhook_delivery(), &answered(410), noon());
        let again = failed.redeliver(noon() + TimeDelta::days(2));
        assert_eq!((again.state, again.tries, &again.message), (WebhookDeliveryStatus::Waiting, 0, &failed.message));
        assert!(again.is_due(noon() + TimeDelta::days(2)) && again.attempts.len() == 1);
    }

    #[test]
    fn delivery_without_a_permit_waits_longer_without_an_attempt() {
        let once = a_webhook_delivery().postponed(noon(), 0);
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
    fn test_has_one_attempt_and_old_attempts_are_dropped() {
        let mut test = a_webhook_delivery();
        test.message.kind = EventKind::WebhookTest;
        assert_eq!(attempt(&test, &answered(500), noon()).state, WebhookDeliveryStatus::Failed);

        let mut delivery = a_webhook_delivery();
        for _ in 0..30 {
            delivery = attempt(&delivery.redeliver(noon()), &answered(500), noon());
        }
        assert_eq!(delivery.attempts.len(), KEPT_ATTEMPTS);
    }
}
