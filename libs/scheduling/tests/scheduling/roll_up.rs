use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use cloud::queue::DeliveryMessage;
use domain::post::PostStatus;
use domain::testing::noon;
use publishing::testing::{FakePlatform, PublishFault, PublishingHarness, later};

#[tokio::test]
async fn repeated_roll_up_changes_nothing() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", noon()).await;
    harness.live(noon()).await;
    let (before, events) = (harness.post(&post).await, harness.events.all());
    harness.clock.skip_to(later(60));

    for _ in 0..3 {
        harness.publishing.roll_ups.roll_up(post.user_id, post.post_id).await.unwrap();
    }

    assert_eq!(harness.post(&post).await, before);
    assert_eq!(harness.events.all(), events);
    assert_eq!((harness.counts().await.published, harness.pending(0).await), (1, 0));
}

#[tokio::test]
async fn concurrently_ended_targets_end_their_post_once() {
    let harness = PublishingHarness::with(30, FakePlatform::default()).await;
    let post = harness.schedule("Hello", noon()).await;
    let messages = harness.queue.take();
    assert_eq!(messages.len(), 30);

    let deliver = |message| {
        let (publishing, platforms) = (harness.publishing.clone(), harness.platforms.clone());
        tokio::spawn(async move { publishing.deliver(&platforms, message).await })
    };
    let workers: Vec<_> = messages.iter().map(|it| deliver(it.1)).collect();
    for worker in workers {
        worker.await.unwrap().unwrap();
    }

    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
    assert_eq!(harness.fake.calls(), 30);
    assert_eq!((harness.counts().await.published, harness.counts().await.count(None)), (1, 1));
    for account in 0..30 {
        assert_eq!(harness.pending(account).await, 0);
    }
    assert_eq!(harness.due().await, []);
    // Events are delivered at least once, and their ids identify them.
    let ids: BTreeSet<_> = harness.events.all().iter().map(|it| it.detail["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 1 + 30 + 1, "{ids:?}");
}

#[tokio::test]
async fn post_ends_with_its_last_target_and_fails_if_any_failed() {
    let harness = PublishingHarness::with(
        2,
        FakePlatform::default().with_faults([PublishFault::Refused, PublishFault::Busy(None)]),
    )
    .await;
    let post = harness.schedule("Hello", noon()).await;

    harness.live(later(2)).await;
    let between = harness.post(&post).await;
    assert_eq!(between.status, PostStatus::Scheduled, "no outcome is unknown");
    assert_eq!((harness.counts().await.scheduled, harness.pending(0).await, harness.pending(1).await), (1, 1, 1));
    harness.live(later(60)).await;

    let post = harness.post(&post).await;
    assert_eq!(post.status, PostStatus::Failed);
    let mut statuses: Vec<_> = post.targets.iter().map(|it| it.status.as_str()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["failed", "published"]);
    assert_eq!((harness.counts().await.failed, harness.pending(0).await, harness.pending(1).await), (1, 0, 0));
    let types = harness.events.types();
    assert_eq!(types, ["post.scheduled", "target.failed", "target.published", "post.failed"]);
}

#[tokio::test]
async fn refused_event_is_emitted_again_with_the_same_id() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule("Hello", later(1)).await;
    let delivery = harness.delivery(&post).await;
    harness.queue.take();
    harness.events.down.store(true, Ordering::SeqCst);
    harness.clock.skip_to(later(1));

    assert!(harness.publishing.deliver(&harness.platforms, DeliveryMessage::for_delivery(&delivery)).await.is_err());
    assert_eq!(harness.fake.texts(), ["Hello"]);
    assert_eq!(harness.post(&post).await.status, PostStatus::Scheduled);
    harness.events.down.store(false, Ordering::SeqCst);
    harness.live(later(300)).await;

    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
    assert_eq!(harness.fake.calls(), 1);
    assert_eq!(harness.events.types(), ["post.scheduled", "target.published", "post.published"]);
    let id = harness.events.all()[1].detail["id"].clone();
    assert_eq!(id, format!("target.published:{}:{}:1", post.post_id, delivery.target_id));
}

#[tokio::test]
async fn missing_post_has_nothing_to_roll_up() {
    let harness = PublishingHarness::new().await;
    let nothing = harness.scheduling.ids.fresh();

    harness.publishing.roll_ups.roll_up(harness.user.user_id, nothing).await.unwrap();

    assert_eq!(harness.counts().await.count(None), 0);
}
