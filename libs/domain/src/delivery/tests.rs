use proptest::prelude::*;

use super::*;
use crate::testing::{a_delivery, noon};

fn seconds(count: i64) -> TimeDelta {
    TimeDelta::seconds(count)
}

fn busy() -> AttemptError {
    AttemptError::RetryLater { retry_at: None, reason: "busy".to_owned() }
}

fn unknown(may_still_run: bool) -> AttemptError {
    AttemptError::Unknown { may_still_run, retry_at: None, reason: "no answer".to_owned() }
}

fn published() -> Published {
    Published::new("p1".to_owned(), noon())
}

#[test]
fn delivery_waits_for_its_publish_time() {
    let delivery = a_delivery();

    assert_eq!(delivery.next_step(noon() - seconds(1)), NextStep::Wait(noon()));
    assert_eq!(delivery.next_step(noon()), NextStep::Publish);
}

#[test]
fn leased_delivery_waits_until_the_lease_expires() {
    let delivery = a_delivery().open_intent(noon());

    assert_eq!(delivery.next_step(noon()), NextStep::Leased(noon() + LEASE_DURATION));
    assert_eq!(delivery.next_step(noon() + LEASE_DURATION), NextStep::LookUp);
}

#[test]
fn retry_later_waits_for_the_first_back_off() {
    let delivery = a_delivery().open_intent(noon()).record_publish(Err(busy()), noon(), 0);

    assert_eq!(delivery.next_step(noon() + FIRST_RETRY_WAIT - seconds(1)), NextStep::Wait(noon() + FIRST_RETRY_WAIT));
    assert_eq!(delivery.next_step(noon() + FIRST_RETRY_WAIT), NextStep::Publish);
}

#[test]
fn platform_can_lengthen_the_back_off_but_not_shorten_it() {
    let later = noon() + seconds(90);
    let retry_at_error = |retry_at| AttemptError::RetryLater { retry_at: Some(retry_at), reason: "busy".to_owned() };
    let recorded = |retry_at| a_delivery().open_intent(noon()).record_publish(Err(retry_at_error(retry_at)), noon(), 0);

    assert_eq!(recorded(later).next_step_at, later);
    assert_eq!(recorded(noon()).next_step_at, noon() + FIRST_RETRY_WAIT);
}

#[test]
fn unknown_outcome_is_looked_up_before_another_call() {
    let delivery = a_delivery().open_intent(noon()).record_publish(Err(unknown(true)), noon(), 0);

    assert_eq!(delivery.next_step(noon() + seconds(3600)), NextStep::LookUp);
    assert_eq!(delivery.next_step(noon() + RETRY_WINDOW), NextStep::LookUp);
}

#[test]
fn not_found_is_conclusive_after_the_settle_time() {
    let delivery = a_delivery().open_intent(noon()).record_publish(Err(unknown(true)), noon(), 0);
    let looked_up = |at| delivery.clone().record_look_up(Resolution::NotFound, seconds(60), at, 0);

    let settled_at = noon() + PUBLISH_CALL_DELAY + seconds(60);
    assert!(looked_up(settled_at - seconds(1)).intent.is_some());
    assert!(looked_up(settled_at).intent.is_none());
    assert_eq!(looked_up(noon() + seconds(75)).next_step(noon() + seconds(75)), NextStep::Publish);
}

#[test]
fn not_found_is_conclusive_at_once_after_a_response() {
    let delivery = a_delivery().open_intent(noon()).record_publish(Err(unknown(false)), noon(), 0);
    let looked_up = delivery.record_look_up(Resolution::NotFound, seconds(60), noon() + seconds(2), 0);

    assert!(looked_up.intent.is_none());
}

#[test]
fn undeterminable_outcome_fails_as_may_be_public() {
    let advice = || Resolution::Undeterminable { advice: "look at the account".to_owned() };
    let delivery = a_delivery().open_intent(noon()).record_look_up(advice(), seconds(60), noon(), 0);

    let State::Failed { reason, class: FailureClass::MayBePublic } = delivery.state else {
        panic!("{:?}", delivery.state)
    };
    assert!(reason.contains("may be public"), "{reason}");
}

