//! Calls whose outcome is unknown, and the look-ups that settle them.

use super::*;

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
            delivery.open_intent(noon()).record_publish(Err(busy()), noon(), 0).record_preparation(0, ready(""));
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
    assert_eq!((&found.state, &found.published), (&State::Published, &vec![second_post]));
    assert_eq!(found.unknown_outcome_since(), None, "no outcome is unknown");

    // The worker of the first call died.
    let second = not_found(a_delivery().open_intent(noon()), 99).open_intent(at(100));
    assert_eq!(second.unknown_outcome_since(), Some(noon()));
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
    assert_may_be_public(&expired.fail_preparation(0, refused(), at, 0), "not polite enough");
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
