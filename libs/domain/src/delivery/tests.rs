//! A delivery as its platform treats it.

use proptest::prelude::*;

use super::*;
use crate::testing::{a_delivery, noon};

fn seconds(count: i64) -> TimeDelta {
    TimeDelta::seconds(count)
}

fn busy() -> Setback {
    Setback::Busy { retry_at: None, reason: "busy".to_owned() }
}

fn unknown(may_still_run: bool) -> Setback {
    Setback::Unknown { may_still_run, retry_at: None, reason: "no answer".to_owned() }
}

fn published() -> Published {
    Published::new("p1".to_owned(), noon())
}

#[test]
fn a_delivery_waits_for_its_time() {
    let delivery = a_delivery();

    assert_eq!(delivery.next(noon() - seconds(1)), Next::Wait(noon()));
    assert_eq!(delivery.next(noon()), Next::Publish);
}

#[test]
fn a_delivery_held_by_a_worker_is_left_alone_until_the_lease_ends() {
    let delivery = a_delivery().intended(noon());

    assert_eq!(delivery.next(noon()), Next::Held(noon() + LEASE));
    assert_eq!(delivery.next(noon() + LEASE), Next::Resolve);
}

#[test]
fn a_busy_platform_is_asked_again_after_the_first_wait() {
    let delivery = a_delivery().intended(noon()).settled(Err(busy()), noon(), 0);

    assert_eq!(delivery.next(noon() + FIRST_WAIT - seconds(1)), Next::Wait(noon() + FIRST_WAIT));
    assert_eq!(delivery.next(noon() + FIRST_WAIT), Next::Publish);
}

#[test]
fn a_platform_can_make_us_wait_longer_but_not_shorter() {
    let later = noon() + seconds(90);
    let asked = |retry_at| Setback::Busy { retry_at: Some(retry_at), reason: "busy".to_owned() };
    let settled = |retry_at| a_delivery().intended(noon()).settled(Err(asked(retry_at)), noon(), 0);

    assert_eq!(settled(later).look_at, later);
    assert_eq!(settled(noon()).look_at, noon() + FIRST_WAIT);
}

#[test]
fn an_unknown_outcome_is_never_sent_again_blindly() {
    let delivery = a_delivery().intended(noon()).settled(Err(unknown(true)), noon(), 0);

    assert_eq!(delivery.next(noon() + seconds(3600)), Next::Resolve);
    assert_eq!(delivery.next(noon() + GIVE_UP_AFTER), Next::Resolve);
}

#[test]
fn not_there_is_believed_only_when_the_call_can_no_longer_take_effect() {
    let delivery = a_delivery().intended(noon()).settled(Err(unknown(true)), noon(), 0);
    let asked = |at| delivery.clone().resolved(Resolution::NotThere, seconds(60), at, 0);

    let certain = noon() + CALL_WITHIN + seconds(60);
    assert!(asked(certain - seconds(1)).intent.is_some());
    assert!(asked(certain).intent.is_none());
    assert_eq!(asked(noon() + seconds(75)).next(noon() + seconds(75)), Next::Publish);
}

#[test]
fn after_an_answer_not_there_is_believed_at_once() {
    let delivery = a_delivery().intended(noon()).settled(Err(unknown(false)), noon(), 0);
    let asked = delivery.resolved(Resolution::NotThere, seconds(60), noon() + seconds(2), 0);

    assert!(asked.intent.is_none());
}

#[test]
fn what_cannot_be_known_ends_with_a_word_that_it_may_be_public() {
    let advice = || Resolution::Unknowable { advice: "look at the account".to_owned() };
    let delivery = a_delivery().intended(noon()).resolved(advice(), seconds(60), noon(), 0);

    let State::Failed { reason, class: FailureClass::MayBePublic } = delivery.state else {
        panic!("{:?}", delivery.state)
    };
    assert!(reason.contains("may be public"), "{reason}");
}

#[test]
fn a_delivery_gives_up_a_day_after_its_time() {
    let late = noon() + GIVE_UP_AFTER;
    let delivery = a_delivery().intended(noon()).settled(Err(busy()), noon(), 0);

    assert_eq!(delivery.next(late), Next::GiveUp);
    let State::Failed { reason, class: FailureClass::GivenUp } = delivery.given_up().state else { panic!() };
    assert!(reason.contains("busy"), "{reason}");
}