#[test]
fn delivery_gives_up_a_day_after_its_time() {
    let late = noon() + RETRY_WINDOW;
    let delivery = a_delivery().open_intent(noon()).record_publish(Err(busy()), noon(), 0);

    assert_eq!(delivery.next_step(late), NextStep::GiveUp);
    let State::Failed { reason, class: FailureClass::GivenUp } = delivery.give_up().state else { panic!() };
    assert!(reason.contains("busy"), "{reason}");
}

fn busy_until(at: DateTime<Utc>) -> AttemptError {
    AttemptError::RetryLater { retry_at: Some(at), reason: "the quota of the day is used up".to_owned() }
}

#[test]
fn platform_time_after_a_day_extends_the_retry_window() {
    let opens_at = noon() + RETRY_WINDOW + seconds(7_200);
    let waiting = a_delivery().open_intent(noon()).record_publish(Err(busy_until(opens_at)), noon(), 0);

    assert!(waiting.is_waiting_after_error(), "its user may change it");
    assert_eq!(waiting.next_step(noon() + RETRY_WINDOW), NextStep::Wait(opens_at));
    assert_eq!(waiting.next_step(opens_at), NextStep::Publish);
    let ends_at = opens_at + FINAL_RETRY_WINDOW;
    assert_eq!(waiting.next_step(ends_at), NextStep::GiveUp);

    // A later time and an expired preparation do not extend it again.
    let later = opens_at + seconds(3_600);
    let again = waiting.clone().open_intent(opens_at).record_publish(Err(busy_until(later)), opens_at, 0);
    assert_eq!((again.next_step(ends_at), again.next_step(later)), (NextStep::Wait(later), NextStep::Publish));
    let latest = busy_until(noon() + EXTENDED_RETRY_WINDOW + seconds(1));
    let over = again.open_intent(later).record_publish(Err(latest), later, 0);
    assert_eq!(over.next_step(later + FINAL_RETRY_WINDOW), NextStep::GiveUp);
    let expired = AttemptError::PreparationExpired { reason: "a file has expired".to_owned() };
    let restarted = waiting.clone().open_intent(opens_at).record_publish(Err(expired), opens_at, 0);
    let at = restarted.next_step_at;
    assert_eq!(
        (restarted.next_step(at), restarted.record_preparation(None, None).next_step(at)),
        (NextStep::Prepare, NextStep::Publish)
    );
    // A lost response then is looked up until the same time.
    let pending = || Resolution::Pending { reason: "down".to_owned() };
    let lost = waiting.open_intent(opens_at).record_publish(Err(unknown(false)), opens_at, 0);
    assert_eq!(lost.clone().record_look_up(pending(), seconds(60), opens_at + seconds(2), 0).state, State::Waiting);
    let State::Failed { class, .. } = lost.record_look_up(pending(), seconds(60), ends_at, 0).state else { panic!() };
    assert_eq!(class, FailureClass::MayBePublic);
}

/// The platform's time is within the retry window, but our back-off ends after it.
#[test]
fn try_at_a_platform_time_is_not_lost_to_the_back_off() {
    let ends_at = noon() + RETRY_WINDOW;
    let late = ends_at - seconds(1);
    let again = a_delivery().open_intent(late).record_publish(Err(busy_until(late + seconds(1) / 2)), late, 0);

    let again_at = late + FIRST_RETRY_WAIT;
    assert_eq!((again.next_step(ends_at), again.next_step(again_at)), (NextStep::Wait(again_at), NextStep::Publish));
    assert_eq!(again.next_step(again_at + FINAL_RETRY_WINDOW), NextStep::GiveUp);
}

