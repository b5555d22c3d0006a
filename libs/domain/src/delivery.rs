//! A delivery, the engine's record of one target of one post, and the transitions that are the only
//! way to change it.
//!
//! A worker takes [`Delivery::next_step`] and records its outcome by a transition, written on
//! condition that the delivery is as it was read. Read next: `docs/publishing.md`.
//!
//! ```text
//! waiting ──open_intent──▶ intent open ──record_publish──▶ published ──▶ follow-ups
//!  ▲   ▲                      │    │                       failed
//!  │   └── next segment ◀─────┼────┘
//!  └── known not public ◀── record_look_up ── unknown outcome
//! ```
//!
//! The segments of a target are published one after the other. What the record has about a publish
//! call is about the current segment, the first one that is not public.

mod follow_up;
mod outcome;
mod preparation;
mod restored;
mod transitions;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

pub use crate::failure::FailureClass;
use crate::id::{ConnectionId, PostId, ProfileId, TargetId, UserId};
use crate::post::{Post, SegmentKind, Target};
pub use crate::published::Published;
pub use follow_up::{FOLLOW_UP_WINDOW, FollowUps};
pub use outcome::{AttemptError, Claim, LookUpPolicy, Resolution};
pub use preparation::{Preparation, PreparationStep};
pub use restored::LostWindow;

/// The lease of a worker. Longer than the timeout of the delivery function in `template.yaml`, so
/// that a live worker never loses its lease.
pub const LEASE_DURATION: TimeDelta = TimeDelta::seconds(90);

/// The longest time between the write of an intent and the start of its publish call. A later call
/// is not made, because it could take effect after other workers have concluded that there was
/// none.
pub const PUBLISH_CALL_DELAY: TimeDelta = TimeDelta::seconds(5);

/// How long a candidate has to be public and unclaimed before it is accepted as this delivery's
/// post.
///
/// Longer than the timeout of the delivery function in `template.yaml`: by then, the worker that
/// made the post has claimed it or has ended.
pub const CANDIDATE_WAIT: TimeDelta = TimeDelta::seconds(65);

/// How long after `publish_at` a delivery is retried.
pub const RETRY_WINDOW: TimeDelta = TimeDelta::hours(24);

/// Replaces [`RETRY_WINDOW`] for a retry at a time that the platform named. Daily quotas reopen later than
/// 24 hours after the post is due, and no known quota lasts longer than a day.
pub const EXTENDED_RETRY_WINDOW: TimeDelta = TimeDelta::hours(48);

/// How long a delivery is retried after such a retry: enough to repeat a preparation that has
/// expired in the meantime.
pub const FINAL_RETRY_WINDOW: TimeDelta = TimeDelta::minutes(15);

/// How far ahead of a delivery's next step the sweep puts it on the queue: the period of the tick,
/// its jitter, and one missed tick.
pub const PLAN_WINDOW: TimeDelta = TimeDelta::seconds(180);

/// How far ahead the writer of a delivery puts it on the queue itself. Longer than [`PLAN_WINDOW`],
/// because the index is eventually consistent: a tick may not see the latest writes, and the next
/// tick starts where this one ended.
pub const ENQUEUE_WINDOW: TimeDelta = TimeDelta::seconds(240);

/// How long after `next_step_at` the sweep checks whether the step was taken, and the time between
/// two such checks.
pub const OVERDUE_CHECK_INTERVAL: TimeDelta = TimeDelta::seconds(60);

