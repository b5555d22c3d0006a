//! The transitions: the only way in which a delivery changes.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    CALL_WITHIN, Delivery, FIRST_LOOK, FIRST_PUT_OFF, FIRST_WAIT, FOLLOW_UP_WITHIN, FailureClass, Intent,
    LATEST_OPENING, LEASE, LONGEST_PAUSE, LONGEST_PUT_OFF, LONGEST_RECONNECTION_LOOK, LONGEST_WAIT, Looks, Published,
    RECONNECTION_LOOK, Resolution, Setback, Sighting, State, UNCLAIMED_FOR,
};

/// How often the pause between two look-ups doubles: up to 512 s.
const MOST_DOUBLINGS: u32 = 8;

/// Like [`MOST_DOUBLINGS`], where look-ups are billed: about fifteen in a day.
const MOST_PAID_DOUBLINGS: u32 = 16;

/// The note while a platform refuses a post as a duplicate and does not list it.
const NOT_LISTED: &str = "The platform refused the post as a duplicate, and does not list it yet. Look at the account \
                          before you post it again.";

/// Precedes the reason of a failure after a publish call with an unknown outcome that no look-up settled.
const UNSETTLED: &str = "The post may be public: the outcome of an earlier attempt is unknown. Look at the account before \
                         you send it again. The last attempt:";

impl Delivery {
    /// The same, marked as written anew. Every transition is written by a swap
    /// with what was read, and of two swaps one loses by this number. It is a
    /// random one, so that a writer who did not hear the answer recognises its
    /// own write, and never takes another's for it.
    #[must_use]
    pub fn restamped(mut self, stamp: u64) -> Self {
        self.stamp = stamp;
        self
    }

    /// Held by one worker, for preparation or to ask the platform.
    #[must_use]
    pub fn held(mut self, now: DateTime<Utc>) -> Self {
        self.lease_ends = Some(now + LEASE);
        self
    }

    /// Held by one worker, with an intent: the public call is about to be made.
    /// It is written before the call, so that whoever finds it later knows that
    /// the call may have been made, and asks the platform.
    #[must_use]
    pub fn intended(mut self, now: DateTime<Utc>) -> Self {
        self.attempts += 1;
        self.begun = true;
        let attempt = self.attempts;
        self.intent = Some(Intent {
            attempt,
            at: now,
            may_still_run: true,
            retry_at: None,
            is_duplicate: false,
            looks: 0,
            seen: None,
        });
        self.held(now)
    }

    /// Preparation got this far; `again_at` is when it can go on, `None` when
    /// nothing is left to prepare.
    #[must_use]
    pub fn prepared(mut self, progress: Option<String>, again_at: Option<DateTime<Utc>>) -> Self {
        self.progress = progress;
        self.attempts = 0;
        self.note = None;
        self.prepared = again_at.is_none();
        let look_at = again_at.unwrap_or(self.publish_at);
        self.wait_until(look_at, None)
    }

    /// A step before the public call met a setback: nothing is public.
    #[must_use]
    pub fn preparation_failed(self, setback: Setback, now: DateTime<Utc>, jitter: u32) -> Self {
        let mut counted = self;
        counted.attempts += 1;
        let setback = match setback {
            // Nothing that comes before the public call can make a post public.
            Setback::Duplicate { reason } | Setback::Unknown { reason, .. } => Setback::Busy { retry_at: None, reason },
            it => it,
        };
        counted.settled(Err(setback), now, jitter)
    }

    /// The public call has ended, or its connection is known not to work.
    ///
    /// A platform can make us wait longer than we would, never shorter.
    #[must_use]
    pub fn settled(mut self, attempt: Result<Published, Setback>, now: DateTime<Utc>, jitter: u32) -> Self {
        let wait = self.back_off(jitter);
        match attempt {
            Ok(published) => self.published(published, now),
            Err(Setback::Refused { reason }) => self.failed(reason, FailureClass::Refused),
            Err(Setback::Busy { retry_at, reason }) => {
                self.intent = None;
                if let Some(at) = retry_at.filter(|it| self.opens_late(*it)) {
                    self.opens_at = Some(at);
                }
                let again_at = retry_at.map_or(now + wait, |it| it.max(now + wait));
                self.try_again(again_at, reason, now)
            }
            Err(Setback::Disconnected { reason }) => {
                self.intent = None;
                let waited = now - self.publish_at;
                let wait = (waited / 10).clamp(RECONNECTION_LOOK, LONGEST_RECONNECTION_LOOK);
                self.try_again(now + wait, reason, now)
            }
            Err(Setback::Stale { reason }) => {
                self.intent = None;
                self.prepared = false;
                self.progress = None;
                self.attempts = 0;
                self.restarts += 1;
                self.try_again(now + wait, reason, now)
            }
            Err(Setback::Duplicate { reason }) => {
                self.doubted_since = self.in_doubt_since();
                if let Some(intent) = &mut self.intent {
                    intent.may_still_run = false;
                    intent.is_duplicate = true;
                }
                self.wait_until(now + FIRST_LOOK, Some(reason))
            }
            Err(Setback::Unknown { may_still_run, retry_at, reason }) => {
                self.doubted_since = self.in_doubt_since();
                if let Some(intent) = &mut self.intent {
                    intent.may_still_run = may_still_run;
                    intent.retry_at = retry_at;
                }
                self.wait_until(now + FIRST_LOOK, Some(reason))
            }
        }
    }