#[test]
fn later_or_own_time_does_not_extend_the_retry_window() {
    let ends_at = noon() + RETRY_WINDOW;
    let too_far = busy_until(noon() + EXTENDED_RETRY_WINDOW + seconds(1));
    assert_eq!(
        a_delivery().open_intent(noon()).record_publish(Err(too_far), noon(), 0).next_step(ends_at),
        NextStep::GiveUp
    );
    let in_time = busy_until(ends_at - seconds(1));
    assert_eq!(a_delivery().open_intent(noon()).record_publish(Err(in_time), noon(), 0).gives_up_at(), ends_at);
    let late = ends_at - seconds(10);
    assert_eq!(a_delivery().skip_publish(busy(), late, 0).gives_up_at(), ends_at);
    assert_eq!(a_delivery().open_intent(late).record_publish(Err(busy()), late, 1023).gives_up_at(), ends_at);
    // Quotas apply to preparation, too.
    let unprepared = Delivery { is_prepared: false, ..a_delivery() };
    let waiting = unprepared.fail_preparation(busy_until(ends_at), noon(), 0);
    assert_eq!(waiting.next_step(ends_at), NextStep::Prepare);
}

#[test]
fn refusal_after_acceptance_fails_at_once() {
    let delivery = a_delivery().open_intent(noon()).record_publish(Err(unknown(true)), noon(), 0);
    let refused = Resolution::Refused { reason: "the video could not be processed".to_owned() };
    let ended = delivery.record_look_up(refused, seconds(60), noon() + seconds(2), 0);

    let State::Failed { reason, class: FailureClass::Refused } = &ended.state else { panic!("{:?}", ended.state) };
    assert_eq!(reason, "the video could not be processed");
    assert_eq!(ended.next_step(noon() + seconds(2)), NextStep::RollUp);
}

#[test]
fn lost_grant_is_checked_soon_and_then_rarely() {
    let unauthorized = || AttemptError::Unauthorized { reason: "connect the account again".to_owned() };
    let wait = |now: DateTime<Utc>| a_delivery().record_publish(Err(unauthorized()), now, 0).next_step_at - now;

    assert_eq!(wait(noon()), FIRST_RECONNECTION_CHECK);
    assert_eq!(wait(noon() + seconds(36_000)), MAX_RECONNECTION_CHECK);
}

#[test]
fn step_taken_in_time_does_not_change_the_due_index() {
    let published =
        a_delivery().lease(noon()).open_intent(noon()).record_publish(Ok(published()), noon() + seconds(1), 0);

    assert_eq!((published.due_at, published.next_step_at), (Some(noon()), noon()));
    assert_eq!(published.next_step(noon() + seconds(1)), NextStep::RollUp);
}

#[test]
fn only_an_ended_delivery_defers_its_roll_up() {
    let later = noon() + seconds(600);
    let ended = a_delivery().open_intent(noon()).record_publish(Ok(published()), noon(), 0).defer_roll_up(later);

    assert_eq!(ended.next_step(noon()), NextStep::Wait(later));
    assert_eq!(ended.next_step(later), NextStep::RollUp);
    assert!(ended.finish_roll_up().next_step(noon()) == NextStep::Nothing);
    assert_eq!(a_delivery().defer_roll_up(later).next_step_at, noon(), "it has not ended");
}

#[test]
fn imminent_step_is_queued_by_its_writer() {
    let delivery = a_delivery();

    assert!(delivery.is_imminent(noon() - ENQUEUE_WINDOW));
    assert!(!delivery.is_imminent(noon() - ENQUEUE_WINDOW - seconds(1)));
    let ended =
        delivery.open_intent(noon()).record_publish(Ok(published()), noon(), 0).defer_roll_up(noon() + seconds(9_000));
    assert!(ended.is_imminent(noon()), "the tick does not plan it at all");
    assert!(!ended.finish_roll_up().is_imminent(noon()));
}

#[test]
fn failed_preparation_is_never_unknown() {
    let delivery = a_delivery().lease(noon()).fail_preparation(unknown(true), noon(), 0);

    assert!(delivery.intent.is_none());
    assert_eq!(delivery.state, State::Waiting);
}