const FIRST_RETRY_WAIT: TimeDelta = TimeDelta::seconds(5);
const MAX_RETRY_WAIT: TimeDelta = TimeDelta::minutes(30);
const FIRST_LOOK_UP_WAIT: TimeDelta = TimeDelta::seconds(2);
const FIRST_POSTPONEMENT: TimeDelta = TimeDelta::seconds(10);
const MAX_POSTPONEMENT: TimeDelta = TimeDelta::seconds(180);
const FIRST_RECONNECTION_CHECK: TimeDelta = TimeDelta::seconds(30);
const MAX_PREPARATION_PAUSE: TimeDelta = TimeDelta::minutes(5);
const MAX_RECONNECTION_CHECK: TimeDelta = TimeDelta::minutes(5);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    pub user_id: UserId,
    pub post_id: PostId,
    pub target_id: TargetId,
    pub connection_id: ConnectionId,
    /// The profile of its post, whose calls are limited together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
    pub provider: String,
    /// The post's revision. Messages about another revision, and their results, are ignored.
    pub revision: u64,
    /// When the current segment is due: the post at its scheduled time, a later segment once the
    /// one before it is public. The publish call never starts earlier.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub publish_at: DateTime<Utc>,
    pub state: State,
    pub segments: Vec<SegmentKind>,
    /// The segments that are public: the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// How many segments were public before this revision.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resumed_at: u32,
    /// Why the first comment, the last segment, is not public although its delivery is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment_error: Option<String>,
    /// When the next step is taken. After the end: when the roll-up is.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub next_step_at: DateTime<Utc>,
    /// Position in the due index: `next_step_at`, or the later time to which the sweep moved it. A
    /// step that is taken in time does not change it, because moving an entry costs two more
    /// writes. `None` once the delivery and its follow-ups have ended and the post is rolled up.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub due_at: Option<DateTime<Utc>>,
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<DateTime<Utc>>,
    /// Publish calls started for the current segment. Before its preparation is complete:
    /// consecutive failures of preparation, which determine the back-off.
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_begun: bool,
    /// When the first publish call with an unknown outcome started. It may have taken effect even
    /// if a later look-up did not find its post, because lists of platforms lag. A call that
    /// certainly had no effect is not counted. A delivery that fails while this is set is
    /// [`FailureClass::MayBePublic`].
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub unknown_since: Option<DateTime<Utc>>,
    /// Set by a restore: every segment may have been published in this time. `None` once a segment was
    /// published after the restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_window: Option<LostWindow>,
    /// Of the segments that are not public, the current one first. A segment without an entry has
    /// nothing to prepare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preparations: Vec<Preparation>,
    /// How often the preparation expired on the platform and was repeated.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// When a delivery that the platform told to come back is tried again, if that is after the
    /// retry window, which it extends.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_ups: Option<FollowUps>,
    /// Why the post is not public yet, for the user. It promises no further step, because the reason
    /// of a failure repeats it; [`Delivery::waiting_message`] adds the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// Random, the condition of the next write: of two concurrent writers, one fails.
    pub write_id: u64,
}

/// The name of a delivery and everything that its next step needs, so that a worker can read it in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryIds {
    pub user_id: UserId,
    pub post_id: PostId,
    pub target_id: TargetId,
    pub connection_id: ConnectionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
}

/// A text for the user of a post that waits. Decisions use the kind, never the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    #[serde(default, skip_serializing_if = "MessageKind::is_retry")]
    pub kind: MessageKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    #[default]
    Retry,
    Reconnect,
}

impl Note {
    pub(crate) const fn retry(text: String) -> Self {
        Self { kind: MessageKind::Retry, text }
    }
}

impl MessageKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_retry(&self) -> bool {
        *self == Self::Retry
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum State {
    Waiting,
    /// Every segment is public, except perhaps the first comment.
    Published,
    /// Not public or not known to be public, and not retried.
    Failed {
        reason: String,
        class: FailureClass,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// From 1.
    pub attempt: u32,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
    /// Whether the platform may still be processing the call. False after any response, even an
    /// error.
    pub may_still_run: bool,
    /// The platform's own time: there is no other call before it.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<DateTime<Utc>>,
    /// Whether the platform refused the call as a duplicate. Then a list without the post is
    /// outdated, and permits no other call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_duplicate: bool,
    pub look_ups: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Candidate>,
}

/// A public post that matches a delivery, and that no delivery has claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub platform_post_id: String,
    /// When a look-up first returned it.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub at: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Nothing: the delivery has ended and the post is rolled up.
    Nothing,
    RollUp,
    /// Another worker has the lease until then.
    Leased(DateTime<Utc>),
    Wait(DateTime<Utc>),
    Prepare(usize),
    Publish,
    LookUp,
    GiveUp,
    FollowUp,
    /// Ends the first follow-up: the outcome of its call is unknown, or the window is over.
    EndFollowUp,
}

impl Intent {
    /// When the call can no longer take effect; `settles` is how long a cut-off call may still do
    /// so.
    pub(crate) fn settled_at(&self, settles: TimeDelta) -> DateTime<Utc> {
        if self.may_still_run { self.at + PUBLISH_CALL_DELAY + settles } else { self.at }
    }
}

impl Delivery {
    /// A delivery for the current revision of `post`. `lead` is the time before `publish_at` at
    /// which preparation starts; `None` when there is nothing to prepare.
    pub fn new(post: &Post, target: &Target, lead: Option<TimeDelta>, write_id: u64, now: DateTime<Utc>) -> Self {
        let publish_at = post.scheduled_at.unwrap_or(now).max(now);
        let next_step_at = (publish_at - lead.unwrap_or_default()).max(now);
        let segments: Vec<_> = post.segments(target).iter().map(|it| it.kind).collect();
        let published: Vec<_> = target.public.iter().map(|it| it.published.clone()).collect();
        let is_open = lead.map(|_| Preparation::open(next_step_at));
        let preparations = is_open.map(|it| vec![it; segments.len() - published.len()]).unwrap_or_default();
        Self {
            user_id: post.user_id,
            post_id: post.post_id,
            target_id: target.target_id,
            connection_id: target.connection_id,
            profile_id: post.of_profile.as_ref().map(|it| it.profile_id),
            provider: target.provider.clone(),
            revision: post.revision,
            publish_at,
            state: State::Waiting,
            segments,
            resumed_at: u32::try_from(published.len()).unwrap_or_default(),
            published,
            comment_error: None,
            next_step_at,
            due_at: Some(next_step_at),
            lease_expires_at: None,
            attempts: 0,
            has_begun: false,
            unknown_since: None,
            lost_window: None,
            preparations,
            restarts: 0,
            intent: None,
            opens_at: None,
            follow_ups: None,
            note: None,
            write_id,
        }
    }

