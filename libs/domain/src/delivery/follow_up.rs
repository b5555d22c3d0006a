//! What follows a publication: a first comment, a place in a playlist. It is
//! best effort. Whatever becomes of it, the post is published and looks so, and
//! a call of which nobody knows how it ended is not made again.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::transitions::jittered;
use super::{Delivery, Next, Setback, State};

/// For how long after the publication, or after its post was told, what follows
/// is tried.
pub const FOLLOW_UP_WITHIN: TimeDelta = TimeDelta::hours(1);

/// How often each thing that follows is tried.
const MOST_TRIES: u32 = 5;
/// Between the first try and the second; four times as long each time after that.
const FIRST_WAIT: TimeDelta = TimeDelta::seconds(30);

/// What is still to be done after a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUps {
    /// By the platform's own names, the next one first. Never empty.
    pub names: Vec<String>,
    /// What the first of them has reached, in the adapter's own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// How often the step of it that comes next is known to have had no effect.
    #[serde(default)]
    pub attempts: u32,
    /// When a call for it was begun whose end is not known.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option", skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<DateTime<Utc>>,
    /// When whatever is left is given up.
    #[serde(with = "chrono::serde::ts_milliseconds")]
    pub ends_at: DateTime<Utc>,
}

impl FollowUps {
    /// The one that comes next.
    pub fn first(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// What comes next: never the same call again while nobody knows how it ended.
    pub(super) fn next(&self, now: DateTime<Utc>) -> Next {
        if self.begun_at.is_some() || self.ends_at <= now { Next::LeaveFollowUp } else { Next::FollowUp }
    }
}

impl Delivery {
    /// The same with what follows its publication, if it is public. It is not
    /// out of the due index before that has ended.
    #[must_use]
    pub fn followed_by(mut self, names: Vec<String>, now: DateTime<Utc>) -> Self {
        if matches!(self.state, State::Published(_)) && !names.is_empty() {
            let ends_at = now + FOLLOW_UP_WITHIN;
            self.follow_ups = Some(FollowUps { names, progress: None, attempts: 0, begun_at: None, ends_at });
        }
        self
    }

    /// Held by one worker: a call for what follows is about to be made. It is
    /// written before the call, so that whoever finds it later does not make it
    /// again.
    #[must_use]
    pub fn follow_up_begun(mut self, now: DateTime<Utc>) -> Self {
        if let Some(it) = &mut self.follow_ups {
            it.begun_at = Some(now);
        }
        self.held(now)
    }

    /// One step of the first thing that follows is done; the next one comes then.
    #[must_use]
    pub fn follow_up_went_on(mut self, progress: String, at: DateTime<Utc>) -> Self {
        if let Some(it) = &mut self.follow_ups {
            (it.progress, it.attempts, it.begun_at) = (Some(progress), 0, None);
        }
        self.wait_until(at, None)
    }

    /// The first thing that follows is done, or it, or a call for it, failed. It
    /// is tried again where the call is known to have had no effect, a few times.
    #[must_use]
    pub fn follow_up_ended(mut self, ended: Result<(), &Setback>, now: DateTime<Utc>, jitter: u32) -> Self {
        let Some(it) = &mut self.follow_ups else { return self };
        let retry_at = match ended {
            Err(Setback::Busy { retry_at, .. }) => *retry_at,
            Err(Setback::Disconnected { .. }) => None,
            Err(Setback::Stale { .. }) => {
                it.progress = None;
                None
            }
            // It is done, was done before, is refused, or its outcome is unknown.
            _ => return self.follow_up_left(now),
        };
        let wait = jittered(FIRST_WAIT * (1 << (2 * it.attempts.min(MOST_TRIES))), jitter);
        let again_at = retry_at.map_or(now + wait, |at| at.max(now + wait));
        it.attempts += 1;
        it.begun_at = None;
        if MOST_TRIES <= it.attempts || it.ends_at <= again_at {
            return self.follow_up_left(now);
        }
        self.wait_until(again_at, None)
    }

    /// The first thing that follows is done with, however it ended; all of them,
    /// when their time is over.
    #[must_use]
    pub fn follow_up_left(mut self, now: DateTime<Utc>) -> Self {
        self.lease_ends = None;
        self.follow_ups = self.follow_ups.filter(|it| now < it.ends_at && 1 < it.names.len()).map(|mut it| {
            it.names.remove(0);
            FollowUps { progress: None, attempts: 0, begun_at: None, ..it }
        });
        self
    }