#[test]
fn expired_preparation_is_repeated_with_longer_waits() {
    let expired = || AttemptError::PreparationExpired { reason: "a file has expired".to_owned() };
    let ready = Delivery { progress: Some("uploaded".to_owned()), ..a_delivery() };
    let once = ready.open_intent(noon()).record_publish(Err(expired()), noon(), 0);

    assert_eq!((once.is_prepared, &once.progress, &once.intent), (false, &None, &None));
    assert!(once.is_waiting_after_error(), "nothing of it is public");
    let at = noon() + FIRST_RETRY_WAIT;
    assert_eq!((once.next_step(noon()), once.next_step(at)), (NextStep::Wait(at), NextStep::Prepare));
    let twice =
        once.record_preparation(Some("again".to_owned()), None).open_intent(at).record_publish(Err(expired()), at, 0);
    assert_eq!(twice.next_step_at, at + FIRST_RETRY_WAIT * 2);
    assert_eq!(twice.next_step(noon() + RETRY_WINDOW), NextStep::GiveUp);
}

#[test]
fn preparation_that_expires_before_a_call_waits_longer_each_time() {
    let expired = || AttemptError::PreparationExpired { reason: "a file has expired".to_owned() };
    let unprepared = Delivery { is_prepared: false, ..a_delivery() };
    let once = unprepared.fail_preparation(expired(), noon(), 0);
    let twice = once.clone().record_preparation(None, Some(noon())).fail_preparation(expired(), noon(), 0);

    assert!(!once.has_begun && !twice.has_begun && !twice.may_have_published());
    assert!(once.next_step_at < twice.next_step_at, "{} {}", once.next_step_at, twice.next_step_at);
    assert!(!twice.clone().record_preparation(None, None).is_waiting_after_error(), "it goes out at its time");
    assert!(
        twice
            .record_preparation(None, None)
            .open_intent(noon())
            .record_publish(Err(busy()), noon(), 0)
            .is_waiting_after_error()
    );
}

#[test]
fn only_a_call_with_unknown_outcome_may_have_published() {
    let begun = || a_delivery().open_intent(noon());
    let unauthorized = AttemptError::Unauthorized { reason: "revoked".to_owned() };
    let expired = AttemptError::PreparationExpired { reason: "a file has expired".to_owned() };
    for error in [busy(), unauthorized, expired] {
        let recorded = begun().record_publish(Err(error.clone()), noon(), 0);
        assert!(recorded.has_begun && !recorded.may_have_published(), "{error:?}");
    }
    let not_found = |it: Delivery| it.record_look_up(Resolution::NotFound, seconds(60), noon() + seconds(99), 0);
    let after_response = not_found(begun().record_publish(Err(unknown(false)), noon(), 0));
    let after_crash = not_found(begun());
    for delivery in [after_response, after_crash] {
        assert!(delivery.may_have_published() && delivery.intent.is_none());
        let retried =
            delivery.open_intent(noon()).record_publish(Err(busy()), noon(), 0).record_preparation(None, None);
        assert!(retried.may_have_published(), "the outcome of an earlier call is still unknown");
    }
}

#[test]
fn look_up_starts_at_the_first_call_with_unknown_outcome() {
    let at = |s| noon() + seconds(s);
    let not_found = |it: Delivery, s| it.record_look_up(Resolution::NotFound, seconds(60), at(s), 0);

    // The first call had no effect.
    let second = a_delivery().open_intent(noon()).record_publish(Err(busy()), noon(), 0).open_intent(at(5));
    assert_eq!(second.unknown_outcome_since(), Some(at(5)));
    let lost = second.record_publish(Err(unknown(true)), at(6), 0);
    // The list lags: the post of the second call is missing.
    let third = not_found(lost, 80).open_intent(at(81));
    assert_eq!(third.unknown_outcome_since(), Some(at(5)));
    let second_post = Published { at: at(6), ..published() };
    let found = third.record_look_up(Resolution::Found(second_post.clone()), seconds(60), at(90), 0);
    assert_eq!(found.state, State::Published(second_post));
    assert_eq!(found.unknown_outcome_since(), None, "no outcome is unknown");

    // The worker of the first call died.
    let second = not_found(a_delivery().open_intent(noon()), 99).open_intent(at(100));
    assert_eq!(second.unknown_outcome_since(), Some(noon()));
}

