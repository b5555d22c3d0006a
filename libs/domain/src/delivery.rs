//! A delivery: one target of one post on its way to its platform, and the
//! transitions that are the only way to change it.
//!
//! What a worker does with it is [`Delivery::next_step`]; what came of that is one
//! of the transitions, written over what was read.
//!
//! ```text
//! waiting ──intend──▶ intent open ──settle──▶ published ──▶ what follows it
//!    ▲                    │                   failed
//!    └──── known not public ◀── resolve ── unknown
//! ```

mod follow_up;
mod outcome;
mod transitions;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

pub use crate::failure::FailureClass;
use crate::id::{ConnectionId, PostId, TargetId, UserId};
use crate::post::{Post, Target};
pub use follow_up::{FOLLOW_UP_WINDOW, FollowUps};
pub use outcome::{AttemptError, Claim, LookUpPolicy, Published, Resolution};

/// How long one worker may hold a delivery.
///
/// Longer than the time limit of the delivery function in `template.yaml`, so
/// that a worker which is still alive never loses its hold.
pub const LEASE_DURATION: TimeDelta = TimeDelta::seconds(90);

/// How soon after its intent was written a public call has to begin. One that
/// would begin later is not made: it could take effect after others have
/// believed it lost.
pub const PUBLISH_CALL_DELAY: TimeDelta = TimeDelta::seconds(5);

/// How long a post that looks like a delivery's has to be there, claimed by no
/// other, before it is believed to be its own.
///
/// Longer than the time limit of the delivery function in `template.yaml`: by
/// then a worker whose call had made it has claimed it, or is no more.
pub const CANDIDATE_WAIT: TimeDelta = TimeDelta::seconds(65);

/// For how long after it was due a delivery is tried.
pub const RETRY_WINDOW: TimeDelta = TimeDelta::hours(24);

/// How long after it was due a delivery is tried where its platform named a time
/// beyond [`RETRY_WINDOW`]: quotas of a day open later than that, and none that
/// is known lasts longer than a day.
pub const EXTENDED_RETRY_WINDOW: TimeDelta = TimeDelta::hours(48);

/// How long it is then tried: long enough to prepare anew what the platform has
/// forgotten in the meantime.
pub const FINAL_RETRY_WINDOW: TimeDelta = TimeDelta::minutes(15);

/// How far ahead of a delivery's next step the sweep puts it on the queue: the
/// period of the tick, its jitter, and one missed tick.
pub const PLAN_WINDOW: TimeDelta = TimeDelta::seconds(180);

/// How far ahead the writer of a delivery puts it on the queue itself. Longer
/// than [`PLAN_WINDOW`], because an index may not yet show the tick what was
/// written just before, and the next tick begins where this one ended.
pub const ENQUEUE_WINDOW: TimeDelta = TimeDelta::seconds(240);

/// How long after a step should have been taken the sweep looks whether it
/// was, and how long it waits before it looks again.
pub const OVERDUE_CHECK_INTERVAL: TimeDelta = TimeDelta::seconds(60);

const FIRST_RETRY_WAIT: TimeDelta = TimeDelta::seconds(5);
const MAX_RETRY_WAIT: TimeDelta = TimeDelta::minutes(30);
const FIRST_LOOK_UP_WAIT: TimeDelta = TimeDelta::seconds(2);
const FIRST_POSTPONEMENT: TimeDelta = TimeDelta::seconds(10);
const MAX_POSTPONEMENT: TimeDelta = TimeDelta::seconds(180);
const FIRST_RECONNECTION_CHECK: TimeDelta = TimeDelta::seconds(30);
const MAX_PREPARATION_PAUSE: TimeDelta = TimeDelta::minutes(5);
const MAX_RECONNECTION_CHECK: TimeDelta = TimeDelta::minutes(5);