fn busy_until(at: DateTime<Utc>) -> Setback {
    Setback::Busy { retry_at: Some(at), reason: "the quota of the day is used up".to_owned() }
}

#[test]
fn a_time_beyond_the_day_extends_the_retrying() {
    let opens_at = noon() + GIVE_UP_AFTER + seconds(7_200);
    let waiting = a_delivery().intended(noon()).settled(Err(busy_until(opens_at)), noon(), 0);

    assert!(waiting.was_set_back(), "its user may change it");
    assert_eq!(waiting.next(noon() + GIVE_UP_AFTER), Next::Wait(opens_at));
    assert_eq!(waiting.next(opens_at), Next::Publish);
    let ends_at = opens_at + LAST_CHANCE;
    assert_eq!(waiting.next(ends_at), Next::GiveUp);

    // Also when the platform then names a later one, and whatever was forgotten meanwhile.
    let later = opens_at + seconds(3_600);
    let again = waiting.clone().intended(opens_at).settled(Err(busy_until(later)), opens_at, 0);
    assert_eq!((again.next(ends_at), again.next(later)), (Next::Wait(later), Next::Publish));
    let latest = busy_until(noon() + LATEST_OPENING + seconds(1));
    let over = again.intended(later).settled(Err(latest), later, 0);
    assert_eq!(over.next(later + LAST_CHANCE), Next::GiveUp);
    let stale = Setback::Stale { reason: "a file has expired".to_owned() };
    let anew = waiting.clone().intended(opens_at).settled(Err(stale), opens_at, 0);
    let at = anew.look_at;
    assert_eq!((anew.next(at), anew.prepared(None, None).next(at)), (Next::Prepare, Next::Publish));
    // An answer that is lost then is asked about as long as that.
    let unclear = || Resolution::Unclear { reason: "down".to_owned() };
    let lost = waiting.intended(opens_at).settled(Err(unknown(false)), opens_at, 0);
    assert_eq!(lost.clone().resolved(unclear(), seconds(60), opens_at + seconds(2), 0).state, State::Waiting);
    let State::Failed { class, .. } = lost.resolved(unclear(), seconds(60), ends_at, 0).state else { panic!() };
    assert_eq!(class, FailureClass::MayBePublic);
}

#[test]
fn a_time_that_is_too_far_or_our_own_extends_nothing() {
    let ends_at = noon() + GIVE_UP_AFTER;
    let too_far = busy_until(noon() + LATEST_OPENING + seconds(1));
    assert_eq!(a_delivery().intended(noon()).settled(Err(too_far), noon(), 0).next(ends_at), Next::GiveUp);
    let in_time = busy_until(ends_at - seconds(1));
    assert_eq!(a_delivery().intended(noon()).settled(Err(in_time), noon(), 0).ends_at(), ends_at);
    let late = ends_at - seconds(10);
    assert_eq!(a_delivery().not_called(busy(), late, 0).ends_at(), ends_at);
    assert_eq!(a_delivery().intended(late).settled(Err(busy()), late, 1023).ends_at(), ends_at);
    // What comes before the public call meets quotas, too.
    let unprepared = Delivery { prepared: false, ..a_delivery() };
    let waiting = unprepared.preparation_failed(busy_until(ends_at), noon(), 0);
    assert_eq!(waiting.next(ends_at), Next::Prepare);
}

#[test]
fn what_was_taken_and_then_refused_is_over_at_once() {
    let delivery = a_delivery().intended(noon()).settled(Err(unknown(true)), noon(), 0);
    let refused = Resolution::Refused { reason: "the video could not be processed".to_owned() };
    let ended = delivery.resolved(refused, seconds(60), noon() + seconds(2), 0);

    let State::Failed { reason, class: FailureClass::Refused } = &ended.state else { panic!("{:?}", ended.state) };
    assert_eq!(reason, "the video could not be processed");
    assert_eq!(ended.next(noon() + seconds(2)), Next::RollUp);
}

