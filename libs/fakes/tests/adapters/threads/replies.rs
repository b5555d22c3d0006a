//! Replies that continue a post.

use fakes::threads::Threads;

use super::harness;
use crate::prelude::*;

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
