//! Preparation: what a platform allows before the publish call, such as uploads.
//!
//! The segments of a thread are prepared together before the due time, so that only their publish
//! calls are left then. An error in the preparation of a later segment does not delay the current
//! one: it is repeated later.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::{AttemptError, Delivery, NextStep};

const LATER_SEGMENT_WAIT: TimeDelta = TimeDelta::seconds(30);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparation {
    /// When its next step is taken; `None` once only the publish call is left.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub next_step_at: Option<DateTime<Utc>>,
    /// Whether the next step needs the segment before it to be public.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub needs_parent: bool,
    /// In the adapter's own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreparationStep {
    Ready {
        progress: Option<String>,
    },
    /// Not finished, and not continued before this time.
    Again {
        progress: String,
        at: DateTime<Utc>,
    },
    /// The rest needs the segment before it to be public.
    NeedsParent {
        progress: Option<String>,
    },
}

impl Preparation {
    /// Nothing is prepared yet.
    pub const fn open(at: DateTime<Utc>) -> Self {
        Self { next_step_at: Some(at), needs_parent: false, progress: None }
    }
}

impl From<PreparationStep> for Preparation {
    fn from(prepared: PreparationStep) -> Self {
        match prepared {
            PreparationStep::Ready { progress } => Self { next_step_at: None, needs_parent: false, progress },
            PreparationStep::Again { progress, at } => {
                Self { next_step_at: Some(at), needs_parent: false, progress: Some(progress) }
            }
            PreparationStep::NeedsParent { progress } => Self { next_step_at: None, needs_parent: true, progress },
        }
    }
}

impl Delivery {
    pub fn progress(&self, segment: usize) -> Option<&str> {
        self.preparations.get(segment.checked_sub(self.current_segment())?)?.progress.as_deref()
    }

    pub fn is_prepared(&self) -> bool {
        self.preparations.first().is_none_or(|it| it.next_step_at.is_none())
    }

    #[must_use]
    pub fn record_preparation(mut self, segment: usize, prepared: PreparationStep) -> Self {
        if segment == self.current_segment() {
            self.attempts = 0;
            self.note = None;
        }
        self.set_preparation(segment, prepared.into());
        self.wait_for_preparation()
    }

    /// Records an error before the publish call: nothing of the segment is public.
    #[must_use]
    pub fn fail_preparation(mut self, segment: usize, error: AttemptError, now: DateTime<Utc>, jitter: u32) -> Self {
        // No call before the publish call can make a post public.
        let error = match error {
            AttemptError::Duplicate { reason }
            | AttemptError::Unknown { reason, .. }
            | AttemptError::Accepted { reason, .. } => AttemptError::RetryLater { retry_at: None, reason },
            it => it,
        };
        if segment == self.current_segment() {
            self.attempts += 1;
            return self.record_publish(Err(error), now, jitter);
        }
        let progress = match error {
            AttemptError::Refused { .. } | AttemptError::Unauthorized { .. } => {
                return self.record_publish(Err(error), now, jitter);
            }
            AttemptError::PreparationExpired { .. } => None,
            _ => self.progress(segment).map(str::to_owned),
        };
        let at = now + LATER_SEGMENT_WAIT;
        self.set_preparation(segment, Preparation { progress, ..Preparation::open(at) });
        self.wait_for_preparation()
    }

    pub(super) fn next_preparation_or_publish(&self, now: DateTime<Utc>) -> NextStep {
        let (is_ready, is_due) = (self.is_prepared(), self.publish_at <= now);
        if is_ready && is_due {
            return NextStep::Publish;
        }
        let open = self.preparations.iter().enumerate().filter_map(|(index, it)| Some((it.next_step_at?, index)));
        if let Some((_, index)) = open.clone().find(|(at, _)| *at <= now) {
            return NextStep::Prepare(self.current_segment() + index);
        }
        let publish_at = is_ready.then_some(self.publish_at);
        NextStep::Wait(open.map(|it| it.0).chain(publish_at).min().unwrap_or(self.publish_at))
    }

    pub(super) fn restart_preparation(&mut self, at: DateTime<Utc>) {
        self.set_preparation(self.current_segment(), Preparation::open(at));
    }

    pub(super) fn advance_preparation(&mut self, now: DateTime<Utc>) {
        if !self.preparations.is_empty() {
            self.preparations.remove(0);
        }
        if let Some(it) = self.preparations.first_mut()
            && (it.needs_parent || it.next_step_at.is_some())
        {
            (it.needs_parent, it.next_step_at) = (false, Some(now));
        }
    }

    pub(super) fn set_preparation(&mut self, segment: usize, preparation: Preparation) {
        let Some(index) = segment.checked_sub(self.current_segment()) else { return };
        while self.preparations.len() <= index {
            self.preparations.push(PreparationStep::Ready { progress: None }.into());
        }
        self.preparations[index] = preparation;
    }

    fn wait_for_preparation(self) -> Self {
        let open = self.preparations.iter().filter_map(|it| it.next_step_at);
        let publish_at = self.is_prepared().then_some(self.publish_at);
        let at = open.chain(publish_at).min().unwrap_or(self.publish_at);
        self.wait_until(at, None)
    }
}