    /// The platform could not even be called. An open intent stays open: that
    /// nobody can be asked says nothing of how the last call ended.
    #[must_use]
    pub fn not_called(self, setback: Setback, now: DateTime<Utc>, jitter: u32) -> Self {
        if self.intent.is_some() {
            let unclear = Resolution::Unclear { reason: setback.into_reason() };
            return self.resolved(unclear, TimeDelta::zero(), now, jitter);
        }
        match setback {
            // No call is counted, so the wait grows with the lateness instead.
            Setback::Busy { retry_at: None, reason } => {
                let wait = ((now - self.publish_at) / 10).min(LONGEST_PAUSE).max(self.back_off(jitter));
                self.try_again(now + wait, reason, now)
            }
            setback => self.settled(Err(setback), now, jitter),
        }
    }

    /// The platform was asked about the open intent.
    #[must_use]
    pub fn resolved(mut self, answer: Resolution, asking: impl Into<Looks>, now: DateTime<Utc>, jitter: u32) -> Self {
        let Looks { settles, are_paid } = asking.into();
        // Also where its worker died and nobody had said so yet.
        self.doubted_since = self.in_doubt_since();
        let ends_at = self.ends_at();
        let Some(intent) = &mut self.intent else { return self };
        intent.looks += 1;
        let (certain_at, retry_at) = (intent.certain_at(settles), intent.retry_at);
        let most_doublings = if intent.is_duplicate && are_paid { MOST_PAID_DOUBLINGS } else { MOST_DOUBLINGS };
        let look_again = now + jittered(FIRST_LOOK * (1 << intent.looks.min(most_doublings)), jitter);
        let look_again = if intent.at + CALL_WITHIN + settles <= now {
            // From here on the adapter may have made the same call again by itself.
            look_again.max(now + settles)
        } else if now < certain_at {
            // Whatever can be decided is, as soon as the call can no longer take effect.
            look_again.min(certain_at).max(now + FIRST_LOOK)
        } else {
            look_again
        };
        let is_absent = answer == Resolution::Absent;
        let answer = match answer {
            Resolution::Absent | Resolution::NotThere if intent.is_duplicate => {
                Resolution::Unclear { reason: NOT_LISTED.to_owned() }
            }
            answer => answer,
        };
        match answer {
            Resolution::Public(published) => self.published(published, now),
            Resolution::Recognised(Published { platform_post_id, .. }) => {
                let known = intent.seen.take().filter(|it| it.platform_post_id == platform_post_id);
                let seen = known.unwrap_or(Sighting { platform_post_id, at: now });
                let believed_at = certain_at.max(seen.at + UNCLAIMED_FOR);
                intent.seen = Some(seen);
                self.wait_until(
                    believed_at.max(now + FIRST_LOOK),
                    Some("A post like this one is there. Making sure that no other post made it.".to_owned()),
                )
            }
            Resolution::Absent | Resolution::NotThere if certain_at <= now => {
                if is_absent {
                    self.settle_call();
                }
                self.intent = None;
                let wait = self.back_off(jitter);
                // The time for asking has already passed as waiting.
                let again_at = now.max(certain_at + wait.min(FIRST_WAIT)).max(retry_at.unwrap_or(now));
                self.try_again(again_at, "The last attempt did not arrive. Trying again.".to_owned(), now)
            }
            Resolution::Absent | Resolution::NotThere => self.wait_until(
                if are_paid { certain_at } else { look_again.min(certain_at) }.max(now + FIRST_LOOK),
                Some("Waiting to be sure that the last attempt did not arrive.".to_owned()),
            ),
            Resolution::Refused { reason } => {
                self.settle_call();
                self.failed(reason, FailureClass::Refused)
            }
            Resolution::Unclear { reason } | Resolution::Disconnected { reason } if self.ends_at() <= now => {
                let reason = format!("The post may be public. {reason}");
                self.failed(reason, FailureClass::MayBePublic)
            }
            Resolution::Unclear { reason } | Resolution::Disconnected { reason } => {
                // A wait beyond the end would only make the end late.
                self.wait_until(look_again.min(ends_at.max(now + settles)), Some(reason))
            }
            Resolution::Unknowable { advice } => {
                let reason = format!("The post may be public: {advice}");
                self.failed(reason, FailureClass::MayBePublic)
            }
        }
    }

