//! Transitions of a delivery: each returns the new state. They are the only way to change one.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    AttemptError, CANDIDATE_WAIT, Candidate, Delivery, EXTENDED_RETRY_WINDOW, FIRST_LOOK_UP_WAIT, FIRST_POSTPONEMENT,
    FIRST_RECONNECTION_CHECK, FIRST_RETRY_WAIT, FOLLOW_UP_WINDOW, FailureClass, Intent, LEASE_DURATION, LookUpPolicy,
    MAX_POSTPONEMENT, MAX_PREPARATION_PAUSE, MAX_RECONNECTION_CHECK, MAX_RETRY_WAIT, MessageKind, Note,
    PUBLISH_CALL_DELAY, PreparationStep, Published, Resolution, State,
};
use crate::post::SegmentKind;

/// How often the wait between two look-ups doubles: up to 512 s.
const MOST_DOUBLINGS: u32 = 8;

/// Like [`MOST_DOUBLINGS`], where look-ups are billed: about fifteen a day.
const MOST_PAID_DOUBLINGS: u32 = 16;

impl Delivery {
    /// Sets the id of the next write. The store replaces a delivery only while it has the
    /// `write_id` that was read, so of two concurrent writers one fails. The id is random, so that
    /// a writer that lost the response recognizes its own write and never mistakes another's for
    /// it.
    #[must_use]
    pub fn with_write_id(mut self, write_id: u64) -> Self {
        self.write_id = write_id;
        self
    }

    #[must_use]
    pub fn lease(mut self, now: DateTime<Utc>) -> Self {
        self.lease_expires_at = Some(now + LEASE_DURATION);
        self
    }

    /// Takes the lease and records the intent of a publish call. Written before the call, so that
    /// another worker that reads it later knows that the call may have been made, and looks it up.
    #[must_use]
    pub fn open_intent(mut self, now: DateTime<Utc>) -> Self {
        self.attempts += 1;
        self.has_begun = true;
        let attempt = self.attempts;
        self.intent = Some(Intent {
            attempt,
            at: now,
            may_still_run: true,
            retry_at: None,
            is_duplicate: false,
            look_ups: 0,
            candidate: None,
        });
        self.lease(now)
    }

    /// Records how the publish call ended, or that the connection cannot be used. A platform can
    /// lengthen our back-off, never shorten it.
    #[must_use]
    pub fn record_publish(mut self, outcome: Result<Published, AttemptError>, now: DateTime<Utc>, jitter: u32) -> Self {
        let wait = self.back_off(jitter);
        match outcome {
            Ok(published) => {
                self.lost_window = None;
                self.published(published, now)
            }
            Err(AttemptError::Refused { reason }) => self.failed(reason, FailureClass::Refused),
            Err(AttemptError::RetryLater { retry_at, reason }) => {
                self.intent = None;
                let again_at = retry_at.map_or(now + wait, |it| it.max(now + wait));
                if retry_at.is_some() && self.can_extend_retry_window(again_at) {
                    self.opens_at = Some(again_at);
                }
                self.retry(again_at, reason, now)
            }
            Err(AttemptError::Unauthorized { reason }) => {
                self.intent = None;
                let waited = now - self.publish_at;
                let wait = (waited / 10).clamp(FIRST_RECONNECTION_CHECK, MAX_RECONNECTION_CHECK);
                self.retry(now + wait, reason, now).needs_reconnection()
            }
            Err(AttemptError::PreparationExpired { reason }) => {
                self.intent = None;
                self.restart_preparation(now + wait);
                self.attempts = 0;
                self.restarts += 1;
                self.retry(now + wait, reason, now)
            }
            Err(AttemptError::Duplicate { reason }) => {
                self.unknown_since = self.unknown_outcome_since();
                if let Some(intent) = &mut self.intent {
                    intent.may_still_run = false;
                    intent.is_duplicate = true;
                }
                self.wait_until(now + FIRST_LOOK_UP_WAIT, Some(reason))
            }
            Err(AttemptError::Unknown { may_still_run, retry_at, reason }) => {
                self.unknown_since = self.unknown_outcome_since();
                if let Some(intent) = &mut self.intent {
                    intent.may_still_run = may_still_run;
                    intent.retry_at = retry_at;
                }
                self.wait_until(now + FIRST_LOOK_UP_WAIT, Some(reason))
            }
            Err(AttemptError::Accepted { progress, reason }) => {
                self.unknown_since = self.unknown_outcome_since();
                if progress.is_some() {
                    self.set_preparation(self.current_segment(), PreparationStep::Ready { progress }.into());
                }
                self.wait_until(now + FIRST_LOOK_UP_WAIT, Some(reason))
            }
        }
    }

