use chrono::TimeDelta;
use cloud::queue::{Admission, DeliveryMessage, Outgoing, Queue};
use domain::connection::Connection;
use domain::delivery::LEASE_DURATION;
use domain::id::ProfileId;
use domain::post::{MAX_TARGETS, PostStatus};
use domain::random::Random;
use domain::testing::{a_connection, a_profile, noon};
use storage::{LimitSubject, ProfileCreated};

use super::*;
use crate::testing::{FakePlatform, PublishFault, PublishingHarness, later};

#[test]
fn permits_are_a_quarter_and_at_least_one() {
    let shares = |environments| {
        let limits = ConcurrencyLimits { environments };
        (limits.permits(), limits.permits_of_profile(), limits.unchecked())
    };
    assert_eq!([2, 20, 1_000].map(shares), [(1, 1, 1), (5, 2, 1), (250, 125, 50)]);
}

#[tokio::test]
async fn delivery_without_permit_is_rescheduled_without_an_attempt() {
    let harness = PublishingHarness::new().await;
    let subject = LimitSubject::user(harness.user.user_id);
    let post = harness.schedule("Hello", noon()).await;
    let began_at = noon() - TimeDelta::seconds(5);
    for index in 0..harness.publishing.concurrency_limits.permits() {
        harness.store.record_permit(&subject, &format!("other{index}"), began_at, Random::Os.u64()).await.unwrap();
    }

    harness.live(later(4)).await;
    let waiting = harness.delivery(&post).await;
    assert_eq!((harness.fake.calls(), waiting.attempts, waiting.has_begun), (0, 0, false));
    assert!(later(10) <= waiting.next_step_at && waiting.next_step_at <= later(13), "{}", waiting.next_step_at);
    assert_eq!(harness.post(&post).await.status, PostStatus::Scheduled);

    harness.live(noon() + LEASE_DURATION + TimeDelta::seconds(60)).await;
    assert_eq!((harness.fake.texts(), harness.fake.calls()), (vec!["Hello".to_owned()], 1));
    assert_eq!(
        harness.store.in_flight_calls(&subject).await.unwrap().others("me", harness.clock.now()),
        0,
        "all permits are released"
    );
}

async fn switch_to_profile(harness: &mut PublishingHarness) -> ProfileId {
    let profile = a_profile(&harness.user);
    assert_eq!(harness.store.create_profile(&profile, None).await.unwrap(), ProfileCreated::Done);
    let account = Connection {
        connection_id: harness.scheduling.ids.fresh(),
        of_profile: Some(profile.reference()),
        ..a_connection(&harness.user)
    };
    harness.connect(&account, PublishingHarness::credentials(None), None).await;
    harness.accounts = vec![account];
    profile.profile_id
}

#[tokio::test]
async fn profile_without_permits_waits_and_others_of_its_user_do_not() {
    let mut harness = PublishingHarness::new().await;
    let own = harness.schedule("the user's own", noon()).await;
    let profile = switch_to_profile(&mut harness).await;
    let limited = harness.schedule("the customer's", noon()).await;
    let began_at = noon() - TimeDelta::seconds(5);
    for subject in [LimitSubject::user(own.user_id), LimitSubject::profile(own.user_id, profile)] {
        for index in 0..harness.publishing.concurrency_limits.permits_of_profile() {
            harness.store.record_permit(&subject, &format!("other{index}"), began_at, Random::Os.u64()).await.unwrap();
        }
    }

    harness.live(later(4)).await;

    assert_eq!(harness.fake.texts(), ["the user's own"]);
    let waiting = harness.delivery(&limited).await;
    assert_eq!((waiting.attempts, waiting.has_begun), (0, false));
    let [(_, message)] = harness.queue.take()[..] else { panic!() };
    assert_eq!((message.ids, message.admission), (waiting.ids(), Admission::Backlog));

    harness.queue.send(&[Outgoing { message, at: waiting.next_step_at }]).await.unwrap();
    harness.live(noon() + LEASE_DURATION + TimeDelta::seconds(60)).await;
    assert_eq!(harness.fake.texts().len(), 2, "the permits have expired");
    let of_profile = LimitSubject::profile(own.user_id, profile);
    let in_flight = harness.store.in_flight_calls(&of_profile).await.unwrap();
    assert_eq!(in_flight.others("me", harness.clock.now()), 0, "all permits are released");
}