/// The response of the first call is lost, and a look-up finds no post.
fn a_lost_call_that_was_not_found() -> Delivery {
    let lost = a_delivery().open_intent(noon()).record_publish(Err(unknown(true)), noon(), 0);
    lost.record_look_up(Resolution::NotFound, seconds(60), noon() + seconds(80), 0)
}

fn assert_may_be_public(delivery: &Delivery, last: &str) {
    let State::Failed { reason, class } = &delivery.state else { panic!("{:?}", delivery.state) };
    assert_eq!(*class, FailureClass::MayBePublic, "{reason}");
    assert!(reason.starts_with("The post may be public") && reason.contains("before you send it again"), "{reason}");
    assert!(reason.contains(last), "{reason}");
}

#[test]
fn refusal_after_an_unsettled_unknown_outcome_may_be_public() {
    let refused = || AttemptError::Refused { reason: "not polite enough".to_owned() };
    let (not_found, at) = (a_lost_call_that_was_not_found(), noon() + seconds(90));

    assert_may_be_public(&not_found.clone().open_intent(at).record_publish(Err(refused()), at, 0), "not polite enough");
    // The second call is accepted, and its post is refused later.
    let later = Resolution::Refused { reason: "not after all".to_owned() };
    let second = not_found.clone().open_intent(at).record_publish(Err(unknown(false)), at, 0);
    assert_may_be_public(&second.record_look_up(later, seconds(60), at, 0), "not after all");
    // A file has expired, and its replacement is refused.
    let preparation_expired = AttemptError::PreparationExpired { reason: "a file has expired".to_owned() };
    let expired = not_found.open_intent(at).record_publish(Err(preparation_expired), at, 0);
    assert_may_be_public(&expired.fail_preparation(refused(), at, 0), "not polite enough");
}

#[test]
fn giving_up_after_an_unsettled_unknown_outcome_may_be_public() {
    let at = noon() + seconds(90);
    let waiting = a_lost_call_that_was_not_found().open_intent(at).record_publish(Err(busy()), at, 0);

    assert_may_be_public(&waiting.give_up(), "busy");
}

#[test]
fn proof_of_absence_settles_the_unknown_outcome() {
    let refused = || AttemptError::Refused { reason: "not polite enough".to_owned() };
    let at = |s| noon() + seconds(s);
    let class = |delivery: Delivery| match delivery.state {
        State::Failed { class, .. } => class,
        other => panic!("{other:?}"),
    };
    let lost = a_delivery().open_intent(noon()).record_publish(Err(unknown(true)), noon(), 0);
    let early = lost.clone().record_look_up(Resolution::NotPublished, seconds(60), at(2), 0);
    assert!(early.may_have_published() && early.intent.is_some(), "the call may still take effect");
    let absent = lost.record_look_up(Resolution::NotPublished, seconds(60), at(80), 0);
    assert!(!absent.may_have_published() && absent.intent.is_none());
    assert_eq!(absent.next_step(absent.next_step_at), NextStep::Publish);

    let ended = absent.open_intent(at(90)).record_publish(Err(refused()), at(90), 0);
    assert_eq!(class(ended), FailureClass::Refused);

    // It says nothing about an earlier call, which may have been for other uploads.
    let second = a_lost_call_that_was_not_found().open_intent(at(90)).record_publish(Err(unknown(false)), at(91), 0);
    let absent = second.record_look_up(Resolution::NotPublished, seconds(60), at(95), 0);
    assert_eq!(absent.unknown_outcome_since(), Some(noon()));
    assert_may_be_public(&absent.open_intent(at(99)).record_publish(Err(refused()), at(99), 0), "not polite enough");
}

