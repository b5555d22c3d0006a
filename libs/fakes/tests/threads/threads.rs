//! Replies that continue a post.

use domain::delivery::Resolution;
use domain::media::MimeType;
use fakes::threads::Threads;
use platforms::Step;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::conformance::samples::sample;
use serde_json::json;

use super::harness;

#[tokio::test]
async fn container_of_a_reply_waits_for_its_parent() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "one", Vec::new());
    let root = harness.deliver(&mut post).await.unwrap().published;
    let before = harness.fake.containers();
    let mut reply = harness.reply(&account, (&root, &root), "", vec![sample(MimeType::Jpeg, 1)]);
    let reply_to = reply.reply_to.take();

    let prepared = loop {
        match harness.prepare(&reply).await.unwrap() {
            Step::Again { progress, at } => {
                reply.progress = Some(progress);
                harness.clock.skip_to(at);
            }
            other => break other,
        }
    };
    assert!(matches!(prepared, Step::NeedsParent { .. }), "{prepared:?}");
    assert_eq!(harness.fake.containers(), before);

    reply.reply_to = reply_to;
    harness.deliver(&mut reply).await.unwrap();
    assert_eq!(harness.fake.public_posts()[1].reply_to, Some(root.platform_post_id));
}

#[tokio::test]
async fn equal_reply_of_another_profile_is_not_ours() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "one", Vec::new());
    let root = harness.deliver(&mut post).await.unwrap().published;
    let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    harness.fake.add_reply_of_visitor(&root.platform_post_id, "two");

    let found = harness.deliver(&mut reply).await.unwrap().published;

    assert_eq!(harness.fake.public_posts().last().unwrap().id, found.platform_post_id);
    assert!(matches!(harness.resolve(&reply, harness.clock.now()).await, Resolution::Found(_)));
}

#[tokio::test]
async fn app_without_permissions_for_replies_has_no_threads() {
    let scopes = json!(["threads_basic", "threads_content_publish"]);
    let settings = |fake: &Threads| json!({ "url": fake.base_url(), "scopes": scopes });
    let harness: AdapterHarness<Threads> = AdapterHarness::with_settings(settings).await;

    let account = harness.connect().await;

    assert_eq!((account.scopes.len(), account.rules.max_thread), (2, 0));
}