#[tokio::test]
async fn profile_with_slow_calls_has_one_permit_until_a_call_is_in_time() {
    let mut harness = PublishingHarness::new().await;
    let profile = switch_to_profile(&mut harness).await;
    let subject = LimitSubject::profile(harness.user.user_id, profile);
    let slow_calls = async || harness.store.in_flight_calls(&subject).await.unwrap().slow_calls;
    for _ in 0..SLOW_CALLS {
        harness.store.record_slow_call(&subject, noon()).await.unwrap();
    }
    let began_at = noon() - TimeDelta::seconds(5);
    harness.store.record_permit(&subject, "other", began_at, Random::Os.u64()).await.unwrap();
    harness.schedule("Hello", noon()).await;

    harness.live(later(4)).await;
    assert_eq!((harness.fake.calls(), slow_calls().await), (0, SLOW_CALLS));

    harness.live(noon() + LEASE_DURATION + TimeDelta::seconds(60)).await;
    assert_eq!((harness.fake.calls(), slow_calls().await), (1, 0));
}

#[tokio::test]
async fn many_deliveries_of_one_profile_and_tick_are_a_backlog() {
    let mut harness = PublishingHarness::new().await;
    switch_to_profile(&mut harness).await;
    for number in 0..=2 * MAX_TARGETS {
        harness.schedule(&format!("number {number}"), later(400)).await;
    }
    harness.clock.skip_to(later(300));
    harness.queue.take();

    harness.planner().plan().await.unwrap();

    let count = |messages: &[DeliveryMessage], of| messages.iter().filter(|it| it.admission == of).count();
    let messages: Vec<_> = harness.queue.take().into_iter().map(|it| it.1).collect();
    let counts = [Admission::Immediate, Admission::WithPermits, Admission::Backlog].map(|it| count(&messages, it));
    assert_eq!(counts, [1, 2 * MAX_TARGETS - 1, 1]);
}

#[tokio::test]
async fn calls_of_one_environment_share_a_permit_until_the_last_ends() {
    let harness = PublishingHarness::with(30, FakePlatform::default()).await;
    let subject = LimitSubject::user(harness.user.user_id);
    let gate = harness.fake.hold_publish();
    harness.schedule("Hello", noon()).await;
    let deliver = |message| {
        let (publishing, platforms) = (harness.publishing.clone(), harness.platforms.clone());
        async move { publishing.deliver(&platforms, message).await.unwrap() }
    };
    let all = futures::future::join_all(harness.queue.take().into_iter().map(|it| deliver(it.1)));
    let count_permits = async {
        gate.entered().await;
        let in_flight = harness.store.in_flight_calls(&subject).await.unwrap();
        gate.open();
        in_flight.others("me", noon())
    };

    assert_eq!(tokio::join!(all, count_permits).1, 1);
    assert_eq!(harness.fake.calls(), 30);
    assert_eq!(harness.store.in_flight_calls(&subject).await.unwrap().others("me", noon()), 0);
}

#[tokio::test]
async fn only_bursts_of_one_user_and_second_need_permits() {
    let harness = PublishingHarness::with(3, FakePlatform::default()).await;
    harness.schedule("three at once", later(400)).await;
    harness.schedule("a second later", later(401)).await;
    harness.clock.skip_to(later(300));
    harness.queue.take();

    harness.planner().plan().await.unwrap();

    let mut admissions: Vec<_> = harness.queue.take().iter().map(|it| it.1.admission).collect();
    admissions.sort_unstable();
    assert_eq!(admissions, [[Admission::Immediate; 2].as_slice(), &[Admission::WithPermits; 4]].concat());
}

#[tokio::test]
async fn retry_needs_a_permit() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Busy(None)])).await;
    harness.schedule("Hello", later(400)).await;
    harness.clock.skip_to(later(399));
    harness.queue.take();
    harness.planner().plan().await.unwrap();
    let [(_, message)] = harness.queue.take()[..] else { panic!() };
    assert_eq!(message.admission, Admission::Immediate);

    harness.deliver(message, 1).await;

    let [(_, DeliveryMessage { admission, .. })] = harness.queue.take()[..] else { panic!() };
    assert_eq!(admission, Admission::WithPermits);
}