#[test]
fn a_lost_grant_is_looked_at_again_soon_and_then_rarely() {
    let gone = || Setback::Disconnected { reason: "connect the account again".to_owned() };
    let wait = |now: DateTime<Utc>| a_delivery().settled(Err(gone()), now, 0).look_at - now;

    assert_eq!(wait(noon()), RECONNECTION_LOOK);
    assert_eq!(wait(noon() + seconds(36_000)), LONGEST_RECONNECTION_LOOK);
}

#[test]
fn a_step_taken_in_time_leaves_the_due_index_alone() {
    let published = a_delivery().held(noon()).intended(noon()).settled(Ok(published()), noon() + seconds(1), 0);

    assert_eq!((published.due_at, published.look_at), (Some(noon()), noon()));
    assert_eq!(published.next(noon() + seconds(1)), Next::RollUp);
}

#[test]
fn a_post_is_told_of_an_end_later_when_it_was_put_off_and_of_nothing_else() {
    let later = noon() + seconds(600);
    let ended = a_delivery().intended(noon()).settled(Ok(published()), noon(), 0).told_at(later);

    assert_eq!(ended.next(noon()), Next::Wait(later));
    assert_eq!(ended.next(later), Next::RollUp);
    assert!(ended.rolled_up().next(noon()) == Next::Nothing);
    assert_eq!(a_delivery().told_at(later).look_at, noon(), "it has not ended");
}

#[test]
fn what_the_tick_may_not_see_in_time_is_put_on_the_queue_by_its_writer() {
    let delivery = a_delivery();

    assert!(delivery.is_imminent(noon() - HINT_AHEAD));
    assert!(!delivery.is_imminent(noon() - HINT_AHEAD - seconds(1)));
    let ended = delivery.intended(noon()).settled(Ok(published()), noon(), 0).told_at(noon() + seconds(9_000));
    assert!(ended.is_imminent(noon()), "the tick does not plan it at all");
    assert!(!ended.rolled_up().is_imminent(noon()));
}

#[test]
fn a_failed_preparation_is_never_unknown() {
    let delivery = a_delivery().held(noon()).preparation_failed(unknown(true), noon(), 0);

    assert!(delivery.intent.is_none());
    assert_eq!(delivery.state, State::Waiting);
}

#[test]
fn what_has_gone_stale_is_prepared_anew_ever_more_rarely() {
    let stale = || Setback::Stale { reason: "a file has expired".to_owned() };
    let ready = Delivery { progress: Some("uploaded".to_owned()), ..a_delivery() };
    let once = ready.intended(noon()).settled(Err(stale()), noon(), 0);

    assert_eq!((once.prepared, &once.progress, &once.intent), (false, &None, &None));
    assert!(once.was_set_back(), "nothing of it is public");
    let at = noon() + FIRST_WAIT;
    assert_eq!((once.next(noon()), once.next(at)), (Next::Wait(at), Next::Prepare));
    let twice = once.prepared(Some("again".to_owned()), None).intended(at).settled(Err(stale()), at, 0);
    assert_eq!(twice.look_at, at + FIRST_WAIT * 2);
    assert_eq!(twice.next(noon() + GIVE_UP_AFTER), Next::GiveUp);
}

#[test]
fn what_goes_stale_before_a_public_call_is_not_begun_and_yet_waits_ever_longer() {
    let stale = || Setback::Stale { reason: "a file has expired".to_owned() };
    let unprepared = Delivery { prepared: false, ..a_delivery() };
    let once = unprepared.preparation_failed(stale(), noon(), 0);
    let twice = once.clone().prepared(None, Some(noon())).preparation_failed(stale(), noon(), 0);

    assert!(!once.begun && !twice.begun && !twice.may_have_arrived());
    assert!(once.look_at < twice.look_at, "{} {}", once.look_at, twice.look_at);
    assert!(!twice.clone().prepared(None, None).was_set_back(), "it goes out at its time");
    assert!(twice.prepared(None, None).intended(noon()).settled(Err(busy()), noon(), 0).was_set_back());
}