    pub fn ids(&self) -> DeliveryIds {
        let Self { user_id, post_id, target_id, connection_id, profile_id, .. } = *self;
        DeliveryIds { user_id, post_id, target_id, connection_id, profile_id }
    }

    pub fn gives_up_at(&self) -> DateTime<Utc> {
        self.opens_at.map_or(self.publish_at + RETRY_WINDOW, |it| it + FINAL_RETRY_WINDOW)
    }

    fn retry_hours(&self) -> i64 {
        (self.gives_up_at() - self.publish_at).num_hours()
    }

    pub(crate) fn waiting_message(&self) -> Option<String> {
        let Note { kind, text } = self.note.as_ref()?;
        let hours = self.retry_hours();
        let text = match self.current_segment() {
            0 => text.clone(),
            _ => format!("{} {text}", self.public_count()),
        };
        Some(match (&self.intent, kind) {
            (Some(_), _) => {
                format!(
                    "{text} We look the {} up, for up to a day, before anything is sent again.",
                    self.segment_name()
                )
            }
            (None, MessageKind::Retry) => {
                format!("{text} We will try again, for up to {hours} hours after the scheduled time.")
            }
            (None, MessageKind::Reconnect) => {
                format!("{text} The post waits for the account for up to {hours} hours after the scheduled time.")
            }
        })
    }

    /// Whether the sweep might plan the next step too late, so that the writer must put the
    /// delivery on the queue.
    pub fn is_imminent(&self, now: DateTime<Utc>) -> bool {
        // The sweep plans no deferred roll-up, whose position in the index is not its time.
        let is_deferred = self.state != State::Waiting && self.due_at.is_some_and(|it| it != self.next_step_at);
        let has_step = self.state == State::Waiting || self.due_at.is_some();
        is_deferred || has_step && self.next_step_at - now <= ENQUEUE_WINDOW
    }

    /// Whether an error delays the delivery and nothing of it can be public: no call was started,
    /// or each call is known to have had no effect.
    pub fn is_waiting_after_error(&self) -> bool {
        self.state == State::Waiting && self.intent.is_none() && (self.has_begun || self.note.is_some())
    }

    pub fn may_have_published(&self) -> bool {
        self.unknown_outcome_since().is_some()
    }

    /// When the first publish call that may have taken effect started. Its post can be that old, so
    /// a look-up starts there.
    pub fn unknown_outcome_since(&self) -> Option<DateTime<Utc>> {
        self.unknown_since.or(self.intent.as_ref().map(|it| it.at))
    }

    pub const fn current_segment(&self) -> usize {
        self.published.len()
    }

    /// `None` once every segment is public.
    pub fn current_kind(&self) -> Option<SegmentKind> {
        self.segments.get(self.current_segment()).copied()
    }

    /// Whether this revision has published some segments and not yet all: then the post cannot be
    /// changed.
    pub fn is_between_segments(&self) -> bool {
        self.state == State::Waiting
            && !self.has_only_comment_left()
            && usize::try_from(self.resumed_at).is_ok_and(|it| it < self.published.len())
    }

    /// Whether the post and its replies are public, and the first comment has not ended: its target
    /// counts as published.
    pub fn has_only_comment_left(&self) -> bool {
        self.state == State::Waiting && self.current_kind() == Some(SegmentKind::Comment)
    }

    /// Whether the candidate has been public and unclaimed for [`CANDIDATE_WAIT`]. Never while the
    /// delivery's own call may still take effect, because then there could be a second post.
    pub fn accepts_candidate(&self, published: &Published, settle_time: TimeDelta, now: DateTime<Utc>) -> bool {
        let Some(intent) = &self.intent else { return false };
        let has_waited = |candidate: &Candidate| {
            candidate.platform_post_id == published.platform_post_id && candidate.at + CANDIDATE_WAIT <= now
        };
        intent.candidate.as_ref().is_some_and(has_waited) && intent.settled_at(settle_time) <= now
    }

    /// Whether only the roll-up is left.
    pub fn has_ended(&self) -> bool {
        self.state != State::Waiting && self.follow_ups.is_none()
    }

    pub fn next_step(&self, now: DateTime<Utc>) -> NextStep {
        if self.has_ended() && self.due_at.is_none() {
            return NextStep::Nothing;
        }
        if let Some(lease_expires_at) = self.lease_expires_at.filter(|it| now < *it) {
            return NextStep::Leased(lease_expires_at);
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
        self.next_preparation_or_publish(now)
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
