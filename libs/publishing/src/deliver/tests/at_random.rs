//! Random sequences of everything that can happen.

use domain::delivery::RETRY_WINDOW;
use domain::testing::Dice;

use super::*;

#[tokio::test]
async fn random_events_publish_at_most_once_and_report_truly() {
    for seed in 0..6 {
        let mut dice = Dice(seed);
        let faults = [
            PublishFault::Public,
            PublishFault::Busy(None),
            PublishFault::LostResponse,
            PublishFault::LostCall,
            PublishFault::TheirError,
            PublishFault::Refused,
        ];
        let faults: Vec<_> = (0..60).map(|_| faults[dice.below(6)].clone()).collect();
        let harness = PublishingHarness::with(2, FakePlatform::default().with_faults(faults)).await;
        let mut posts = Vec::new();
        for index in 0..4 {
            let at = later(i64::try_from(dice.below(300)).unwrap());
            posts.push(harness.schedule(&format!("post {index}"), at).await);
        }
        for step in 1..40 {
            match dice.below(6) {
                0 => drop(harness.queue.take()),
                1 => {
                    let post = &posts[dice.below(posts.len())];
                    for delivery in harness.deliveries(post).await {
                        harness.deliver(DeliveryMessage::for_delivery(&delivery), 3).await;
                    }
                }
                2 => {
                    let post = &posts[dice.below(posts.len())];
                    harness.rewrite(post, &format!("post {} at {step}", post.post_id)).await;
                }
                _ => {}
            }
            harness.live(later(step * 20)).await;
        }
        harness.live(later(7200) + RETRY_WINDOW).await;

        let public = harness.fake.public.lock().unwrap().clone();
        for post in &posts {
            let post = harness.post(post).await;
            for delivery in harness.deliveries(&post).await {
                let reference_prefix = format!("{}-{}-", delivery.post_id, delivery.target_id);
                let texts: Vec<_> = public.iter().filter(|it| it.reference.starts_with(&reference_prefix)).collect();
                let target = post.target(delivery.target_id).unwrap();
                match delivery.state {
                    State::Published => {
                        assert_eq!(texts.len(), 1, "seed {seed}: {texts:?}");
                        assert_eq!(texts[0].text, post.text_of(target).as_str(), "seed {seed}");
                    }
                    State::Failed { .. } => assert_eq!(texts.len(), 0, "seed {seed}: {texts:?}"),
                    State::Waiting => panic!("seed {seed}: {delivery:?}"),
                }
            }
            assert!(matches!(post.status, PostStatus::Published | PostStatus::Failed), "seed {seed}");
        }
        assert_eq!((harness.pending(0).await, harness.pending(1).await), (0, 0), "seed {seed}");
        let counts = harness.counts().await;
        assert_eq!((counts.published + counts.failed, counts.count(None)), (4, 4), "seed {seed}");
        assert_eq!(harness.due().await, [], "seed {seed}");
    }
}
