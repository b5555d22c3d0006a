//! Which steps a worker starts, and which it leaves to the next one.

use super::*;

/// A platform that prepares for ten minutes, in steps of this many seconds.
async fn harness_with_slow_steps(seconds: i64) -> PublishingHarness {
    let mut harness = PublishingHarness::new().await;
    let clock = harness.clock.clone();
    let on_step = Some(Box::new(move || clock.advance(TimeDelta::seconds(seconds))) as _);
    harness.be(FakePlatform { lead: Some(TimeDelta::minutes(10)), on_step, ..FakePlatform::default() });
    harness
}

#[tokio::test]
async fn worker_starts_no_step_after_its_start_window() {
    let harness = harness_with_slow_steps(9).await;
    let again = |progress: &str| Ok(Step::Again { progress: progress.to_owned(), at: noon() });
    harness.fake.steps.lock().unwrap().extend(["one", "two", "three"].map(again));
    let post = harness.schedule("Hello", later(600)).await;
    harness.clock.skip_to(later(5));
    let message = harness.queue.take()[0].1;

    // Two steps use up its time, and the next worker continues.
    harness.deliver(message, 1).await;
    assert_eq!(harness.fake.prepared.lock().unwrap().len(), 2);
    assert!(!harness.delivery(&post).await.is_prepared());
    let waiting = harness.queue.take();
    assert_eq!(waiting, [(harness.clock.now(), message)]);
    harness.deliver(message, 1).await;
    harness.live(later(700)).await;

    assert_eq!(harness.fake.prepared.lock().unwrap().len(), 4);
    assert_eq!(*harness.fake.calls.lock().unwrap(), [later(600)]);
    assert_published_once(&harness, &post, "Hello").await;
}

#[tokio::test]
async fn due_second_too_late_for_a_worker_is_left_to_the_next() {
    let harness = harness_with_slow_steps(8).await;
    let post = harness.schedule("Hello", later(11)).await;
    let message = harness.queue.take()[0].1;

    harness.deliver(message, 1).await;

    assert_eq!(harness.fake.calls(), 0);
    assert_eq!(harness.queue.take(), [(later(9), message)], "two seconds early, to be there when it is due");
    harness.deliver(message, 1).await;
    assert_eq!(*harness.fake.calls.lock().unwrap(), [later(11)]);
    assert_published_once(&harness, &post, "Hello").await;
}

#[tokio::test]
async fn slow_refresh_leaves_the_call_to_the_next_worker() {
    let mut harness = PublishingHarness::with(1, FakePlatform::default()).await;
    let clock = harness.clock.clone();
    let on_refresh = Some(Box::new(move || clock.advance(TimeDelta::seconds(25))) as _);
    harness.be(FakePlatform {
        refresh_policy: platforms::RefreshPolicy::Rotating,
        on_refresh,
        ..FakePlatform::default()
    });
    harness.reconnect(0, PublishingHarness::credentials(Some(later(30))), None).await;
    let post = harness.schedule("Hello", noon()).await;
    let message = harness.queue.take()[0].1;

    harness.deliver(message, 1).await;
    assert_eq!(harness.fake.calls(), 0, "it would be cut off");
    harness.live(later(60)).await;

    assert_eq!(*harness.fake.calls.lock().unwrap(), [later(25)]);
    assert_published_once(&harness, &post, "Hello").await;
}

#[tokio::test]
async fn intent_time_is_the_start_of_the_call() {
    let platform = FakePlatform { refresh_policy: platforms::RefreshPolicy::Rotating, ..FakePlatform::default() };
    let harness = PublishingHarness::with(1, platform.with_faults([PublishFault::LostCall])).await;
    harness.reconnect(0, PublishingHarness::credentials(Some(later(10))), None).await;
    let post = harness.schedule("Hello", noon()).await;
    let message = harness.queue.take().remove(0).1;
    let gate = harness.fake.hold_refresh();

    let slow = async {
        gate.entered().await;
        harness.clock.advance(TimeDelta::seconds(8));
        gate.open();
    };
    let (delivered, ()) = tokio::join!(harness.publishing.deliver(&harness.platforms, message), slow);

    delivered.unwrap();
    assert_eq!(harness.delivery(&post).await.intent.unwrap().at, later(8));
}