#[test]
fn only_a_call_in_doubt_may_have_had_an_effect() {
    let nothing = || a_delivery().intended(noon());
    let gone = Setback::Disconnected { reason: "revoked".to_owned() };
    let stale = Setback::Stale { reason: "a file has expired".to_owned() };
    for setback in [busy(), gone, stale] {
        let settled = nothing().settled(Err(setback.clone()), noon(), 0);
        assert!(settled.begun && !settled.may_have_arrived(), "{setback:?}");
    }
    let not_there = |it: Delivery| it.resolved(Resolution::NotThere, seconds(60), noon() + seconds(99), 0);
    let answered = not_there(nothing().settled(Err(unknown(false)), noon(), 0));
    let died = not_there(nothing());
    for in_doubt in [answered, died] {
        assert!(in_doubt.may_have_arrived() && in_doubt.intent.is_none());
        let anew = in_doubt.intended(noon()).settled(Err(busy()), noon(), 0).prepared(None, None);
        assert!(anew.may_have_arrived(), "what came of an earlier call is as doubtful as before");
    }
}

#[test]
fn a_look_up_starts_at_the_first_call_whose_outcome_was_unknown() {
    let at = |s| noon() + seconds(s);
    let not_there = |it: Delivery, s| it.resolved(Resolution::NotThere, seconds(60), at(s), 0);

    // The first call had no effect.
    let second = a_delivery().intended(noon()).settled(Err(busy()), noon(), 0).intended(at(5));
    assert_eq!(second.in_doubt_since(), Some(at(5)));
    let lost = second.settled(Err(unknown(true)), at(6), 0);
    // The list is behind: the post of the second call is not in it.
    let third = not_there(lost, 80).intended(at(81));
    assert_eq!(third.in_doubt_since(), Some(at(5)));
    let made_by_the_second = Published { at: at(6), ..published() };
    let found = third.resolved(Resolution::Public(made_by_the_second.clone()), seconds(60), at(90), 0);
    assert_eq!(found.state, State::Published(made_by_the_second));
    assert_eq!(found.in_doubt_since(), None, "nothing is in doubt any more");

    // The worker of the first call died.
    let second = not_there(a_delivery().intended(noon()), 99).intended(at(100));
    assert_eq!(second.in_doubt_since(), Some(noon()));
}

/// The first call is lost, and a look-up finds no post.
fn not_found_after_a_lost_call() -> Delivery {
    let lost = a_delivery().intended(noon()).settled(Err(unknown(true)), noon(), 0);
    lost.resolved(Resolution::NotThere, seconds(60), noon() + seconds(80), 0)
}

fn assert_may_be_public(delivery: &Delivery, last: &str) {
    let State::Failed { reason, class } = &delivery.state else { panic!("{:?}", delivery.state) };
    assert_eq!(*class, FailureClass::MayBePublic, "{reason}");
    assert!(reason.starts_with("The post may be public") && reason.contains("before you send it again"), "{reason}");
    assert!(reason.ends_with(last), "{reason}");
}

#[test]
fn refusal_after_an_unsettled_unknown_outcome_may_be_public() {
    let refused = || Setback::Refused { reason: "not polite enough".to_owned() };
    let (unlisted, at) = (not_found_after_a_lost_call(), noon() + seconds(90));

    assert_may_be_public(&unlisted.clone().intended(at).settled(Err(refused()), at, 0), "not polite enough");
    // The second call is accepted, and its post is refused later.
    let later = Resolution::Refused { reason: "not after all".to_owned() };
    let second = unlisted.clone().intended(at).settled(Err(unknown(false)), at, 0);
    assert_may_be_public(&second.resolved(later, seconds(60), at, 0), "not after all");
    // A file has expired, and its successor is refused.
    let stale = Setback::Stale { reason: "a file has expired".to_owned() };
    let expired = unlisted.intended(at).settled(Err(stale), at, 0);
    assert_may_be_public(&expired.preparation_failed(refused(), at, 0), "not polite enough");
}

#[test]
fn giving_up_after_an_unsettled_unknown_outcome_may_be_public() {
    let at = noon() + seconds(90);
    let waiting = not_found_after_a_lost_call().intended(at).settled(Err(busy()), at, 0);

    assert_may_be_public(&waiting.given_up(), "busy");
}

