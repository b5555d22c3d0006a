mod duplicates;
mod retry_window;
mod segments;
mod unknown_outcome;

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

fn unprepared() -> Delivery {
    Delivery { preparations: vec![Preparation::open(noon())], ..a_delivery() }
}

fn ready(progress: &str) -> PreparationStep {
    PreparationStep::Ready { progress: Some(progress.to_owned()) }
}

fn again(at: DateTime<Utc>) -> PreparationStep {
    PreparationStep::Again { progress: "begun".to_owned(), at }
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

fn busy_until(at: DateTime<Utc>) -> AttemptError {
    AttemptError::RetryLater { retry_at: Some(at), reason: "the quota of the day is used up".to_owned() }
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
    let delivery = a_delivery().lease(noon()).fail_preparation(0, unknown(true), noon(), 0);

    assert!(delivery.intent.is_none());
    assert_eq!(delivery.state, State::Waiting);
}

#[test]
fn expired_preparation_is_repeated_with_longer_waits() {
    let expired = || AttemptError::PreparationExpired { reason: "a file has expired".to_owned() };
    let uploaded = a_delivery().record_preparation(0, ready("uploaded"));
    let once = uploaded.open_intent(noon()).record_publish(Err(expired()), noon(), 0);

    assert_eq!((once.is_prepared(), once.progress(0), &once.intent), (false, None, &None));
    assert!(once.is_waiting_after_error(), "nothing of it is public");
    let at = noon() + FIRST_RETRY_WAIT;
    assert_eq!((once.next_step(noon()), once.next_step(at)), (NextStep::Wait(at), NextStep::Prepare(0)));
    let twice = once.record_preparation(0, ready("again")).open_intent(at).record_publish(Err(expired()), at, 0);
    assert_eq!(twice.next_step_at, at + FIRST_RETRY_WAIT * 2);
    assert_eq!(twice.next_step(noon() + RETRY_WINDOW), NextStep::GiveUp);
}

#[test]
fn preparation_that_expires_before_a_call_waits_longer_each_time() {
    let expired = || AttemptError::PreparationExpired { reason: "a file has expired".to_owned() };
    let once = unprepared().fail_preparation(0, expired(), noon(), 0);
    let twice = once.clone().record_preparation(0, again(noon())).fail_preparation(0, expired(), noon(), 0);

    assert!(!once.has_begun && !twice.has_begun && !twice.may_have_published());
    assert!(once.next_step_at < twice.next_step_at, "{} {}", once.next_step_at, twice.next_step_at);
    assert!(!twice.clone().record_preparation(0, ready("")).is_waiting_after_error(), "it goes out at its time");
    assert!(
        twice
            .record_preparation(0, ready(""))
            .open_intent(noon())
            .record_publish(Err(busy()), noon(), 0)
            .is_waiting_after_error()
    );
}

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

fn duplicate() -> AttemptError {
    AttemptError::Duplicate { reason: "you said that already".to_owned() }
}

#[derive(Clone, Debug)]
enum Action {
    Wait(i64),
    RecordPublish(u8),
    Resolve(u8),
}

#[test]
fn published_at_is_clamped_between_call_start_and_now() {
    let now = noon() + seconds(3);
    for (offset_s, at) in [(-3600, noon()), (0, noon()), (2, noon() + seconds(2)), (3600, now)] {
        let offset_s = Published { at: noon() + seconds(offset_s), ..published() };
        let direct = a_delivery().open_intent(noon()).record_publish(Ok(offset_s.clone()), now, 0);
        assert_eq!(direct.published[0].at, at, "{offset_s:?}");
        let looked_up =
            a_delivery().open_intent(noon()).record_look_up(Resolution::Found(offset_s), seconds(60), now, 0);
        assert_eq!((looked_up.state, looked_up.published), (State::Published, direct.published));
    }
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
                Action::RecordPublish(_) if delivery.next_step(now) == NextStep::Prepare(0) => {
                    prop_assert!(!may_be_public);
                    delivery = delivery.record_preparation(0, ready(""));
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