    /// Its step is not taken now, because too many are being taken for the same
    /// user or host. That is no attempt: whatever is known of it stays so.
    #[must_use]
    pub fn put_off(self, now: DateTime<Utc>, jitter: u32) -> Self {
        let wait = ((now - self.publish_at).abs() / 2).clamp(FIRST_PUT_OFF, LONGEST_PUT_OFF);
        let note = "Many of your posts are being sent, or its server is slow. It goes out as soon as there is room.";
        let note = (self.state == State::Waiting).then(|| note.to_owned());
        self.wait_until(now + jittered(wait, jitter), note)
    }

    /// Its time is over.
    #[must_use]
    pub fn given_up(self) -> Self {
        let last = self.note.clone().unwrap_or_else(|| "It could not be sent.".to_owned());
        let hours = (self.ends_at() - self.publish_at).num_hours();
        let reason = format!("Given up {hours} hours after its time; give the post a new one to try again. {last}");
        self.failed(reason, FailureClass::GivenUp)
    }

    /// It has ended, and its post is told later: in an hour of many posts the
    /// public calls come first. What follows it comes after that.
    #[must_use]
    pub fn told_at(mut self, at: DateTime<Utc>) -> Self {
        if self.state != State::Waiting {
            self.look_at = at;
        }
        if let Some(it) = &mut self.follow_ups {
            it.ends_at = it.ends_at.max(at + FOLLOW_UP_WITHIN);
        }
        self
    }

    /// It has ended and its post says so: nobody needs to look any more.
    #[must_use]
    pub fn rolled_up(mut self) -> Self {
        self.due_at = None;
        self
    }

    /// Clamps the platform's timestamp to the range from the first call that may have
    /// made the post to now.
    fn published(self, published: Published, now: DateTime<Utc>) -> Self {
        let begun_at = self.in_doubt_since().unwrap_or(published.at);
        let at = published.at.min(now).max(begun_at);
        self.ended(State::Published(Published { at, ..published }))
    }

    /// The open call certainly had no effect. An earlier one may have had, and may have been for other uploads.
    fn settle_call(&mut self) {
        if self.doubted_since == self.intent.as_ref().map(|it| it.at) {
            self.doubted_since = None;
        }
    }

    fn failed(self, reason: String, class: FailureClass) -> Self {
        let (reason, class) = match (class, self.doubted_since) {
            (FailureClass::Refused | FailureClass::GivenUp, Some(_)) => {
                (format!("{UNSETTLED} {reason}"), FailureClass::MayBePublic)
            }
            (class, _) => (reason, class),
        };
        self.ended(State::Failed { reason, class })
    }

    fn ended(mut self, state: State) -> Self {
        self.state = state;
        self.intent = None;
        self.doubted_since = None;
        self.lease_ends = None;
        self
    }

    fn try_again(self, at: DateTime<Utc>, reason: String, now: DateTime<Utc>) -> Self {
        let ends = self.ends_at();
        if ends <= now {
            let noted = Self { note: Some(reason), ..self };
            return noted.given_up();
        }
        // A wait beyond the end would only make the end late.
        self.wait_until(at.min(ends), Some(reason))
    }

    pub(super) fn wait_until(mut self, at: DateTime<Utc>, note: Option<String>) -> Self {
        self.look_at = at;
        self.due_at = Some(at);
        self.lease_ends = None;
        self.note = note.or(self.note);
        self
    }

    /// Whether a time that the platform named extends the retrying.
    fn opens_late(&self, at: DateTime<Utc>) -> bool {
        self.ends_at() <= at && at <= self.publish_at + LATEST_OPENING
    }

    fn back_off(&self, jitter: u32) -> TimeDelta {
        let doublings = self.attempts.saturating_add(self.restarts).saturating_sub(1).min(10);
        jittered((FIRST_WAIT * (1 << doublings)).min(LONGEST_WAIT), jitter)
    }
}

/// The wait and up to a quarter more, so that many do not come back at once.
pub(super) fn jittered(wait: TimeDelta, jitter: u32) -> TimeDelta {
    wait + wait / 4 * i32::try_from(jitter % 1024).unwrap_or(0) / 1024
}
