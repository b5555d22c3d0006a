use domain::post::Changes;
use domain::testing::text;

use super::*;

async fn thread(faults: impl IntoIterator<Item = PublishFault>) -> (PublishingHarness, Post) {
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults(faults)).await;
    let post = harness.schedule_thread(&["one", "two", "three"], None, noon()).await;
    (harness, post)
}

fn statuses(post: &Post) -> Vec<TargetStatus> {
    post.segment_views(&post.targets[0]).iter().map(|it| it.status).collect()
}

#[tokio::test]
async fn thread_is_public_at_once_and_in_order() {
    let (harness, post) = thread([]).await;

    harness.live(noon()).await;

    assert_eq!(harness.fake.texts(), ["one", "two", "three"]);
    let public = harness.fake.public.lock().unwrap().clone();
    let parents: Vec<_> = public.iter().map(|it| it.reply_to.clone()).collect();
    let reply = |root: &str, parent: &str| Some((root.to_owned(), parent.to_owned()));
    assert_eq!(parents, [None, reply("p1", "p1"), reply("p1", "p2")]);
    let mut references: Vec<_> = public.iter().map(|it| it.reference.as_str()).collect();
    references.dedup();
    assert_eq!(references.len(), 3, "each segment has its own");
    let now = harness.post(&post).await;
    assert_eq!((now.status, statuses(&now)), (PostStatus::Published, vec![TargetStatus::Published; 3]));
    assert_eq!(harness.events.types(), ["post.scheduled", "target.published", "post.published"]);
    assert_eq!((harness.pending(0).await, harness.due().await), (0, Vec::new()));
}

#[tokio::test]
async fn lost_response_in_the_middle_is_resolved_before_the_rest() {
    for fault in [PublishFault::LostResponse, PublishFault::LostCall] {
        let (harness, post) = thread([PublishFault::Public, fault.clone()]).await;

        harness.live(later(10)).await;
        if matches!(fault, PublishFault::LostCall) {
            let now = harness.post(&post).await;
            assert_eq!((now.status, now.targets[0].status), (PostStatus::Publishing, TargetStatus::Publishing));
            assert!(matches!(harness.rewrite(&post, "other").await, Changed::Invalid(_)), "a part of it is public");
        }
        harness.live(later(600)).await;

        assert_eq!(harness.fake.texts(), ["one", "two", "three"]);
        assert_eq!(harness.post(&post).await.status, PostStatus::Published);
    }
}

#[tokio::test]
async fn refused_reply_fails_the_post_and_a_new_time_continues() {
    let (harness, post) = thread([PublishFault::Public, PublishFault::Refused]).await;
    harness.live(later(10)).await;

    let failed = harness.post(&post).await;
    assert_eq!(failed.status, PostStatus::Failed);
    assert_eq!(statuses(&failed), [TargetStatus::Published, TargetStatus::Failed, TargetStatus::Pending]);
    let message = failed.targets[0].error_message.as_deref().unwrap();
    assert!(message.starts_with("1 of the 3 posts of this thread are public."), "{message}");
    let changes = Changes { text: Some(text("edited")), scheduled_at: Some(Some(later(60))), ..Changes::default() };
    assert!(matches!(harness.change(&post, changes).await, Changed::Done(_)));
    // Nothing of this revision is public, so it can still be changed.
    assert!(matches!(harness.reschedule(&post, Some(later(120))).await, Changed::Done(_)));
    assert!(matches!(harness.reschedule(&post, None).await, Changed::Invalid(_)), "a part of it is public");
    harness.live(later(300)).await;

    assert_eq!(harness.fake.texts(), ["one", "two", "three"]);
    let now = harness.post(&post).await;
    assert_eq!((now.status, statuses(&now)), (PostStatus::Published, vec![TargetStatus::Published; 3]));
}

#[tokio::test]
async fn thread_waits_for_its_account_and_continues_at_the_same_segment() {
    let (harness, post) = thread([PublishFault::Public, PublishFault::Gone]).await;
    harness.live(later(60)).await;

    assert!(harness.connection(0).await.connection.needs_reconnection);
    let waiting = harness.post(&post).await;
    let expected = [TargetStatus::Published, TargetStatus::Publishing, TargetStatus::Pending];
    assert_eq!(statuses(&waiting), expected);
    let message = waiting.targets[0].error_message.clone().unwrap();
    let expected = "1 of the 3 posts of this thread are public. Sandbox no longer accepts this connection: revoked. Connect \
                    the account again.";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!((harness.fake.texts(), harness.fake.calls()), (vec!["one".to_owned()], 2));
    harness.reconnect(0, PublishingHarness::credentials(None), None).await;
    harness.live(later(600)).await;

    assert_eq!(harness.fake.texts(), ["one", "two", "three"]);
    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
}

