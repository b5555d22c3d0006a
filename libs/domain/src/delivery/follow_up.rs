//! Follow-ups of a publication, such as an entry in a playlist. They are best effort: whatever their
//! outcome, the post counts as published, and a call with an unknown outcome is not repeated. Only a
//! follow-up that finds the post removed by the platform changes that.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::transitions::with_jitter;
use super::{AttemptError, Delivery, FailureClass, NextStep, State};

/// How long follow-ups are tried: after the publication, a deferred roll-up, or the time at which the next step of one is
/// due.
pub const FOLLOW_UP_WINDOW: TimeDelta = TimeDelta::hours(1);

/// Of each follow-up.
const MAX_ATTEMPTS: u32 = 5;
/// The wait before the second attempt; each further wait is four times as long.
const FIRST_WAIT: TimeDelta = TimeDelta::seconds(30);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUps {
    /// The platform's names of the follow-ups, in order. Never empty.
    pub names: Vec<String>,
    /// State of the first follow-up, in the adapter's own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// How often the current step of the first follow-up is known to have had no effect.
    pub attempts: u32,
    /// Start of a call for the first follow-up whose outcome is not known.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub call_begun_at: Option<DateTime<Utc>>,
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub ends_at: DateTime<Utc>,
}

impl FollowUps {
    pub fn first_name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    pub(super) fn next_step(&self, now: DateTime<Utc>) -> NextStep {
        if self.call_begun_at.is_some() || self.ends_at <= now { NextStep::EndFollowUp } else { NextStep::FollowUp }
    }
}

impl Delivery {
    /// Adds follow-ups to a published delivery, which stays in the due index until they have ended.
    #[must_use]
    pub fn with_follow_ups(mut self, names: Vec<String>, now: DateTime<Utc>) -> Self {
        if self.state == State::Published && !names.is_empty() {
            let ends_at = now + FOLLOW_UP_WINDOW;
            self.follow_ups = Some(FollowUps { names, progress: None, attempts: 0, call_begun_at: None, ends_at });
        }
        self
    }

    /// Takes the lease for a call of the first follow-up. Written before the call, so that another
    /// worker that reads it later does not repeat the call.
    #[must_use]
    pub fn begin_follow_up(mut self, now: DateTime<Utc>) -> Self {
        if let Some(it) = &mut self.follow_ups {
            it.call_begun_at = Some(now);
        }
        self.lease(now)
    }

    #[must_use]
    pub fn continue_follow_up(mut self, progress: String, at: DateTime<Utc>) -> Self {
        if let Some(it) = &mut self.follow_ups {
            (it.progress, it.attempts, it.call_begun_at) = (Some(progress), 0, None);
            it.ends_at = it.ends_at.max(at + FOLLOW_UP_WINDOW);
        }
        self.wait_until(at, None)
    }

    #[must_use]
    pub fn record_removal(mut self, reason: String) -> Self {
        self.published.clear();
        self.state = State::Failed { reason, class: FailureClass::Refused };
        self.drop_follow_ups()
    }

    /// A call of the first follow-up that is known to have had no effect is retried a few times.
    #[must_use]
    pub fn record_follow_up(mut self, ended: Result<(), &AttemptError>, now: DateTime<Utc>, jitter: u32) -> Self {
        let Some(it) = &mut self.follow_ups else { return self };
        let retry_at = match ended {
            Err(AttemptError::RetryLater { retry_at, .. }) => *retry_at,
            Err(AttemptError::Unauthorized { .. }) => None,
            Err(AttemptError::PreparationExpired { .. }) => {
                it.progress = None;
                None
            }
            // Done, done before, refused, or the outcome is unknown.
            _ => return self.end_follow_up(now),
        };
        let wait = with_jitter(FIRST_WAIT * (1 << (2 * it.attempts.min(MAX_ATTEMPTS))), jitter);
        let again_at = retry_at.map_or(now + wait, |at| at.max(now + wait));
        it.attempts += 1;
        it.call_begun_at = None;
        if MAX_ATTEMPTS <= it.attempts || it.ends_at <= again_at {
            return self.end_follow_up(now);
        }
        self.wait_until(again_at, None)
    }

    #[must_use]
    pub fn end_follow_up(mut self, now: DateTime<Utc>) -> Self {
        self.lease_expires_at = None;
        self.follow_ups = self.follow_ups.filter(|it| now < it.ends_at && 1 < it.names.len()).map(|mut it| {
            it.names.remove(0);
            FollowUps { progress: None, attempts: 0, call_begun_at: None, ..it }
        });
        self
    }