    /// Records that the platform could not be called. An open intent stays open, because this says
    /// nothing about the outcome of the last call.
    #[must_use]
    pub fn skip_publish(self, error: AttemptError, now: DateTime<Utc>, jitter: u32) -> Self {
        if self.intent.is_some() {
            let pending = Resolution::Pending { reason: error.into_reason() };
            return self.record_look_up(pending, TimeDelta::zero(), now, jitter);
        }
        match error {
            // No call is counted, so the wait grows with the lateness instead.
            AttemptError::RetryLater { retry_at: None, reason } => {
                let wait = ((now - self.publish_at) / 10).min(MAX_PREPARATION_PAUSE).max(self.back_off(jitter));
                self.retry(now + wait, reason, now)
            }
            error => self.record_publish(Err(error), now, jitter),
        }
    }

    #[must_use]
    pub fn record_look_up(
        mut self,
        resolution: Resolution,
        policy: impl Into<LookUpPolicy>,
        now: DateTime<Utc>,
        jitter: u32,
    ) -> Self {
        let LookUpPolicy { settle_time, is_billed } = policy.into();
        // Also covers a worker that died before it could record the unknown outcome.
        self.unknown_since = self.unknown_outcome_since();
        let ends_at = self.gives_up_at();
        let segment = self.segment_name();
        let Some(intent) = &mut self.intent else { return self };
        intent.look_ups += 1;
        let (settled_at, retry_at) = (intent.settled_at(settle_time), intent.retry_at);
        let max_doublings = if intent.is_duplicate && is_billed { MOST_PAID_DOUBLINGS } else { MOST_DOUBLINGS };
        let next_look_up_at = now + with_jitter(FIRST_LOOK_UP_WAIT * (1 << intent.look_ups.min(max_doublings)), jitter);
        let next_look_up_at = if intent.at + PUBLISH_CALL_DELAY + settle_time <= now {
            // From here on, the adapter may have repeated the same call.
            next_look_up_at.max(now + settle_time)
        } else if now < settled_at {
            // Look up again as soon as the call can no longer take effect: then the result is
            // conclusive.
            next_look_up_at.min(settled_at).max(now + FIRST_LOOK_UP_WAIT)
        } else {
            next_look_up_at
        };
        let is_absent = resolution == Resolution::NotPublished;
        let resolution = match resolution {
            Resolution::NotPublished | Resolution::NotFound if intent.is_duplicate => {
                Resolution::Pending { reason: not_listed(segment) }
            }
            resolution => resolution,
        };
        match resolution {
            Resolution::Found(published) => self.published(published, now),
            Resolution::Candidate(Published { platform_post_id, .. }) => {
                let known = intent.candidate.take().filter(|it| it.platform_post_id == platform_post_id);
                let candidate = known.unwrap_or(Candidate { platform_post_id, at: now });
                let accept_at = settled_at.max(candidate.at + CANDIDATE_WAIT);
                intent.candidate = Some(candidate);
                self.wait_until(
                    accept_at.max(now + FIRST_LOOK_UP_WAIT),
                    Some(format!("The account shows a {segment} that looks like this one.")),
                )
            }
            Resolution::NotPublished | Resolution::NotFound if settled_at <= now => {
                if is_absent {
                    self.settle_call();
                }
                self.intent = None;
                let wait = self.back_off(jitter);
                // The time spent on look-ups counts as waiting.
                let again_at = now.max(settled_at + wait.min(FIRST_RETRY_WAIT)).max(retry_at.unwrap_or(now));
                self.retry(again_at, "The last attempt published nothing.".to_owned(), now)
            }
            Resolution::NotPublished | Resolution::NotFound => self.wait_until(
                if is_billed { settled_at } else { next_look_up_at.min(settled_at) }.max(now + FIRST_LOOK_UP_WAIT),
                Some(format!("It is not yet known whether the last attempt published the {segment}.")),
            ),
            Resolution::Refused { reason } => {
                self.settle_call();
                self.failed(reason, FailureClass::Refused)
            }
            Resolution::Pending { reason } | Resolution::Unauthorized { reason } if self.gives_up_at() <= now => {
                let reason = format!("The {segment} may be public. {reason}");
                self.failed(reason, FailureClass::MayBePublic)
            }
            Resolution::Pending { reason } | Resolution::Unauthorized { reason } => {
                // A wait beyond the retry window would only delay its end.
                self.wait_until(next_look_up_at.min(ends_at.max(now + settle_time)), Some(reason))
            }
            Resolution::Undeterminable { advice } => {
                let reason = format!("The {segment} may be public: {advice}");
                self.failed(reason, FailureClass::MayBePublic)
            }
        }
    }

