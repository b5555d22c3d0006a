//! Which steps a worker starts, and which it leaves to the next one.

use super::*;

/// A platform that prepares for ten minutes, in steps of this many seconds.
async fn rig_with_slow_steps(seconds: i64) -> Rig {
    let mut rig = Rig::new().await;
    let clock = rig.clock.clone();
    let on_step = Some(Box::new(move || clock.advance(TimeDelta::seconds(seconds))) as _);
    rig.be(Network { lead: Some(TimeDelta::minutes(10)), on_step, ..Network::default() });
    rig
}

#[tokio::test]
async fn worker_starts_no_step_after_its_start_window() {
    let rig = rig_with_slow_steps(9).await;
    let again = |progress: &str| Ok(Step::Again { progress: progress.to_owned(), at: noon() });
    rig.network.steps.lock().unwrap().extend(["one", "two", "three"].map(again));
    let post = rig.schedule("Hello", later(600)).await;
    rig.clock.skip_to(later(5));
    let message = rig.queue.take()[0].1;

    // Two steps use up its time, and the next worker continues.
    rig.deliver(message, 1).await;
    assert_eq!(rig.network.prepared.lock().unwrap().len(), 2);
    assert!(!rig.delivery(&post).await.is_prepared);
    let waiting = rig.queue.take();
    assert_eq!(waiting, [(rig.clock.now(), message)]);
    rig.deliver(message, 1).await;
    rig.live(later(700)).await;

    assert_eq!(rig.network.prepared.lock().unwrap().len(), 4);
    assert_eq!(*rig.network.calls.lock().unwrap(), [later(600)]);
    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn due_second_too_late_for_a_worker_is_left_to_the_next() {
    let rig = rig_with_slow_steps(8).await;
    let post = rig.schedule("Hello", later(11)).await;
    let message = rig.queue.take()[0].1;

    rig.deliver(message, 1).await;

    assert_eq!(rig.network.calls(), 0);
    assert_eq!(rig.queue.take(), [(later(9), message)], "two seconds early, to be there when it is due");
    rig.deliver(message, 1).await;
    assert_eq!(*rig.network.calls.lock().unwrap(), [later(11)]);
    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn slow_refresh_leaves_the_call_to_the_next_worker() {
    let mut rig = Rig::with(1, Network::default()).await;
    let clock = rig.clock.clone();
    let on_renewal = Some(Box::new(move || clock.advance(TimeDelta::seconds(25))) as _);
    rig.be(Network { renewal: platforms::RefreshPolicy::Rotating, on_renewal, ..Network::default() });
    rig.reconnect(0, Rig::credentials(Some(later(30))), None).await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take()[0].1;

    rig.deliver(message, 1).await;
    assert_eq!(rig.network.calls(), 0, "it would be cut off");
    rig.live(later(60)).await;

    assert_eq!(*rig.network.calls.lock().unwrap(), [later(25)]);
    assert_published_once(&rig, &post, "Hello").await;
}

#[tokio::test]
async fn intent_time_is_the_start_of_the_call() {
    let platform = Network { renewal: platforms::RefreshPolicy::Rotating, ..Network::default() };
    let rig = Rig::with(1, platform.with_faults([PublishFault::LostCall])).await;
    rig.reconnect(0, Rig::credentials(Some(later(10))), None).await;
    let post = rig.schedule("Hello", noon()).await;
    let message = rig.queue.take().remove(0).1;
    let gate = rig.network.hold_refresh();

    let slow = async {
        gate.entered().await;
        rig.clock.advance(TimeDelta::seconds(8));
        gate.open();
    };
    let (delivered, ()) = tokio::join!(rig.publishing.deliver(&rig.platforms, message), slow);

    delivered.unwrap();
    assert_eq!(rig.delivery(&post).await.intent.unwrap().at, later(8));
}
