use std::sync::atomic::Ordering;

use domain::delivery::{ENQUEUE_WINDOW, LEASE_DURATION};
use domain::post::PostStatus;
use domain::testing::noon;

use super::*;
use crate::testing::{PublishingHarness, TICK, later};

#[tokio::test]
async fn distant_delivery_is_planned_in_time() {
    let harness = PublishingHarness::new().await;
    harness.schedule("Hello", later(1000)).await;
    assert_eq!(harness.queue.take(), [], "left to the sweep");
    assert_eq!(harness.planner().plan().await.unwrap(), Planned::default());

    harness.clock.skip_to(later(1000) - PLAN_WINDOW);
    let planned = harness.planner().plan().await.unwrap();

    assert_eq!(planned, Planned { count: 1, oldest_overdue: TimeDelta::zero() });
    assert_eq!(harness.queue.take().iter().map(|it| it.0).collect::<Vec<_>>(), [later(998)]);
    assert_eq!(harness.due().await[0].due_at, later(1000), "nothing was written to it");
    assert_eq!(harness.planner().plan().await.unwrap().count, 0, "planned once");
}

#[tokio::test]
async fn imminent_delivery_is_queued_at_once_and_swept() {
    let harness = PublishingHarness::new().await;
    harness.schedule("Hello", noon() + ENQUEUE_WINDOW).await;

    assert_eq!(harness.queue.take().iter().map(|it| it.0).collect::<Vec<_>>(), [later(238)]);
    assert_eq!(harness.due().await[0].due_at, later(240));
}

#[tokio::test]
async fn lost_message_makes_a_post_late_and_reports_the_delay() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", later(30)).await;
    harness.queue.take();
    harness.clock.skip_to(later(30) + OVERDUE_CHECK_INTERVAL);

    let planned = harness.planner().plan().await.unwrap();

    assert_eq!(planned, Planned { count: 1, oldest_overdue: OVERDUE_CHECK_INTERVAL });
    harness.live(later(30) + OVERDUE_CHECK_INTERVAL).await;
    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
}

#[tokio::test]
async fn post_is_published_although_every_message_is_lost() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", later(400)).await;

    for minute in 0..9 {
        harness.live(later(minute * 60)).await;
        harness.queue.take();
    }
    harness.live(later(400) + OVERDUE_CHECK_INTERVAL + TICK * 2).await;

    assert_eq!(harness.fake.texts(), ["Hello"]);
    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
}

#[tokio::test]
async fn post_is_accepted_and_published_despite_a_queue_outage() {
    let harness = PublishingHarness::new().await;
    harness.queue.down.store(true, Ordering::SeqCst);

    let post = harness.schedule("Hello", later(10)).await;
    harness.clock.skip_to(later(10) + OVERDUE_CHECK_INTERVAL);
    assert!(harness.planner().plan().await.is_err());
    assert_eq!(harness.due().await[0].due_at, later(10), "still due");
    harness.queue.down.store(false, Ordering::SeqCst);
    harness.live(later(200)).await;

    assert_eq!(harness.fake.texts(), ["Hello"]);
    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
}

#[tokio::test]
async fn concurrent_ticks_publish_once() {
    let harness = PublishingHarness::new().await;
    harness.schedule("Hello", later(1000)).await;
    harness.clock.skip_to(later(900));

    let planner = harness.planner();
    let (one, other) = tokio::join!(planner.plan(), planner.plan());
    assert!(0 < one.unwrap().count + other.unwrap().count);
    harness.live(later(2000)).await;

    assert_eq!(harness.fake.texts(), ["Hello"]);
}

#[tokio::test]
async fn messages_of_a_lost_queue_are_planned_again() {
    let harness = PublishingHarness::new().await;
    harness.schedule("near", later(100)).await;
    harness.schedule("far", later(9000)).await;
    harness.queue.take();

    let planned = harness.planner().plan_anew().await.unwrap();

    assert_eq!(planned.count, 1);
    harness.live(later(110)).await;
    assert_eq!(harness.fake.texts(), ["near"]);
    assert_eq!(*harness.fake.calls.lock().unwrap(), [later(100)], "on time all the same");
}

#[tokio::test]
async fn delivery_of_a_dead_worker_continues_after_its_lease() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", noon()).await;
    let delivery = harness.delivery(&post).await;
    harness.leave(&delivery, delivery.clone().open_intent(noon())).await;
    harness.queue.take();

    harness.planner().plan_anew().await.unwrap();
    harness.live(noon() + LEASE_DURATION + TimeDelta::seconds(10)).await;

    assert_eq!(harness.fake.texts(), ["Hello"]);
    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
}