    /// Postpones the step because of the limits of the user or the host. This is no attempt, so
    /// everything else stays.
    #[must_use]
    pub fn reschedule(self, now: DateTime<Utc>, jitter: u32) -> Self {
        let wait = ((now - self.publish_at).abs() / 2).clamp(FIRST_POSTPONEMENT, MAX_POSTPONEMENT);
        let note = "Waiting: many of your posts are being published, or the server is slow.";
        let note = (self.state == State::Waiting).then(|| note.to_owned());
        self.wait_until(now + with_jitter(wait, jitter), note)
    }

    #[must_use]
    pub fn give_up(self) -> Self {
        let last = self.note.as_ref().map_or("No attempt was made.", |it| &it.text);
        let hours = self.retry_hours();
        let reason = match self.current_kind() {
            Some(SegmentKind::Comment) => {
                format!(
                    "The comment was not published within {hours} hours of the post. {last} You can add it yourself."
                )
            }
            _ => format!(
                "Not published within {hours} hours of the scheduled time. {last} Reschedule the post to try again."
            ),
        };
        self.failed(reason, FailureClass::GivenUp)
    }

    /// Defers the roll-up to `at`: under load, publish calls have priority. Follow-ups run after
    /// it.
    #[must_use]
    pub fn defer_roll_up(mut self, at: DateTime<Utc>) -> Self {
        if self.state != State::Waiting {
            self.next_step_at = at;
        }
        if let Some(it) = &mut self.follow_ups {
            it.ends_at = it.ends_at.max(at + FOLLOW_UP_WINDOW);
        }
        self
    }

    #[must_use]
    pub fn finish_roll_up(mut self) -> Self {
        self.due_at = None;
        self
    }

    /// Clamps the platform's timestamp to the range from the first call that may have made the post
    /// to now.
    fn published(mut self, published: Published, now: DateTime<Utc>) -> Self {
        let begun_at = self.unknown_outcome_since().unwrap_or(published.at);
        let at = published.at.min(now).max(begun_at);
        self.published.push(Published { at, ..published });
        if self.current_kind().is_some() { self.next_segment(now) } else { self.ended(State::Published) }
    }

    /// Begins the next segment, at once. Nothing that is known about the last one applies to it.
    fn next_segment(mut self, now: DateTime<Utc>) -> Self {
        self.advance_preparation(now);
        self.publish_at = now;
        self.attempts = 0;
        self.has_begun = false;
        self.unknown_since = None;
        self.restarts = 0;
        self.intent = None;
        self.opens_at = None;
        self.note = None;
        self.assume_lost_call();
        self.wait_until(now, None)
    }

