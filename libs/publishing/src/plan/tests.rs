use std::sync::atomic::Ordering;

use domain::delivery::{ENQUEUE_WINDOW, LEASE_DURATION};
use domain::post::PostStatus;
use domain::testing::noon;

use super::*;
use crate::testing::{Rig, TICK, later};

#[tokio::test]
async fn distant_delivery_is_planned_in_time() {
    let rig = Rig::new().await;
    rig.schedule("Hello", later(1000)).await;
    assert_eq!(rig.queue.take(), [], "left to the sweep");
    assert_eq!(rig.publishing.plan().await.unwrap(), Planned::default());

    rig.clock.skip_to(later(1000) - PLAN_WINDOW);
    let planned = rig.publishing.plan().await.unwrap();

    assert_eq!(planned, Planned { count: 1, oldest_overdue: TimeDelta::zero() });
    assert_eq!(rig.queue.take().iter().map(|it| it.0).collect::<Vec<_>>(), [later(998)]);
    assert_eq!(rig.due().await[0].due_at, later(1000), "nothing was written to it");
    assert_eq!(rig.publishing.plan().await.unwrap().count, 0, "planned once");
}

#[tokio::test]
async fn imminent_delivery_is_queued_at_once_and_swept() {
    let rig = Rig::new().await;
    rig.schedule("Hello", noon() + ENQUEUE_WINDOW).await;

    assert_eq!(rig.queue.take().iter().map(|it| it.0).collect::<Vec<_>>(), [later(238)]);
    assert_eq!(rig.due().await[0].due_at, later(240));
}

#[tokio::test]
async fn lost_message_makes_a_post_late_and_reports_the_delay() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(30)).await;
    rig.queue.take();
    rig.clock.skip_to(later(30) + OVERDUE_CHECK_INTERVAL);

    let planned = rig.publishing.plan().await.unwrap();

    assert_eq!(planned, Planned { count: 1, oldest_overdue: OVERDUE_CHECK_INTERVAL });
    rig.live(later(30) + OVERDUE_CHECK_INTERVAL).await;
    assert_eq!(rig.post(&post).await.status, PostStatus::Published);
}

#[tokio::test]
async fn post_is_published_although_every_message_is_lost() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(400)).await;

    for minute in 0..9 {
        rig.live(later(minute * 60)).await;
        rig.queue.take();
    }
    rig.live(later(400) + OVERDUE_CHECK_INTERVAL + TICK * 2).await;

    assert_eq!(rig.network.texts(), ["Hello"]);
    assert_eq!(rig.post(&post).await.status, PostStatus::Published);
}

#[tokio::test]
async fn post_is_accepted_and_published_despite_a_queue_outage() {
    let rig = Rig::new().await;
    rig.queue.down.store(true, Ordering::SeqCst);

    let post = rig.schedule("Hello", later(10)).await;
    rig.clock.skip_to(later(10) + OVERDUE_CHECK_INTERVAL);
    assert!(rig.publishing.plan().await.is_err());
    assert_eq!(rig.due().await[0].due_at, later(10), "still due");
    rig.queue.down.store(false, Ordering::SeqCst);
    rig.live(later(200)).await;

    assert_eq!(rig.network.texts(), ["Hello"]);
    assert_eq!(rig.post(&post).await.status, PostStatus::Published);
}

#[tokio::test]
async fn concurrent_ticks_publish_once() {
    let rig = Rig::new().await;
    rig.schedule("Hello", later(1000)).await;
    rig.clock.skip_to(later(900));

    let (one, other) = tokio::join!(rig.publishing.plan(), rig.publishing.plan());
    assert!(0 < one.unwrap().count + other.unwrap().count);
    rig.live(later(2000)).await;

    assert_eq!(rig.network.texts(), ["Hello"]);
}

#[tokio::test]
async fn lost_queue_is_planned_anew() {
    let rig = Rig::new().await;
    rig.schedule("near", later(100)).await;
    rig.schedule("far", later(9000)).await;
    rig.queue.take();

    let planned = rig.publishing.plan_anew().await.unwrap();

    assert_eq!(planned.count, 1);
    rig.live(later(110)).await;
    assert_eq!(rig.network.texts(), ["near"]);
    assert_eq!(*rig.network.calls.lock().unwrap(), [later(100)], "on time all the same");
}

#[tokio::test]
async fn delivery_of_a_dead_worker_continues_after_its_lease() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    let delivery = rig.delivery(&post).await;
    rig.leave(&delivery, delivery.clone().open_intent(noon())).await;
    rig.queue.take();

    rig.publishing.plan_anew().await.unwrap();
    rig.live(noon() + LEASE_DURATION + TimeDelta::seconds(10)).await;

    assert_eq!(rig.network.texts(), ["Hello"]);
    assert_eq!(rig.post(&post).await.status, PostStatus::Published);
}
