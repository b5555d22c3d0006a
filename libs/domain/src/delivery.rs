//! A delivery: one target of one post on its way to its platform, and the
//! transitions that are the only way to change it.
//!
//! ```text
//! waiting ──intend──▶ intent open ──settle──▶ published
//!    ▲                    │                   failed
//!    └──── known not public ◀── resolve ── unknown
//! ```

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::id::{ConnectionId, PostId, TargetId, UserId};
use crate::post::{Post, Target};

/// How long one worker may hold a delivery.
///
/// Longer than the time limit of the delivery function in `template.yaml`, so
/// that a worker which is still alive never loses its hold.
pub const LEASE: TimeDelta = TimeDelta::seconds(90);

/// How long after its time a delivery is tried.
pub const GIVE_UP_AFTER: TimeDelta = TimeDelta::hours(24);

/// How far ahead of a delivery's next step the sweep puts it on the queue: the
/// period of the tick, its jitter, and one missed tick.
pub const PLAN_AHEAD: TimeDelta = TimeDelta::seconds(180);

/// How long after the moment something should have happened the sweep looks.
pub const WATCHDOG: TimeDelta = TimeDelta::seconds(60);

const FIRST_WAIT: TimeDelta = TimeDelta::seconds(5);
const LONGEST_WAIT: TimeDelta = TimeDelta::minutes(30);
const FIRST_LOOK: TimeDelta = TimeDelta::seconds(2);
const RECONNECTION_LOOK: TimeDelta = TimeDelta::seconds(30);
const LONGEST_RECONNECTION_LOOK: TimeDelta = TimeDelta::minutes(5);

/// One target of one post on its way to its platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Whose.
    pub user_id: UserId,
    /// Of which post.
    pub post_id: PostId,
    /// Which of its targets.
    pub target_id: TargetId,
    /// By which account.
    pub connection_id: ConnectionId,
    /// The platform's name in the registry.
    pub provider: String,
    /// The post's revision that is to go out. Messages and results of another
    /// one are void.
    pub revision: u64,
    /// Never before this.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub publish_at: DateTime<Utc>,
    /// Where it stands.
    pub state: State,
    /// When its next step is to be taken.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub look_at: DateTime<Utc>,
    /// When the sweep must look at it, whatever was planned: ahead of its next
    /// step to plan it, or after it to see what became of it. `None` once it
    /// has ended and its post says so.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub due_at: Option<DateTime<Utc>>,
    /// Until when one worker holds it.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub lease_ends: Option<DateTime<Utc>>,
    /// Public calls begun; until it is prepared, failures of preparation in a row.
    pub attempts: u32,
    /// Whether everything before the public call is done.
    pub prepared: bool,
    /// What the platform's preparation has reached, in its own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// The public call that was begun and whose end is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// Why it is not out yet, for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Changes with every write, so that of two writers one loses.
    pub stamp: u64,
}

/// Where a delivery stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum State {
    /// Something is still to be done.
    Waiting,
    /// Public.
    Published(Published),
    /// Not public, or not known to be, and not tried again.
    Failed {
        /// For the user.
        reason: String,
        /// For programs.
        class: FailureClass,
    },
}

/// Why a delivery failed, for programs that listen to events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The platform does not want it.
    Refused,
    /// It could not be sent for a day.
    GivenUp,
    /// Nobody can say whether it is public.
    MayBePublic,
}

impl FailureClass {
    /// As events name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::GivenUp => "given_up",
            Self::MayBePublic => "may_be_public",
        }
    }
}

/// A public call that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Which attempt.
    pub attempt: u32,
    /// When it was begun.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
    /// Whether the platform may still be working on it. False once it has
    /// answered, even with an error.
    pub may_still_run: bool,
    /// How often the platform was asked about it.
    pub looks: u32,
}

/// What the platform says of a public post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// The platform's id of it.
    pub platform_post_id: String,
    /// When it became public.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
}

/// Why a call to a platform did not bring a public post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setback {
    /// It does not want this post, and never will.
    Refused {
        /// The platform's words, for the user.
        reason: String,
    },
    /// It did nothing, and may later.
    Busy {
        /// Not before this, when it says so.
        retry_at: Option<DateTime<Utc>>,
        /// For the user.
        reason: String,
    },
    /// It did nothing: the grant is gone.
    Disconnected {
        /// For the user.
        reason: String,
    },
    /// Nobody knows whether it did something.
    Unknown {
        /// Whether it may still be at it.
        may_still_run: bool,
        /// For the user.
        reason: String,
    },
}

/// What the platform answers when it is asked about an open intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It is public.
    Public(Published),
    /// It certainly is not, and will not become so by itself.
    NotThere,
    /// It cannot be said now; ask again.
    Unclear {
        /// For the user.
        reason: String,
    },
    /// It can never be said.
    Unknowable {
        /// Where the user can look.
        advice: String,
    },
}

