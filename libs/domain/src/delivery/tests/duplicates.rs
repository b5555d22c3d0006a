use super::*;

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

    assert_eq!((found.state, found.published), (State::Published, vec![published()]));
}

/// Preparation publishes nothing, so its errors never mean an unknown outcome.
#[test]
fn duplicate_in_preparation_is_retried() {
    let delivery = unprepared().fail_preparation(0, duplicate(), noon(), 0);

    assert_eq!(delivery.next_step(delivery.next_step_at), NextStep::Prepare(0));
    assert!(!delivery.may_have_published());
}