    /// Ends all follow-ups, because the account was disconnected.
    #[must_use]
    pub fn drop_follow_ups(mut self) -> Self {
        self.lease_expires_at = None;
        self.follow_ups = None;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::{LEASE_DURATION, Published};
    use crate::testing::{a_delivery, noon};

    fn seconds(count: i64) -> TimeDelta {
        TimeDelta::seconds(count)
    }

    fn published(names: &[&str]) -> Delivery {
        let published = Published::new("p1", noon());
        let delivery = a_delivery().open_intent(noon()).record_publish(Ok(published), noon(), 0);
        delivery.with_follow_ups(names.iter().map(|it| (*it).to_owned()).collect(), noon())
    }

    fn names(delivery: &Delivery) -> Vec<String> {
        delivery.follow_ups.clone().map(|it| it.names).unwrap_or_default()
    }

    fn busy(retry_at: Option<DateTime<Utc>>) -> AttemptError {
        AttemptError::RetryLater { retry_at, reason: "busy".to_owned() }
    }

    #[test]
    fn follow_ups_run_in_order_before_the_roll_up() {
        let delivery = published(&["comment", "playlist"]);
        assert_eq!(delivery.next_step(noon()), NextStep::FollowUp);

        let begun = delivery.begin_follow_up(noon());
        assert_eq!(begun.next_step(noon() + seconds(1)), NextStep::Leased(noon() + LEASE_DURATION));
        let halfway = begun.continue_follow_up("uploaded".to_owned(), noon() + seconds(9));
        assert_eq!(halfway.next_step(noon()), NextStep::Wait(noon() + seconds(9)));
        let at = noon() + seconds(9);
        let one = halfway.begin_follow_up(at).record_follow_up(Ok(()), at, 0);
        assert_eq!((names(&one), one.next_step(at)), (vec!["playlist".to_owned()], NextStep::FollowUp));
        assert_eq!(one.follow_ups.as_ref().unwrap().progress, None, "that was the other's");
        let all = one.begin_follow_up(at).record_follow_up(Ok(()), at, 0);

        assert_eq!((names(&all), all.next_step(at)), (vec![], NextStep::RollUp));
        assert_eq!(all.finish_roll_up().next_step(at), NextStep::Nothing);
    }

    #[test]
    fn unpublished_delivery_has_no_follow_ups() {
        let added_follow_ups = |it: Delivery| it.with_follow_ups(vec!["comment".to_owned()], noon()).follow_ups;

        assert_eq!(added_follow_ups(a_delivery()), None);
        let refused = AttemptError::Refused { reason: "no".to_owned() };
        assert_eq!(added_follow_ups(a_delivery().open_intent(noon()).record_publish(Err(refused), noon(), 0)), None);
        assert_eq!(published(&[]).next_step(noon()), NextStep::RollUp);
    }

    #[test]
    fn follow_up_with_unknown_outcome_is_not_repeated() {
        let begun = published(&["comment", "playlist"]).begin_follow_up(noon());
        let unknown = AttemptError::Unknown { may_still_run: false, retry_at: None, reason: "no answer".to_owned() };
        assert_eq!(names(&begun.clone().record_follow_up(Err(&unknown), noon(), 0)), ["playlist"]);

        // The worker died.
        let later = noon() + LEASE_DURATION;
        assert_eq!(begun.next_step(later), NextStep::EndFollowUp);
        assert_eq!(names(&begun.end_follow_up(later)), ["playlist"]);
    }

    #[test]
    fn follow_up_without_effect_is_retried_within_its_window() {
        let (mut delivery, mut now, mut tries) = (published(&["comment"]), noon(), 0);
        while delivery.next_step(now) == NextStep::FollowUp {
            tries += 1;
            delivery = delivery.begin_follow_up(now).record_follow_up(Err(&busy(None)), now, 1023);
            now = now.max(delivery.next_step_at);
        }
        assert_eq!((tries, delivery.next_step(now)), (MAX_ATTEMPTS, NextStep::RollUp));
        assert!(now < noon() + FOLLOW_UP_WINDOW, "{now}");

        let retried_at =
            |at| published(&["comment"]).begin_follow_up(noon()).record_follow_up(Err(&busy(Some(at))), noon(), 0);
        assert_eq!(retried_at(noon() + seconds(600)).next_step(noon()), NextStep::Wait(noon() + seconds(600)));
        assert_eq!(names(&retried_at(noon() + FOLLOW_UP_WINDOW)), Vec::<String>::new(), "too late for it");
        let expired = AttemptError::PreparationExpired { reason: "expired".to_owned() };
        let halfway = published(&["comment"]).begin_follow_up(noon()).continue_follow_up("1".to_owned(), noon());
        let restarted = halfway.begin_follow_up(noon()).record_follow_up(Err(&expired), noon(), 0);
        assert_eq!(restarted.follow_ups.unwrap().progress, None);
    }

    #[test]
    fn follow_up_may_find_the_post_removed_a_day_later() {
        let a_day_later = noon() + TimeDelta::days(1);
        let waiting = published(&["review"]).begin_follow_up(noon()).continue_follow_up("1".to_owned(), a_day_later);
        assert!(!waiting.is_imminent(noon()), "the sweep plans it");
        assert_eq!(waiting.next_step(a_day_later), NextStep::FollowUp);

        let removed = waiting.begin_follow_up(a_day_later).record_removal("not wanted".to_owned());

        let expected = State::Failed { reason: "not wanted".to_owned(), class: FailureClass::Refused };
        assert_eq!((removed.state.clone(), removed.published.len()), (expected, 0));
        assert_eq!(removed.next_step(a_day_later), NextStep::RollUp);
    }

    #[test]
    fn follow_ups_end_with_their_window() {
        let delivery = published(&["comment", "playlist"]);
        let late = noon() + FOLLOW_UP_WINDOW;

        assert_eq!(delivery.next_step(late), NextStep::EndFollowUp);
        assert_eq!(delivery.clone().end_follow_up(late).next_step(late), NextStep::RollUp);
        assert_eq!(delivery.clone().drop_follow_ups().next_step(noon()), NextStep::RollUp);
        // A deferred roll-up extends the window.
        let deferred_to = noon() + seconds(7_200);
        let deferred = delivery.defer_roll_up(deferred_to);
        assert_eq!(
            (deferred.next_step(late), deferred.next_step(deferred_to)),
            (NextStep::Wait(deferred_to), NextStep::FollowUp)
        );
    }
}