/// The platform blocks the account for two hours, without confirming whether it accepted the post.
#[test]
fn platform_time_with_unknown_outcome_delays_the_next_call() {
    let opens_at = noon() + seconds(7_200);
    let blocked =
        AttemptError::Unknown { may_still_run: false, retry_at: Some(opens_at), reason: "blocked".to_owned() };
    let lost = a_delivery().open_intent(noon()).record_publish(Err(blocked), noon(), 0);
    assert_eq!(lost.next_step(noon() + seconds(2)), NextStep::LookUp, "it is looked up at once");

    let not_found = lost.record_look_up(Resolution::NotFound, seconds(60), noon() + seconds(2), 0);

    assert_eq!(not_found.next_step(opens_at - seconds(1)), NextStep::Wait(opens_at));
    assert_eq!(not_found.next_step(opens_at), NextStep::Publish);
}

fn duplicate() -> AttemptError {
    AttemptError::Duplicate { reason: "you said that already".to_owned() }
}

#[test]
fn duplicate_is_looked_up_until_the_retry_window_ends() {
    for policy in [LookUpPolicy::from(seconds(60)), LookUpPolicy { settle_time: seconds(60), is_billed: true }] {
        let lost = a_delivery().open_intent(noon()).record_publish(Err(unknown(true)), noon(), 0);
        let mut now = noon() + seconds(80);
        let again = lost.record_look_up(Resolution::NotFound, policy, now, 0).open_intent(now);
        let mut delivery = again.record_publish(Err(duplicate()), now, 0);
        let (mut look_ups, mut longest) = (0, TimeDelta::zero());
        while delivery.state == State::Waiting {
            assert_eq!(delivery.next_step(delivery.next_step_at), NextStep::LookUp);
            (look_ups, longest) = (look_ups + 1, longest.max(delivery.next_step_at - now));
            now = delivery.next_step_at;
            delivery = delivery.record_look_up(Resolution::NotFound, policy, now, 1023);
        }

        assert_eq!(now, noon() + RETRY_WINDOW);
        let State::Failed { reason, class: FailureClass::MayBePublic } = delivery.state else { panic!() };
        assert!(reason.starts_with("The post may be public. ") && reason.contains("duplicate"), "{reason}");
        if policy.is_billed {
            assert!((10..=20).contains(&look_ups), "{look_ups} looks that cost money");
        } else {
            assert!(longest <= seconds(640), "{longest}");
        }
    }
}

#[test]
fn duplicate_is_published_when_its_platform_lists_it() {
    let lost = a_delivery().open_intent(noon()).record_publish(Err(unknown(true)), noon(), 0);
    let at = noon() + seconds(80);
    let again = lost.record_look_up(Resolution::NotFound, seconds(60), at, 0).open_intent(at);
    let late = again.record_publish(Err(duplicate()), at, 0).record_look_up(
        Resolution::NotFound,
        seconds(60),
        at + seconds(2),
        0,
    );

    assert_eq!((late.next_step(late.next_step_at), late.unknown_outcome_since()), (NextStep::LookUp, Some(noon())));
    let found = late.clone().record_look_up(Resolution::Found(published()), seconds(60), late.next_step_at, 0);

    assert_eq!(found.state, State::Published(published()));
}

/// Preparation publishes nothing, so its errors never mean an unknown outcome.
#[test]
fn duplicate_in_preparation_is_retried() {
    let delivery = Delivery { is_prepared: false, ..a_delivery() }.fail_preparation(duplicate(), noon(), 0);

    assert_eq!(delivery.next_step(delivery.next_step_at), NextStep::Prepare);
    assert!(!delivery.may_have_published());
}

#[test]
fn call_that_a_look_up_may_have_repeated_gets_its_settle_time() {
    let delivery = a_delivery().open_intent(noon()).record_publish(Err(unknown(true)), noon(), 0);
    let wait_after_pending = |at| {
        let pending = Resolution::Pending { reason: "no answer".to_owned() };
        delivery.clone().record_look_up(pending, seconds(60), at, 0).next_step_at - at
    };

    let settled_after = PUBLISH_CALL_DELAY + seconds(60);
    assert!(wait_after_pending(noon() + seconds(2)) < seconds(60));
    assert_eq!(
        wait_after_pending(noon() + settled_after - seconds(3)),
        seconds(3),
        "no adapter repeats a call before that"
    );
    assert_eq!(wait_after_pending(noon() + settled_after), seconds(60));
}