    /// Nothing that follows can be done any more: its account is gone.
    #[must_use]
    pub fn follow_ups_given_up(mut self) -> Self {
        self.lease_ends = None;
        self.follow_ups = None;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::{LEASE, Published};
    use crate::testing::{a_delivery, noon};

    fn seconds(count: i64) -> TimeDelta {
        TimeDelta::seconds(count)
    }

    fn published(names: &[&str]) -> Delivery {
        let published = Published::new("p1", noon());
        let delivery = a_delivery().intended(noon()).settled(Ok(published), noon(), 0);
        delivery.followed_by(names.iter().map(|it| (*it).to_owned()).collect(), noon())
    }

    fn names(delivery: &Delivery) -> Vec<String> {
        delivery.follow_ups.clone().map(|it| it.names).unwrap_or_default()
    }

    fn busy(retry_at: Option<DateTime<Utc>>) -> Setback {
        Setback::Busy { retry_at, reason: "busy".to_owned() }
    }

    #[test]
    fn what_follows_comes_one_after_the_other_and_then_the_post_is_told() {
        let delivery = published(&["comment", "playlist"]);
        assert_eq!(delivery.next(noon()), Next::FollowUp);

        let begun = delivery.follow_up_begun(noon());
        assert_eq!(begun.next(noon() + seconds(1)), Next::Held(noon() + LEASE));
        let halfway = begun.follow_up_went_on("uploaded".to_owned(), noon() + seconds(9));
        assert_eq!(halfway.next(noon()), Next::Wait(noon() + seconds(9)));
        let at = noon() + seconds(9);
        let one = halfway.follow_up_begun(at).follow_up_ended(Ok(()), at, 0);
        assert_eq!((names(&one), one.next(at)), (vec!["playlist".to_owned()], Next::FollowUp));
        assert_eq!(one.follow_ups.as_ref().unwrap().progress, None, "that was the other's");
        let all = one.follow_up_begun(at).follow_up_ended(Ok(()), at, 0);

        assert_eq!((names(&all), all.next(at)), (vec![], Next::RollUp));
        assert_eq!(all.rolled_up().next(at), Next::Nothing);
    }

    #[test]
    fn nothing_follows_what_is_not_public() {
        let follows = |it: Delivery| it.followed_by(vec!["comment".to_owned()], noon()).follow_ups;

        assert_eq!(follows(a_delivery()), None);
        let refused = Setback::Refused { reason: "no".to_owned() };
        assert_eq!(follows(a_delivery().intended(noon()).settled(Err(refused), noon(), 0)), None);
        assert_eq!(published(&[]).next(noon()), Next::RollUp);
    }

    #[test]
    fn a_call_of_which_nobody_knows_how_it_ended_is_not_made_again() {
        let begun = published(&["comment", "playlist"]).follow_up_begun(noon());
        let unknown = Setback::Unknown { may_still_run: false, retry_at: None, reason: "no answer".to_owned() };
        assert_eq!(names(&begun.clone().follow_up_ended(Err(&unknown), noon(), 0)), ["playlist"]);

        // Its worker died.
        let later = noon() + LEASE;
        assert_eq!(begun.next(later), Next::LeaveFollowUp);
        assert_eq!(names(&begun.follow_up_left(later)), ["playlist"]);
    }

    #[test]
    fn what_had_no_effect_is_tried_a_few_times_within_the_hour() {
        let (mut delivery, mut now, mut tries) = (published(&["comment"]), noon(), 0);
        while delivery.next(now) == Next::FollowUp {
            tries += 1;
            delivery = delivery.follow_up_begun(now).follow_up_ended(Err(&busy(None)), now, 1023);
            now = now.max(delivery.look_at);
        }
        assert_eq!((tries, delivery.next(now)), (MOST_TRIES, Next::RollUp));
        assert!(now < noon() + FOLLOW_UP_WITHIN, "{now}");

        let told =
            |at| published(&["comment"]).follow_up_begun(noon()).follow_up_ended(Err(&busy(Some(at))), noon(), 0);
        assert_eq!(told(noon() + seconds(600)).next(noon()), Next::Wait(noon() + seconds(600)));
        assert_eq!(names(&told(noon() + FOLLOW_UP_WITHIN)), Vec::<String>::new(), "too late for it");
        let stale = Setback::Stale { reason: "expired".to_owned() };
        let halfway = published(&["comment"]).follow_up_begun(noon()).follow_up_went_on("1".to_owned(), noon());
        let anew = halfway.follow_up_begun(noon()).follow_up_ended(Err(&stale), noon(), 0);
        assert_eq!(anew.follow_ups.unwrap().progress, None);
    }

    #[test]
    fn what_was_not_done_in_its_time_is_left() {
        let delivery = published(&["comment", "playlist"]);
        let late = noon() + FOLLOW_UP_WITHIN;

        assert_eq!(delivery.next(late), Next::LeaveFollowUp);
        assert_eq!(delivery.clone().follow_up_left(late).next(late), Next::RollUp);
        assert_eq!(delivery.clone().follow_ups_given_up().next(noon()), Next::RollUp);
        // A post that is told later has its hour after that.
        let told_at = noon() + seconds(7_200);
        let told = delivery.told_at(told_at);
        assert_eq!((told.next(late), told.next(told_at)), (Next::Wait(told_at), Next::FollowUp));
    }
}