/// What a worker does next with a delivery, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it has ended and its post says so.
    Nothing,
    /// The post is told how it ended.
    RollUp,
    /// Another worker holds it until then.
    Held(DateTime<Utc>),
    /// It is not time yet.
    Wait(DateTime<Utc>),
    /// What comes before the public call.
    Prepare,
    /// The public call.
    Publish,
    /// The platform is asked how the last call ended.
    Resolve,
    /// Its time is over.
    GiveUp,
}

impl Delivery {
    /// A delivery of a post's revision that is still to be made. `lead` is how
    /// long before its time its preparation begins; `None` when it needs none.
    pub fn new(post: &Post, target: &Target, lead: Option<TimeDelta>, stamp: u64, now: DateTime<Utc>) -> Self {
        let publish_at = post.scheduled_at.unwrap_or(now).max(now);
        let look_at = (publish_at - lead.unwrap_or_default()).max(now);
        Self {
            user_id: post.user_id,
            post_id: post.post_id,
            target_id: target.target_id,
            connection_id: target.connection_id,
            provider: target.provider.clone(),
            revision: post.revision,
            publish_at,
            state: State::Waiting,
            look_at,
            due_at: Some(due_at(look_at, now)),
            lease_ends: None,
            attempts: 0,
            prepared: lead.is_none(),
            progress: None,
            intent: None,
            note: None,
            stamp,
        }
    }

    /// Whether its next step comes before the sweep would plan it, so that
    /// whoever wrote it puts it on the queue.
    pub fn is_imminent(&self, now: DateTime<Utc>) -> bool {
        self.state == State::Waiting && self.look_at - now <= PLAN_AHEAD
    }

    /// Whether a public call was ever begun.
    pub fn is_begun(&self) -> bool {
        self.intent.is_some() || (self.prepared && 0 < self.attempts)
    }

    /// What comes next.
    pub fn next(&self, now: DateTime<Utc>) -> Next {
        if self.state != State::Waiting {
            return if self.due_at.is_some() { Next::RollUp } else { Next::Nothing };
        }
        if let Some(ends) = self.lease_ends.filter(|it| now < *it) {
            return Next::Held(ends);
        }
        if now < self.look_at {
            return Next::Wait(self.look_at);
        }
        if self.intent.is_some() {
            return Next::Resolve;
        }
        if self.publish_at + GIVE_UP_AFTER <= now {
            return Next::GiveUp;
        }
        if !self.prepared {
            return Next::Prepare;
        }
        if now < self.publish_at {
            return Next::Wait(self.publish_at);
        }
        Next::Publish
    }

    /// The same, marked as written anew. Every transition is written by a swap
    /// with what was read, and of two swaps one loses by this number.
    #[must_use]
    pub fn restamped(mut self) -> Self {
        self.stamp += 1;
        self
    }

    /// Held by one worker, for preparation or to ask the platform.
    #[must_use]
    pub fn held(mut self, now: DateTime<Utc>) -> Self {
        self.lease_ends = Some(now + LEASE);
        self.due_at = Some(now + LEASE);
        self
    }

    /// Held by one worker, with the public call about to be made. Written
    /// before the call, so that whoever finds it later knows what it does not
    /// know.
    #[must_use]
    pub fn intended(mut self, now: DateTime<Utc>) -> Self {
        self.attempts += 1;
        self.intent = Some(Intent { attempt: self.attempts, at: now, may_still_run: true, looks: 0 });
        self.held(now)
    }