#[test]
fn proof_of_absence_settles_the_unknown_outcome() {
    let refused = || Setback::Refused { reason: "not polite enough".to_owned() };
    let at = |s| noon() + seconds(s);
    let class = |delivery: Delivery| match delivery.state {
        State::Failed { class, .. } => class,
        other => panic!("{other:?}"),
    };
    let lost = a_delivery().intended(noon()).settled(Err(unknown(true)), noon(), 0);
    let early = lost.clone().resolved(Resolution::Absent, seconds(60), at(2), 0);
    assert!(early.may_have_arrived() && early.intent.is_some(), "the call may still take effect");
    let absent = lost.resolved(Resolution::Absent, seconds(60), at(80), 0);
    assert!(!absent.may_have_arrived() && absent.intent.is_none());
    assert_eq!(absent.next(absent.look_at), Next::Publish);

    let ended = absent.intended(at(90)).settled(Err(refused()), at(90), 0);
    assert_eq!(class(ended), FailureClass::Refused);

    // It says nothing about an earlier call, which may have been for other uploads.
    let second = not_found_after_a_lost_call().intended(at(90)).settled(Err(unknown(false)), at(91), 0);
    let absent = second.resolved(Resolution::Absent, seconds(60), at(95), 0);
    assert_eq!(absent.in_doubt_since(), Some(noon()));
    assert_may_be_public(&absent.intended(at(99)).settled(Err(refused()), at(99), 0), "not polite enough");
}

/// The platform blocks the account for two hours, and does not say whether it took the post.
#[test]
fn time_that_the_platform_names_with_an_unknown_outcome_holds_the_next_call_back() {
    let opens_at = noon() + seconds(7_200);
    let blocked = Setback::Unknown { may_still_run: false, retry_at: Some(opens_at), reason: "blocked".to_owned() };
    let lost = a_delivery().intended(noon()).settled(Err(blocked), noon(), 0);
    assert_eq!(lost.next(noon() + seconds(2)), Next::Resolve, "it is looked up at once");

    let not_there = lost.resolved(Resolution::NotThere, seconds(60), noon() + seconds(2), 0);

    assert_eq!(not_there.next(opens_at - seconds(1)), Next::Wait(opens_at));
    assert_eq!(not_there.next(opens_at), Next::Publish);
}

fn duplicate() -> Setback {
    Setback::Duplicate { reason: "you said that already".to_owned() }
}

#[test]
fn a_duplicate_is_looked_up_until_its_time_is_over_and_not_sent_again() {
    for asking in [Looks::from(seconds(60)), Looks { settles: seconds(60), are_paid: true }] {
        let lost = a_delivery().intended(noon()).settled(Err(unknown(true)), noon(), 0);
        let mut now = noon() + seconds(80);
        let again = lost.resolved(Resolution::NotThere, asking, now, 0).intended(now);
        let mut delivery = again.settled(Err(duplicate()), now, 0);
        let (mut looks, mut longest) = (0, TimeDelta::zero());
        while delivery.state == State::Waiting {
            assert_eq!(delivery.next(delivery.look_at), Next::Resolve);
            (looks, longest) = (looks + 1, longest.max(delivery.look_at - now));
            now = delivery.look_at;
            delivery = delivery.resolved(Resolution::NotThere, asking, now, 1023);
        }

        assert_eq!(now, noon() + GIVE_UP_AFTER);
        let State::Failed { reason, class: FailureClass::MayBePublic } = delivery.state else { panic!() };
        assert!(reason.starts_with("The post may be public. ") && reason.contains("duplicate"), "{reason}");
        if asking.are_paid {
            assert!((10..=20).contains(&looks), "{looks} looks that cost money");
        } else {
            assert!(longest <= seconds(640), "{longest}");
        }
    }
}

#[test]
fn a_duplicate_is_published_once_its_platform_lists_it() {
    let lost = a_delivery().intended(noon()).settled(Err(unknown(true)), noon(), 0);
    let at = noon() + seconds(80);
    let again = lost.resolved(Resolution::NotThere, seconds(60), at, 0).intended(at);
    let late = again.settled(Err(duplicate()), at, 0).resolved(Resolution::NotThere, seconds(60), at + seconds(2), 0);

    assert_eq!((late.next(late.look_at), late.in_doubt_since()), (Next::Resolve, Some(noon())));
    let found = late.clone().resolved(Resolution::Public(published()), seconds(60), late.look_at, 0);

    assert_eq!(found.state, State::Published(published()));
}

