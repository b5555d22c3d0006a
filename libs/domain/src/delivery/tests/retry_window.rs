use super::*;

#[test]
fn delivery_gives_up_a_day_after_its_time() {
    let late = noon() + RETRY_WINDOW;
    let delivery = a_delivery().open_intent(noon()).record_publish(Err(busy()), noon(), 0);

    assert_eq!(delivery.next_step(late), NextStep::GiveUp);
    let State::Failed { reason, class: FailureClass::GivenUp } = delivery.give_up().state else { panic!() };
    assert!(reason.contains("busy"), "{reason}");
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
        (restarted.next_step(at), restarted.record_preparation(0, ready("")).next_step(at)),
        (NextStep::Prepare(0), NextStep::Publish)
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
    let waiting = unprepared().fail_preparation(0, busy_until(ends_at), noon(), 0);
    assert_eq!(waiting.next_step(ends_at), NextStep::Prepare(0));
}
