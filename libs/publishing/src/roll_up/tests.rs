use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use cloud::queue::DeliveryMessage;
use domain::post::PostStatus;
use domain::testing::noon;

use crate::testing::{Network, PublishFault, Rig, later};

#[tokio::test]
async fn repeated_roll_up_changes_nothing() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", noon()).await;
    rig.live(noon()).await;
    let (before, events) = (rig.post(&post).await, rig.events.all());
    rig.clock.skip_to(later(60));

    for _ in 0..3 {
        rig.publishing.roll_up(post.user_id, post.post_id).await.unwrap();
    }

    assert_eq!(rig.post(&post).await, before);
    assert_eq!(rig.events.all(), events);
    assert_eq!((rig.counts().await.published, rig.pending(0).await), (1, 0));
}

#[tokio::test]
async fn concurrently_ended_targets_end_their_post_once() {
    let rig = Rig::with(30, Network::default()).await;
    let post = rig.schedule("Hello", noon()).await;
    let messages = rig.queue.take();
    assert_eq!(messages.len(), 30);

    let deliver = |message| {
        let (publishing, platforms) = (rig.publishing.clone(), rig.platforms.clone());
        tokio::spawn(async move { publishing.deliver(&platforms, message).await })
    };
    let workers: Vec<_> = messages.iter().map(|it| deliver(it.1)).collect();
    for worker in workers {
        worker.await.unwrap().unwrap();
    }

    assert_eq!(rig.post(&post).await.status, PostStatus::Published);
    assert_eq!(rig.network.calls(), 30);
    assert_eq!((rig.counts().await.published, rig.counts().await.count(None)), (1, 1));
    for account in 0..30 {
        assert_eq!(rig.pending(account).await, 0);
    }
    assert_eq!(rig.due().await, []);
    // Events are delivered at least once, and their ids identify them.
    let ids: BTreeSet<_> = rig.events.all().iter().map(|it| it.detail["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 1 + 30 + 1, "{ids:?}");
}

#[tokio::test]
async fn post_ends_with_its_last_target_and_fails_if_any_failed() {
    let rig = Rig::with(2, Network::default().with_faults([PublishFault::Refused, PublishFault::Busy(None)])).await;
    let post = rig.schedule("Hello", noon()).await;

    rig.live(later(2)).await;
    let between = rig.post(&post).await;
    assert_eq!(between.status, PostStatus::Scheduled, "no outcome is unknown");
    assert_eq!((rig.counts().await.scheduled, rig.pending(0).await, rig.pending(1).await), (1, 1, 1));
    rig.live(later(60)).await;

    let post = rig.post(&post).await;
    assert_eq!(post.status, PostStatus::Failed);
    let mut statuses: Vec<_> = post.targets.iter().map(|it| it.status.as_str()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["failed", "published"]);
    assert_eq!((rig.counts().await.failed, rig.pending(0).await, rig.pending(1).await), (1, 0, 0));
    let types = rig.events.types();
    assert_eq!(types, ["post.scheduled", "target.failed", "target.published", "post.failed"]);
}

#[tokio::test]
async fn refused_event_is_emitted_again_with_the_same_id() {
    let rig = Rig::new().await;
    let post = rig.schedule("Hello", later(1)).await;
    let delivery = rig.delivery(&post).await;
    rig.queue.take();
    rig.events.down.store(true, Ordering::SeqCst);
    rig.clock.skip_to(later(1));

    assert!(rig.publishing.deliver(&rig.platforms, DeliveryMessage::about(&delivery)).await.is_err());
    assert_eq!(rig.network.texts(), ["Hello"]);
    assert_eq!(rig.post(&post).await.status, PostStatus::Scheduled);
    rig.events.down.store(false, Ordering::SeqCst);
    rig.live(later(300)).await;

    assert_eq!(rig.post(&post).await.status, PostStatus::Published);
    assert_eq!(rig.network.calls(), 1);
    assert_eq!(rig.events.types(), ["post.scheduled", "target.published", "post.published"]);
    let id = rig.events.all()[1].detail["id"].clone();
    assert_eq!(id, format!("target.published:{}:{}:1", post.post_id, delivery.target_id));
}

#[tokio::test]
async fn missing_post_has_nothing_to_roll_up() {
    let rig = Rig::new().await;
    let nothing = rig.publishing.ids.fresh();

    rig.publishing.roll_up(rig.user.user_id, nothing).await.unwrap();

    assert_eq!(rig.counts().await.count(None), 0);
}