/// Preparation publishes nothing, so its errors never mean an unknown outcome.
#[test]
fn a_duplicate_of_preparation_is_tried_again() {
    let delivery = Delivery { prepared: false, ..a_delivery() }.preparation_failed(duplicate(), noon(), 0);

    assert_eq!(delivery.next(delivery.look_at), Next::Prepare);
    assert!(!delivery.may_have_arrived());
}

#[test]
fn a_call_that_asking_may_have_made_again_is_given_its_time() {
    let delivery = a_delivery().intended(noon()).settled(Err(unknown(true)), noon(), 0);
    let unclear = |at| {
        let answer = Resolution::Unclear { reason: "no answer".to_owned() };
        delivery.clone().resolved(answer, seconds(60), at, 0).look_at - at
    };

    let certain = CALL_WITHIN + seconds(60);
    assert!(unclear(noon() + seconds(2)) < seconds(60));
    assert_eq!(unclear(noon() + certain - seconds(3)), seconds(3), "no adapter repeats a call before that");
    assert_eq!(unclear(noon() + certain), seconds(60));
}

#[test]
fn a_look_that_is_paid_is_repeated_once_when_nothing_can_come_any_more() {
    let delivery = a_delivery().intended(noon()).settled(Err(unknown(true)), noon(), 0);
    let (first_at, settles) = (noon() + FIRST_LOOK, seconds(60));
    let not_there = |looks| delivery.clone().resolved(Resolution::NotThere, looks, first_at, 0).look_at;

    assert!(not_there(Looks { settles, are_paid: false }) < first_at + settles);
    assert_eq!(not_there(Looks { settles, are_paid: true }), noon() + CALL_WITHIN + settles);
}

#[derive(Clone, Debug)]
enum Fact {
    Wait(i64),
    Settle(u8),
    Resolve(u8),
}

#[test]
fn what_looks_like_it_is_believed_when_no_other_has_claimed_it_for_long_enough() {
    let seen = |delivery: Delivery, id: &str, now| {
        let there = Published::new(id.to_owned(), now);
        delivery.resolved(Resolution::Recognised(there), seconds(60), now, 0)
    };
    let believes =
        |delivery: &Delivery, id: &str, now| delivery.believes(&Published::new(id.to_owned(), now), seconds(60), now);
    let first_at = noon() + FIRST_LOOK;
    let delivery = a_delivery().intended(noon()).settled(Err(unknown(false)), noon(), 0);

    let delivery = seen(delivery, "p1", first_at);
    assert_eq!(delivery.next(first_at), Next::Wait(first_at + UNCLAIMED_FOR));
    assert!(!believes(&delivery, "p1", first_at + UNCLAIMED_FOR - seconds(1)));
    assert!(believes(&delivery, "p1", first_at + UNCLAIMED_FOR));
    assert!(!believes(&delivery, "p2", first_at + UNCLAIMED_FOR), "another one");

    // Not while its own call may still take effect.
    let under_way = seen(a_delivery().intended(noon()), "p1", noon());
    assert_eq!(under_way.look_at, noon() + UNCLAIMED_FOR.max(CALL_WITHIN + seconds(60)));
    let long = seconds(100);
    assert!(!under_way.believes(&published(), long, noon() + UNCLAIMED_FOR));
    assert!(under_way.believes(&published(), long, noon() + CALL_WITHIN + long));

    // Another delivery has claimed the first, and now this is the one: anew.
    let second_at = first_at + UNCLAIMED_FOR;
    let delivery = seen(delivery, "p2", second_at);
    assert!(!believes(&delivery, "p2", second_at));
    // Being asked in vain in between loses nothing.
    let unclear = Resolution::Unclear { reason: "down".to_owned() };
    let delivery =
        seen(delivery.resolved(unclear, seconds(60), second_at + seconds(9), 0), "p2", second_at + seconds(20));
    assert!(believes(&delivery, "p2", second_at + UNCLAIMED_FOR));
}