#[test]
fn billed_look_up_is_repeated_once_after_the_settle_time() {
    let delivery = a_delivery().open_intent(noon()).record_publish(Err(unknown(true)), noon(), 0);
    let (first_at, settle_time) = (noon() + FIRST_LOOK_UP_WAIT, seconds(60));
    let next_step_after_not_found =
        |policy| delivery.clone().record_look_up(Resolution::NotFound, policy, first_at, 0).next_step_at;

    assert!(next_step_after_not_found(LookUpPolicy { settle_time, is_billed: false }) < first_at + settle_time);
    assert_eq!(
        next_step_after_not_found(LookUpPolicy { settle_time, is_billed: true }),
        noon() + PUBLISH_CALL_DELAY + settle_time
    );
}

#[derive(Clone, Debug)]
enum Action {
    Wait(i64),
    RecordPublish(u8),
    Resolve(u8),
}

#[test]
fn candidate_is_accepted_when_unclaimed_for_long_enough() {
    let record_candidate = |delivery: Delivery, id: &str, now| {
        let candidate = Published::new(id.to_owned(), now);
        delivery.record_look_up(Resolution::Candidate(candidate), seconds(60), now, 0)
    };
    let is_accepted = |delivery: &Delivery, id: &str, now| {
        delivery.accepts_candidate(&Published::new(id.to_owned(), now), seconds(60), now)
    };
    let first_at = noon() + FIRST_LOOK_UP_WAIT;
    let delivery = a_delivery().open_intent(noon()).record_publish(Err(unknown(false)), noon(), 0);

    let delivery = record_candidate(delivery, "p1", first_at);
    assert_eq!(delivery.next_step(first_at), NextStep::Wait(first_at + CANDIDATE_WAIT));
    assert!(!is_accepted(&delivery, "p1", first_at + CANDIDATE_WAIT - seconds(1)));
    assert!(is_accepted(&delivery, "p1", first_at + CANDIDATE_WAIT));
    assert!(!is_accepted(&delivery, "p2", first_at + CANDIDATE_WAIT), "another one");

    // Not while its own call may still take effect.
    let in_flight = record_candidate(a_delivery().open_intent(noon()), "p1", noon());
    assert_eq!(in_flight.next_step_at, noon() + CANDIDATE_WAIT.max(PUBLISH_CALL_DELAY + seconds(60)));
    let settle_time = seconds(100);
    assert!(!in_flight.accepts_candidate(&published(), settle_time, noon() + CANDIDATE_WAIT));
    assert!(in_flight.accepts_candidate(&published(), settle_time, noon() + PUBLISH_CALL_DELAY + settle_time));

    // Another delivery has claimed the first, and now this is the candidate: the wait starts again.
    let second_at = first_at + CANDIDATE_WAIT;
    let delivery = record_candidate(delivery, "p2", second_at);
    assert!(!is_accepted(&delivery, "p2", second_at));
    // A look-up without a result in between does not restart the wait.
    let pending = Resolution::Pending { reason: "down".to_owned() };
    let delivery = record_candidate(
        delivery.record_look_up(pending, seconds(60), second_at + seconds(9), 0),
        "p2",
        second_at + seconds(20),
    );
    assert!(is_accepted(&delivery, "p2", second_at + CANDIDATE_WAIT));
}

#[test]
fn published_at_is_clamped_between_call_start_and_now() {
    let now = noon() + seconds(3);
    for (offset_s, at) in [(-3600, noon()), (0, noon()), (2, noon() + seconds(2)), (3600, now)] {
        let offset_s = Published { at: noon() + seconds(offset_s), ..published() };
        let State::Published(direct) =
            a_delivery().open_intent(noon()).record_publish(Ok(offset_s.clone()), now, 0).state
        else {
            panic!("not published")
        };
        assert_eq!(direct.at, at, "{offset_s:?}");
        let looked_up =
            a_delivery().open_intent(noon()).record_look_up(Resolution::Found(offset_s), seconds(60), now, 0);
        assert_eq!(looked_up.state, State::Published(direct));
    }
}