/// One target of one post on its way to its platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// The user whose post it is.
    pub user_id: UserId,
    /// The post it belongs to.
    pub post_id: PostId,
    /// The target of the post that it brings to its platform.
    pub target_id: TargetId,
    /// The connection with the account that publishes it.
    pub connection_id: ConnectionId,
    /// The platform's name in the registry.
    pub provider: String,
    /// The revision of the post that is to go out. Messages about another
    /// revision, and results of it, are void.
    pub revision: u64,
    /// When the post is due. The public call is never begun before.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub publish_at: DateTime<Utc>,
    /// Where it stands.
    pub state: State,
    /// When its next step is to be taken. Once it has ended: when the post is
    /// to be told how.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub next_step_at: DateTime<Utc>,
    /// Where it stands in the due index: at the time of its next step, or
    /// where the sweep moved it when it looked after that. A step that is taken
    /// in time leaves it alone, because moving an entry costs two more writes.
    /// `None` once it has ended, with what follows it, and its post says so.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub due_at: Option<DateTime<Utc>>,
    /// When the lease of the worker that holds it ends.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<DateTime<Utc>>,
    /// Public calls begun. Until it is prepared: failures of preparation in a
    /// row, which decide how long the back-off is.
    pub attempts: u32,
    /// Whether a public call was ever begun.
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_begun: bool,
    /// When the first publish call with an unknown outcome began. It may have taken effect even if a later look-up did
    /// not find its post, because lists of platforms lag. A call that certainly had no effect is not counted. A delivery
    /// that fails while this is set is [`FailureClass::MayBePublic`].
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub unknown_since: Option<DateTime<Utc>>,
    /// Whether everything before the public call is done.
    pub is_prepared: bool,
    /// What the platform's preparation has reached, in its own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// How often the platform no longer knew what had been prepared, so that
    /// it was prepared anew.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u32,
    /// The public call that was begun and whose end is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// When its platform takes posts again, where that is so late that it would
    /// have been given up by then. It extends the retrying.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<DateTime<Utc>>,
    /// What is still to be done after its publication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_ups: Option<FollowUps>,
    /// Why it is not out yet, for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Changes with every write, so that of two writers one loses.
    pub write_id: u64,
}

/// Where a delivery stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum State {
    /// Something is still to be done.
    Waiting,
    /// It is public.
    Published(Published),
    /// Not public, or not known to be, and not tried again.
    Failed {
        /// For the user.
        reason: String,
        /// For programs.
        class: FailureClass,
    },
}

/// A public call that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// When it was begun.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
    /// Whether the platform may still be working on it. False once it has
    /// answered, even with an error.
    pub may_still_run: bool,
    /// No other call is made before this time, which the platform named.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<DateTime<Utc>>,
    /// Whether the platform refused the call as a duplicate. Then a list without the post lags, and permits no other
    /// call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_duplicate: bool,
    /// How often the platform was asked about it.
    pub look_ups: u32,
    /// What looks like it over there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Candidate>,
}

/// A public post that looks like a delivery's, claimed by no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The platform's id of it.
    pub platform_post_id: String,
    /// When it was first seen.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
}

/// What a worker does next with a delivery, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Nothing: it has ended and its post says so.
    Nothing,
    /// The post is told how it ended.
    RollUp,
    /// Another worker holds it until then.
    Leased(DateTime<Utc>),
    /// Its next step is to be taken then, not before.
    Wait(DateTime<Utc>),
    /// What comes before the public call.
    Prepare,
    /// The public call.
    Publish,
    /// The platform is asked how the last call ended.
    LookUp,
    /// Its time is over.
    GiveUp,
    /// A call for what follows its publication.
    FollowUp,
    /// What follows next is done with: nobody knows how a call for it ended, or
    /// its time is over.
    EndFollowUp,
}

impl Intent {
    /// When the call can no longer take effect; `settles` is how long one that
    /// was cut off may, over there.
    pub(crate) fn settled_at(&self, settles: TimeDelta) -> DateTime<Utc> {
        if self.may_still_run { self.at + PUBLISH_CALL_DELAY + settles } else { self.at }
    }
}

