use chrono::TimeDelta;
use cloud::queue::DeliveryMessage;
use domain::delivery::LEASE_DURATION;
use domain::post::PostStatus;
use domain::random::Random;
use domain::testing::noon;
use storage::LimitSubject;

use super::*;
use crate::testing::{FakePlatform, PublishFault, PublishingHarness, later};

#[test]
fn permits_are_a_quarter_and_at_least_one() {
    let share =
        |environments| (ConcurrencyLimits { environments }.permits(), ConcurrencyLimits { environments }.unchecked());
    assert_eq!([2, 20, 1_000].map(share), [(1, 1), (5, 1), (250, 50)]);
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

    // The permits expire.
    harness.live(noon() + LEASE_DURATION + TimeDelta::seconds(60)).await;
    assert_eq!((harness.fake.texts(), harness.fake.calls()), (vec!["Hello".to_owned()], 1));
    assert_eq!(
        harness.store.in_flight_calls(&subject).await.unwrap().others("me", harness.clock.now()),
        0,
        "all permits are released"
    );
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

    let mut needs_permit: Vec<_> = harness.queue.take().iter().map(|it| it.1.needs_permit).collect();
    needs_permit.sort_unstable();
    assert_eq!(needs_permit, [false, false, true, true, true, true]);
}

#[tokio::test]
async fn retry_needs_a_permit() {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults([PublishFault::Busy(None)])).await;
    harness.schedule("Hello", later(400)).await;
    harness.clock.skip_to(later(399));
    harness.queue.take();
    harness.planner().plan().await.unwrap();
    let [(_, message)] = harness.queue.take()[..] else { panic!() };
    assert!(!message.needs_permit);

    harness.deliver(message, 1).await;

    let [(_, DeliveryMessage { needs_permit, .. })] = harness.queue.take()[..] else { panic!() };
    assert!(needs_permit);
}