#[test]
fn pending_look_up_is_repeated_after_the_settle_time() {
    let settle_time = seconds(60);
    let mut delivery = a_delivery().open_intent(noon()).record_publish(Err(unknown(true)), noon(), 1023);
    let mut now = noon();
    while now < noon() + PUBLISH_CALL_DELAY + settle_time {
        now = delivery.next_step_at;
        delivery = delivery.record_look_up(Resolution::Pending { reason: "?".to_owned() }, settle_time, now, 1023);
    }
    assert_eq!(now, noon() + PUBLISH_CALL_DELAY + settle_time);
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        (0..1_000_i64).prop_map(Action::Wait),
        (0..100_000_i64).prop_map(Action::Wait),
        (0..7_u8).prop_map(Action::RecordPublish),
        (0..7_u8).prop_map(Action::Resolve),
    ];
    prop::collection::vec(action, 0..60)
}

proptest! {
    /// Invariants: an unfinished delivery is always in the due index; no publish call starts while
    /// an earlier one may have succeeded, or after the platform refused the post as a duplicate;
    /// and a delivery whose call was only not found never fails as certainly not public.
    #[test]
    fn delivery_is_never_lost_and_never_published_twice(actions in actions(), jitter: u32) {
        let mut now = noon() - seconds(100);
        let mut delivery = a_delivery();
        let (mut may_be_public, mut is_duplicate, mut was_not_found) = (false, false, false);
        for fact in actions {
            match fact {
                Action::Wait(seconds) => now += TimeDelta::seconds(seconds),
                Action::RecordPublish(which) if delivery.next_step(now) == NextStep::Publish => {
                    prop_assert!(!may_be_public && !is_duplicate);
                    prop_assert!(delivery.publish_at <= now);
                    let intended = delivery.open_intent(now);
                    let attempt = match which {
                        0 => Ok(published()),
                        1 => Err(busy()),
                        2 => Err(AttemptError::Unauthorized { reason: "gone".to_owned() }),
                        3 => Err(AttemptError::Refused { reason: "no".to_owned() }),
                        4 => Err(AttemptError::PreparationExpired { reason: "expired".to_owned() }),
                        5 => Err(duplicate()),
                        _ => Err(unknown(true)),
                    };
                    is_duplicate = matches!(attempt, Err(AttemptError::Duplicate { .. }));
                    may_be_public = matches!(attempt, Err(AttemptError::Unknown { .. })) || is_duplicate;
                    delivery = intended.record_publish(attempt, now, jitter);
                }
                Action::Resolve(which) if delivery.next_step(now) == NextStep::LookUp => {
                    let answer = match which {
                        0 => Resolution::Found(published()),
                        1 => Resolution::NotFound,
                        2 => Resolution::Pending { reason: "down".to_owned() },
                        3 => Resolution::Candidate(published()),
                        4 => Resolution::Refused { reason: "not wanted".to_owned() },
                        5 => Resolution::NotPublished,
                        _ => Resolution::Undeterminable { advice: "look".to_owned() },
                    };
                    let is_not_found = answer == Resolution::NotFound;
                    delivery = delivery.record_look_up(answer, seconds(60), now, jitter);
                    may_be_public &= delivery.intent.is_some();
                    was_not_found |= is_not_found && delivery.intent.is_none();
                }
                Action::RecordPublish(_) if delivery.next_step(now) == NextStep::Prepare => {
                    prop_assert!(!may_be_public);
                    delivery = delivery.record_preparation(None, None);
                }
                Action::RecordPublish(_) | Action::Resolve(_) => {}
            }
            prop_assert!(delivery.due_at.is_some());
            prop_assert!(delivery.state == State::Waiting || delivery.intent.is_none());
            if let (true, State::Failed { class, .. }) = (was_not_found, &delivery.state) {
                prop_assert_eq!(*class, FailureClass::MayBePublic);
            }
        }
    }
}