impl Delivery {
    /// A delivery of a post's revision that is still to be made. `lead` is how
    /// long before its time its preparation begins; `None` when it needs none.
    pub fn new(post: &Post, target: &Target, lead: Option<TimeDelta>, write_id: u64, now: DateTime<Utc>) -> Self {
        let publish_at = post.scheduled_at.unwrap_or(now).max(now);
        let next_step_at = (publish_at - lead.unwrap_or_default()).max(now);
        Self {
            user_id: post.user_id,
            post_id: post.post_id,
            target_id: target.target_id,
            connection_id: target.connection_id,
            provider: target.provider.clone(),
            revision: post.revision,
            publish_at,
            state: State::Waiting,
            next_step_at: next_step_at,
            due_at: Some(next_step_at),
            lease_expires_at: None,
            attempts: 0,
            has_begun: false,
            unknown_since: None,
            is_prepared: lead.is_none(),
            progress: None,
            restarts: 0,
            intent: None,
            opens_at: None,
            follow_ups: None,
            note: None,
            write_id: write_id,
        }
    }

    pub fn gives_up_at(&self) -> DateTime<Utc> {
        self.opens_at.map_or(self.publish_at + RETRY_WINDOW, |it| it + FINAL_RETRY_WINDOW)
    }

    /// Whether the sweep would not plan its next step in time for certain, so
    /// that whoever wrote it puts it on the queue.
    pub fn is_imminent(&self, now: DateTime<Utc>) -> bool {
        match self.state {
            State::Waiting => self.next_step_at - now <= ENQUEUE_WINDOW,
            _ => self.due_at.is_some(),
        }
    }

    /// Whether something stood in its way, and nothing of it can be public: no
    /// call was begun, or each is known to have had no effect.
    pub fn is_waiting_after_error(&self) -> bool {
        self.state == State::Waiting && self.intent.is_none() && (self.has_begun || self.note.is_some())
    }

    /// Whether a public call of it may have had an effect.
    pub fn may_have_published(&self) -> bool {
        self.unknown_outcome_since().is_some()
    }

    /// When the first publish call that may have taken effect began. Its post can be that old, so a look-up starts
    /// there.
    pub fn unknown_outcome_since(&self) -> Option<DateTime<Utc>> {
        self.unknown_since.or(self.intent.as_ref().map(|it| it.at))
    }

    /// Whether a post that looks like this one has been there, claimed by no
    /// other, for so long that it is this one. Not while its own call may still
    /// take effect: that would make a second one.
    pub fn accepts_candidate(&self, it: &Published, settles: TimeDelta, now: DateTime<Utc>) -> bool {
        let Some(intent) = &self.intent else { return false };
        let is_known =
            |seen: &Candidate| seen.platform_post_id == it.platform_post_id && seen.at + CANDIDATE_WAIT <= now;
        intent.candidate.as_ref().is_some_and(is_known) && intent.settled_at(settles) <= now
    }

    /// Whether nothing is left to do but to tell its post.
    pub fn has_ended(&self) -> bool {
        self.state != State::Waiting && self.follow_ups.is_none()
    }

    /// What comes next.
    pub fn next_step(&self, now: DateTime<Utc>) -> NextStep {
        if self.has_ended() && self.due_at.is_none() {
            return NextStep::Nothing;
        }
        if let Some(ends) = self.lease_expires_at.filter(|it| now < *it) {
            return NextStep::Leased(ends);
        }
        if now < self.next_step_at {
            return NextStep::Wait(self.next_step_at);
        }
        if self.state != State::Waiting {
            return self.follow_ups.as_ref().map_or(NextStep::RollUp, |it| it.next_step(now));
        }
        if self.intent.is_some() {
            return NextStep::LookUp;
        }
        if self.gives_up_at() <= now {
            return NextStep::GiveUp;
        }
        if !self.is_prepared {
            return NextStep::Prepare;
        }
        if now < self.publish_at {
            return NextStep::Wait(self.publish_at);
        }
        NextStep::Publish
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
fn is_false(it: &bool) -> bool {
    !*it
}

#[cfg(test)]
mod tests;