#[tokio::test]
async fn expired_access_token_between_two_segments_is_refreshed() {
    let platform = FakePlatform { refresh_policy: platforms::RefreshPolicy::Rotating, ..FakePlatform::default() };
    let harness = PublishingHarness::with(1, platform.with_faults([PublishFault::Public, PublishFault::Gone])).await;
    harness.reconnect(0, PublishingHarness::credentials(Some(later(7200))), None).await;
    let post = harness.schedule_thread(&["one", "two", "three"], None, noon()).await;

    harness.live(later(60)).await;

    assert_eq!(harness.fake.texts(), ["one", "two", "three"]);
    assert_eq!((harness.fake.calls(), *harness.fake.refreshes.lock().unwrap()), (4, 1));
    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
}

/// The worker publishes a segment while a change of the post is decided.
#[tokio::test]
async fn change_never_overtakes_a_public_segment() {
    let (harness, post) = thread([PublishFault::Public, PublishFault::Busy(None)]).await;
    let before = harness.post(&post).await;
    harness.live(later(1)).await;

    // The change was decided before the first segment was public.
    let changed = harness.scheduling.change_post(
        harness.user.user_id,
        before,
        Changes { text: Some(text("other")), ..Changes::default() },
    );

    assert!(matches!(changed.await.unwrap(), Changed::Invalid(_)));
    harness.live(later(600)).await;
    assert_eq!(harness.fake.texts(), ["one", "two", "three"]);
}

#[tokio::test]
async fn first_comment_follows_the_post() {
    let harness = PublishingHarness::new().await;
    let post = harness.schedule_thread(&["one", "two"], Some("see also"), noon()).await;

    harness.live(later(1)).await;

    assert_eq!(harness.fake.texts(), ["one", "two", "see also"]);
    let parent = harness.fake.public.lock().unwrap()[2].reply_to.clone();
    assert_eq!(parent, Some(("p1".to_owned(), "p1".to_owned())), "it is on the post");
    assert_eq!(harness.post(&post).await.status, PostStatus::Published);
}

#[tokio::test]
async fn refused_comment_is_reported_and_the_post_stays_published() {
    let faults = [PublishFault::Public, PublishFault::Refused];
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults(faults)).await;
    let post = harness.schedule_thread(&["one"], Some("see also"), noon()).await;

    harness.live(later(1)).await;

    let now = harness.post(&post).await;
    assert_eq!(
        (now.status, statuses(&now)),
        (PostStatus::Published, vec![TargetStatus::Published, TargetStatus::Failed])
    );
    let types = harness.events.types();
    assert_eq!(types, ["post.scheduled", "target.published", "post.published", "target.comment_failed"]);
    assert_eq!(harness.due().await, []);
}

#[tokio::test]
async fn comment_with_an_unknown_outcome_is_named_in_its_message() {
    let faults = [PublishFault::Public, PublishFault::LostCall];
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults(faults)).await;
    let advice = "look below the post".to_owned();
    harness.fake.resolutions.lock().unwrap().push_back(Resolution::Undeterminable { advice });
    let post = harness.schedule_thread(&["one"], Some("see also"), noon()).await;

    harness.live(later(60)).await;

    let now = harness.post(&post).await;
    assert_eq!(statuses(&now), [TargetStatus::Published, TargetStatus::Failed]);
    let message = now.targets[0].comment_error.clone().unwrap();
    assert!(message.starts_with("The comment may be public: look below the post. Look at the account"), "{message}");
    let attempts = harness.store.attempts(post.user_id, post.post_id, harness.clock.now()).await.unwrap();
    let messages: Vec<_> = attempts.iter().filter_map(|it| it.message.clone()).collect();
    assert!(messages.iter().any(|it| it.contains("did not confirm whether the comment is public")), "{messages:?}");
}

#[tokio::test]
async fn post_is_published_while_its_comment_waits() {
    let faults = [PublishFault::Public, PublishFault::Busy(Some(later(300)))];
    let harness = PublishingHarness::with(1, FakePlatform::default().with_faults(faults)).await;
    let post = harness.schedule_thread(&["one"], Some("see also"), noon()).await;

    harness.live(later(1)).await;
    let now = harness.post(&post).await;
    assert_eq!((now.status, now.targets[0].status), (PostStatus::Published, TargetStatus::Published));
    assert_eq!(statuses(&now), [TargetStatus::Published, TargetStatus::Pending]);
    assert_eq!(harness.pending(0).await, 0);
    harness.live(later(600)).await;

    assert_eq!(harness.fake.texts(), ["one", "see also"]);
    assert_eq!(statuses(&harness.post(&post).await), [TargetStatus::Published; 2]);
    assert_eq!(harness.events.types(), ["post.scheduled", "target.published", "post.published"]);
    assert_eq!(harness.due().await, []);
}