    /// Preparation got this far; `again_at` is when it can go on, `None` when
    /// nothing is left to prepare.
    #[must_use]
    pub fn prepared(mut self, progress: Option<String>, again_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Self {
        self.progress = progress;
        self.attempts = 0;
        self.note = None;
        self.prepared = again_at.is_none();
        let look_at = again_at.unwrap_or(self.publish_at);
        self.wait_until(look_at, None, now)
    }

    /// A step before the public call met a setback: nothing is public.
    #[must_use]
    pub fn preparation_failed(self, setback: Setback, now: DateTime<Utc>, jitter: u32) -> Self {
        let mut counted = self;
        counted.attempts += 1;
        let setback = match setback {
            // Nothing that comes before the public call can make a post public.
            Setback::Unknown { reason, .. } => Setback::Busy { retry_at: None, reason },
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
            Ok(published) => self.ended(State::Published(published), now),
            Err(Setback::Refused { reason }) => self.failed(reason, FailureClass::Refused, now),
            Err(Setback::Busy { retry_at, reason }) => {
                self.intent = None;
                let again_at = retry_at.map_or(now + wait, |it| it.max(now + wait));
                self.try_again(again_at, reason, now)
            }
            Err(Setback::Disconnected { reason }) => {
                self.intent = None;
                let waited = now - self.publish_at;
                let wait = (waited / 10).clamp(RECONNECTION_LOOK, LONGEST_RECONNECTION_LOOK);
                self.try_again(now + wait, reason, now)
            }
            Err(Setback::Unknown { may_still_run, reason }) => {
                if let Some(intent) = &mut self.intent {
                    intent.may_still_run = may_still_run;
                }
                self.wait_until(now + FIRST_LOOK, Some(reason), now)
            }
        }
    }

    /// The platform was asked about the open intent.
    ///
    /// `settles` is how long a call that was cut off may still take effect over
    /// there; before that, "not there" is not believed.
    #[must_use]
    pub fn resolved(mut self, answer: Resolution, settles: TimeDelta, now: DateTime<Utc>, jitter: u32) -> Self {
        let Some(intent) = &mut self.intent else { return self };
        intent.looks += 1;
        let certain_at = if intent.may_still_run { intent.at + settles } else { intent.at };
        let looks = i32::try_from(intent.looks.min(8)).unwrap_or(8);
        let look_again = now + jittered((FIRST_LOOK * (1 << looks)).min(LONGEST_WAIT), jitter);
        match answer {
            Resolution::Public(published) => self.ended(State::Published(published), now),
            Resolution::NotThere if certain_at <= now => {
                self.intent = None;
                let wait = self.back_off(jitter);
                // The time for asking has already passed as waiting.
                let again_at = now.max(certain_at + wait.min(FIRST_WAIT));
                self.try_again(again_at, "the last attempt did not arrive; trying again".to_owned(), now)
            }
            Resolution::NotThere => self.wait_until(
                look_again.min(certain_at).max(now + FIRST_LOOK),
                Some("waiting to be sure that the last attempt did not arrive".to_owned()),
                now,
            ),
            Resolution::Unclear { reason } if self.publish_at + GIVE_UP_AFTER <= now => {
                let reason = format!("it may be public, look at the account before posting it again ({reason})");
                self.failed(reason, FailureClass::MayBePublic, now)
            }
            Resolution::Unclear { reason } => self.wait_until(look_again, Some(reason), now),
            Resolution::Unknowable { advice } => {
                let reason = format!("it may be public; {advice}");
                self.failed(reason, FailureClass::MayBePublic, now)
            }
        }
    }

    /// Its time is over.
    #[must_use]
    pub fn given_up(self, now: DateTime<Utc>) -> Self {
        let last = self.note.clone().unwrap_or_else(|| "it could not be sent".to_owned());
        self.failed(format!("given up after 24 hours: {last}"), FailureClass::GivenUp, now)
    }

    /// It has ended and its post says so: nobody needs to look any more.
    #[must_use]
    pub fn rolled_up(mut self) -> Self {
        self.due_at = None;
        self
    }

    fn failed(self, reason: String, class: FailureClass, now: DateTime<Utc>) -> Self {
        self.ended(State::Failed { reason, class }, now)
    }

    fn ended(mut self, state: State, now: DateTime<Utc>) -> Self {
        self.state = state;
        self.intent = None;
        self.lease_ends = None;
        self.due_at = Some(now + WATCHDOG);
        self
    }

    fn try_again(self, at: DateTime<Utc>, reason: String, now: DateTime<Utc>) -> Self {
        let ends = self.publish_at + GIVE_UP_AFTER;
        if ends <= now {
            let noted = Self { note: Some(reason), ..self };
            return noted.given_up(now);
        }
        // A wait beyond the end would only make the end late.
        self.wait_until(at.min(ends), Some(reason), now)
    }

    fn wait_until(mut self, at: DateTime<Utc>, note: Option<String>, now: DateTime<Utc>) -> Self {
        self.look_at = at;
        self.due_at = Some(due_at(at, now));
        self.lease_ends = None;
        self.note = note.or(self.note);
        self
    }

    fn back_off(&self, jitter: u32) -> TimeDelta {
        let doublings = self.attempts.saturating_sub(1).min(10);
        jittered((FIRST_WAIT * (1 << doublings)).min(LONGEST_WAIT), jitter)
    }
}

/// When the sweep must look at a delivery whose next step is at `look_at`.
fn due_at(look_at: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
    if look_at - now <= PLAN_AHEAD { look_at + WATCHDOG } else { look_at - PLAN_AHEAD }
}

/// The wait and up to a quarter more, so that many do not come back at once.
fn jittered(wait: TimeDelta, jitter: u32) -> TimeDelta {
    wait + wait / 4 * i32::try_from(jitter % 1024).unwrap_or(0) / 1024
}

#[cfg(test)]
mod tests;