    /// The open call certainly had no effect. An earlier one may have had, and may have been for
    /// other uploads.
    fn settle_call(&mut self) {
        if self.unknown_since == self.intent.as_ref().map(|it| it.at) {
            self.unknown_since = None;
        }
    }

    fn failed(self, reason: String, class: FailureClass) -> Self {
        let (reason, class) = match (class, self.unknown_since) {
            (FailureClass::Refused | FailureClass::GivenUp, Some(_)) => {
                (format!("{} {reason}", unsettled(self.segment_name())), FailureClass::MayBePublic)
            }
            (class, _) => (reason, class),
        };
        match self.current_kind() {
            Some(SegmentKind::Comment) => Self { comment_error: Some(reason), ..self }.ended(State::Published),
            Some(SegmentKind::Reply) => {
                let class = if class == FailureClass::MayBePublic { class } else { FailureClass::PartlyPublic };
                let reason = format!("{} {reason}", self.public_count());
                self.ended(State::Failed { reason, class })
            }
            Some(SegmentKind::Post) | None => self.ended(State::Failed { reason, class }),
        }
    }

    pub(super) fn public_count(&self) -> String {
        let all = self.segments.iter().filter(|it| **it != SegmentKind::Comment).count();
        format!("{} of the {all} posts of this thread are public.", self.published.len())
    }

    pub(super) fn segment_name(&self) -> &'static str {
        self.current_kind().unwrap_or(SegmentKind::Post).as_str()
    }

    fn ended(mut self, state: State) -> Self {
        self.state = state;
        self.intent = None;
        self.unknown_since = None;
        self.lease_expires_at = None;
        self
    }

    fn retry(self, at: DateTime<Utc>, reason: String, now: DateTime<Utc>) -> Self {
        let gives_up_at = self.gives_up_at();
        if gives_up_at <= now {
            let noted = Self { note: Some(Note::retry(reason)), ..self };
            return noted.give_up();
        }
        // A wait beyond the retry window would only delay its end.
        self.wait_until(at.min(gives_up_at), Some(reason))
    }

    fn needs_reconnection(mut self) -> Self {
        if let Some(note) = &mut self.note {
            note.kind = MessageKind::Reconnect;
        }
        self
    }

    pub(super) fn wait_until(mut self, at: DateTime<Utc>, note: Option<String>) -> Self {
        self.next_step_at = at;
        self.due_at = Some(at);
        self.lease_expires_at = None;
        self.note = note.map(Note::retry).or(self.note);
        self
    }

    fn can_extend_retry_window(&self, at: DateTime<Utc>) -> bool {
        self.gives_up_at() <= at && at <= self.publish_at + EXTENDED_RETRY_WINDOW
    }

    fn back_off(&self, jitter: u32) -> TimeDelta {
        let doublings = self.attempts.saturating_add(self.restarts).saturating_sub(1).min(10);
        with_jitter((FIRST_RETRY_WAIT * (1 << doublings)).min(MAX_RETRY_WAIT), jitter)
    }
}

fn not_listed(segment: &str) -> String {
    format!(
        "The platform refused the {segment} as a duplicate, but does not list it yet. Check the account before you \
         post it again."
    )
}

/// Precedes the reason of a failure after a publish call with an unknown outcome that no look-up
/// settled.
fn unsettled(segment: &str) -> String {
    format!(
        "The {segment} may be public: the outcome of an earlier attempt is unknown. Look at the account before you \
         send it again. The last attempt:"
    )
}

/// Lengthens the wait by up to a quarter, so that many deliveries do not come back at once.
pub(super) fn with_jitter(wait: TimeDelta, jitter: u32) -> TimeDelta {
    wait + wait / 4 * i32::try_from(jitter % 1024).unwrap_or(0) / 1024
}
