//! Deliveries that come back with a backup. What was published since the backup is public, and the backup
//! does not know about it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Delivery, Intent, Note, State};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostWindow {
    /// The time of the backup.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub since: DateTime<Utc>,
    /// The time of the restore.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub until: DateTime<Utc>,
    /// Whether the delivery was due before the restore. Then it was probably prepared and published, even if
    /// nothing in the backup shows it.
    pub was_due: bool,
}

impl Delivery {
    /// The delivery of a backup that was complete at `backup_at`. A waiting delivery may have published
    /// its segments since, so each is looked up before its next publish call. Follow-ups end, because
    /// they cannot be looked up.
    #[must_use]
    pub fn restored(mut self, backup_at: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        self.lease_expires_at = None;
        match self.state {
            _ if self.has_ended() => {}
            State::Waiting => {
                let text = "The service was restored from a backup, so this may be public already.";
                self.note = Some(Note::retry(text.to_owned()));
                self.lost_window = Some(LostWindow { since: backup_at, until: now, was_due: self.publish_at <= now });
                self.assume_lost_call();
                self.next_step_at = now;
            }
            State::Published | State::Failed { .. } => {
                if let Some(it) = &mut self.follow_ups {
                    it.ends_at = now;
                }
                self.next_step_at = now;
            }
        }
        if self.due_at.is_some() {
            self.due_at = Some(self.next_step_at);
        }
        self
    }

    /// If the delivery was restored, assumes that there was a call for the current segment at the beginning
    /// of the lost window, and another one at its end.
    pub(super) fn assume_lost_call(&mut self) {
        let Some(LostWindow { since, until, .. }) = self.lost_window else { return };
        self.unknown_since = self.unknown_outcome_since().into_iter().chain([since]).min();
        let known = self.intent.take();
        self.intent = Some(Intent {
            attempt: self.attempts,
            at: until,
            may_still_run: true,
            retry_at: known.as_ref().and_then(|it| it.retry_at),
            is_duplicate: known.is_some_and(|it| it.is_duplicate),
            look_ups: 0,
            candidate: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::delivery::{AttemptError, FailureClass, NextStep, Published, Resolution};
    use crate::post::SegmentKind;
    use crate::testing::{a_delivery, noon};

    const HOUR: TimeDelta = TimeDelta::hours(1);

    fn restored() -> Delivery {
        Delivery { publish_at: noon() + HOUR, ..a_delivery() }.restored(noon() - HOUR, noon())
    }

    /// After a process that was killed cannot have a call in progress any more.
    fn resolved(delivery: Delivery, resolution: Resolution) -> Delivery {
        delivery.record_look_up(resolution, TimeDelta::seconds(60), settled(), 0)
    }

    fn settled() -> DateTime<Utc> {
        noon() + TimeDelta::seconds(66)
    }

    #[test]
    fn restored_delivery_is_looked_up_from_the_backup_on() {
        let delivery = restored();

        assert_eq!(delivery.next_step(noon()), NextStep::LookUp);
        assert_eq!(delivery.unknown_outcome_since(), Some(noon() - HOUR));
        assert_eq!(delivery.due_at, Some(noon()));
    }

    #[test]
    fn post_that_is_not_public_is_published_when_due() {
        let delivery = resolved(restored(), Resolution::NotPublished);

        assert_eq!(delivery.next_step(noon() + HOUR - TimeDelta::seconds(1)), NextStep::Wait(noon() + HOUR));
        assert_eq!(delivery.next_step(noon() + HOUR), NextStep::Publish);
        assert!(delivery.may_have_published(), "a call of the lost window may have been for other uploads");
    }

    #[test]
    fn post_that_cannot_be_looked_up_may_be_public() {
        let delivery = resolved(restored(), Resolution::Undeterminable { advice: "look".to_owned() });

        assert!(matches!(delivery.state, State::Failed { class: FailureClass::MayBePublic, .. }), "{delivery:?}");
    }

    #[test]
    fn every_segment_of_a_thread_is_looked_up_until_one_is_published() {
        let segments = vec![SegmentKind::Post, SegmentKind::Reply, SegmentKind::Reply];
        let delivery = Delivery { segments, ..restored() };

        let second = resolved(delivery, Resolution::Found(Published::new("p1", noon() - TimeDelta::minutes(5))));
        assert_eq!(second.next_step(settled()), NextStep::LookUp);
        let absent = resolved(second, Resolution::NotPublished);
        assert_eq!(absent.next_step(settled() + TimeDelta::seconds(5)), NextStep::Publish);
        // Nothing can answer a segment that was not public.
        let third = absent.open_intent(settled()).record_publish(Ok(Published::new("p2", settled())), settled(), 0);
        assert_eq!(third.next_step(settled()), NextStep::Publish);
    }

    #[test]
    fn duplicate_that_is_not_listed_yet_stays_one() {
        let refused = AttemptError::Duplicate { reason: "duplicate".to_owned() };
        let delivery = a_delivery().open_intent(noon()).record_publish(Err(refused), noon(), 0);

        let restored = delivery.restored(noon() - HOUR, noon());

        let unlisted = resolved(restored, Resolution::NotFound);
        assert_ne!(unlisted.next_step(settled() + TimeDelta::minutes(1)), NextStep::Publish);
    }

    #[test]
    fn follow_ups_of_a_restored_delivery_end() {
        let published = a_delivery().open_intent(noon()).record_publish(Ok(Published::new("p1", noon())), noon(), 0);
        let delivery = published.with_follow_ups(vec!["comment".to_owned(), "playlist".to_owned()], noon());

        let ended = delivery.restored(noon(), noon() + HOUR).end_follow_up(noon() + HOUR);

        assert!(ended.has_ended());
    }

    #[test]
    fn ended_delivery_stays_as_it_is() {
        let published = a_delivery().open_intent(noon()).record_publish(Ok(Published::new("p1", noon())), noon(), 0);
        let ended = published.finish_roll_up();

        assert_eq!(ended.clone().restored(noon() - HOUR, noon() + HOUR).next_step(noon() + HOUR), NextStep::Nothing);
    }
}