#[test]
fn no_clock_makes_a_post_earlier_than_its_call_or_later_than_now() {
    let now = noon() + seconds(3);
    for (told, at) in [(-3600, noon()), (0, noon()), (2, noon() + seconds(2)), (3600, now)] {
        let told = Published { at: noon() + seconds(told), ..published() };
        let State::Published(direct) = a_delivery().intended(noon()).settled(Ok(told.clone()), now, 0).state else {
            panic!("not published")
        };
        assert_eq!(direct.at, at, "{told:?}");
        let looked_up = a_delivery().intended(noon()).resolved(Resolution::Public(told), seconds(60), now, 0);
        assert_eq!(looked_up.state, State::Published(direct));
    }
}

#[test]
fn what_is_unclear_is_asked_again_when_the_call_can_no_longer_take_effect() {
    let settles = seconds(60);
    let mut delivery = a_delivery().intended(noon()).settled(Err(unknown(true)), noon(), 1023);
    let mut now = noon();
    while now < noon() + CALL_WITHIN + settles {
        now = delivery.look_at;
        delivery = delivery.resolved(Resolution::Unclear { reason: "?".to_owned() }, settles, now, 1023);
    }
    assert_eq!(now, noon() + CALL_WITHIN + settles);
}

fn facts() -> impl Strategy<Value = Vec<Fact>> {
    let fact = prop_oneof![
        (0..1_000_i64).prop_map(Fact::Wait),
        (0..100_000_i64).prop_map(Fact::Wait),
        (0..7_u8).prop_map(Fact::Settle),
        (0..7_u8).prop_map(Fact::Resolve),
    ];
    prop::collection::vec(fact, 0..60)
}

proptest! {
    /// Whatever happens: an unfinished delivery is always in the due index,
    /// and the public call is never begun while another may have succeeded, nor
    /// after its platform said that it has the post. One whose call was only not
    /// found never fails as if it were certainly not public.
    #[test]
    fn a_delivery_is_never_lost_and_never_sent_into_the_unknown(facts in facts(), jitter: u32) {
        let mut now = noon() - seconds(100);
        let mut delivery = a_delivery();
        let (mut may_be_public, mut is_duplicate, mut was_not_found) = (false, false, false);
        for fact in facts {
            match fact {
                Fact::Wait(seconds) => now += TimeDelta::seconds(seconds),
                Fact::Settle(which) if delivery.next(now) == Next::Publish => {
                    prop_assert!(!may_be_public && !is_duplicate);
                    prop_assert!(delivery.publish_at <= now);
                    let intended = delivery.intended(now);
                    let attempt = match which {
                        0 => Ok(published()),
                        1 => Err(busy()),
                        2 => Err(Setback::Disconnected { reason: "gone".to_owned() }),
                        3 => Err(Setback::Refused { reason: "no".to_owned() }),
                        4 => Err(Setback::Stale { reason: "expired".to_owned() }),
                        5 => Err(duplicate()),
                        _ => Err(unknown(true)),
                    };
                    is_duplicate = matches!(attempt, Err(Setback::Duplicate { .. }));
                    may_be_public = matches!(attempt, Err(Setback::Unknown { .. })) || is_duplicate;
                    delivery = intended.settled(attempt, now, jitter);
                }
                Fact::Resolve(which) if delivery.next(now) == Next::Resolve => {
                    let answer = match which {
                        0 => Resolution::Public(published()),
                        1 => Resolution::NotThere,
                        2 => Resolution::Unclear { reason: "down".to_owned() },
                        3 => Resolution::Recognised(published()),
                        4 => Resolution::Refused { reason: "not wanted".to_owned() },
                        5 => Resolution::Absent,
                        _ => Resolution::Unknowable { advice: "look".to_owned() },
                    };
                    let is_not_found = answer == Resolution::NotThere;
                    delivery = delivery.resolved(answer, seconds(60), now, jitter);
                    may_be_public &= delivery.intent.is_some();
                    was_not_found |= is_not_found && delivery.intent.is_none();
                }
                Fact::Settle(_) if delivery.next(now) == Next::Prepare => {
                    prop_assert!(!may_be_public);
                    delivery = delivery.prepared(None, None);
                }
                Fact::Settle(_) | Fact::Resolve(_) => {}
            }
            prop_assert!(delivery.due_at.is_some());
            prop_assert!(delivery.state == State::Waiting || delivery.intent.is_none());
            if let (true, State::Failed { class, .. }) = (was_not_found, &delivery.state) {
                prop_assert_eq!(*class, FailureClass::MayBePublic);
            }
        }
    }
}
