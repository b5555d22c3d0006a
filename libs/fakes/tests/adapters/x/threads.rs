//! Threads: the rules of X for replies, and the look-up of one.

use super::X;
use crate::prelude::*;

#[tokio::test]
async fn reply_waits_until_its_parent_is_visible() {
    let (harness, account) = connected::<X>().await;
    let root = publish_text(&harness, &account, "one").await;
    harness.fake.shows_after(TimeDelta::seconds(20));
    let delivered = harness.deliver(&mut harness.reply(&account, (&root, &root), "two", Vec::new())).await.unwrap();

    assert!(delivered.errors.iter().all(|it| matches!(it, AttemptError::RetryLater { .. })), "{delivered:?}");
    assert!(!delivered.errors.is_empty());
    assert_eq!(harness.fake.public_posts()[1].reply_to.as_ref(), Some(&root.platform_post_id));
}

#[tokio::test]
async fn reply_to_a_deleted_post_is_refused() {
    let (harness, account) = connected::<X>().await;
    let root = publish_text(&harness, &account, "one").await;
    harness.fake.delete(&root.platform_post_id);
    let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());

    assert_matches!(harness.deliver(&mut reply).await, Err(AttemptError::Refused { .. }));
    assert!(harness.clock.now() < reply.publish_at + TimeDelta::minutes(5));
}

#[tokio::test]
async fn lost_reply_is_found_by_both_spellings_of_its_fields() {
    for is_renamed in [false, true] {
        let (harness, account) = connected::<X>().await;
        if is_renamed {
            harness.fake.rename_fields();
        }
        let root = publish_text(&harness, &account, "one").await;
        for files in [Vec::new(), vec![sample(MimeType::Png, 1)]] {
            let text = if files.is_empty() { "two" } else { "" };
            let mut reply = harness.reply(&account, (&root, &root), text, files);
            harness.prepare_all(&mut reply, &mut Vec::new()).await.unwrap();
            let began = harness.lose_outcome(&reply, InjectedFault::LoseResponse).await;
            harness.fake.publish_manual_posts(3);

            let found = harness.resolve(&reply, began).await;

            let Resolution::Found(found) = found else { panic!("{is_renamed}: {found:?}") };
            let public = harness.fake.public_posts();
            let is_it = public.iter().find(|it| it.id == found.platform_post_id).unwrap();
            assert_eq!((is_it.text.as_str(), is_it.reply_to.as_ref()), (text, Some(&root.platform_post_id)));
        }
    }
}

/// As if X accepted an equal text after a while.
#[tokio::test]
async fn equal_text_elsewhere_is_not_the_reply() {
    let (harness, account) = connected::<X>().await;
    let root = publish_text(&harness, &account, "one").await;
    let reply = harness.reply(&account, (&root, &root), "two", Vec::new());
    let began = harness.lose_outcome(&reply, InjectedFault::CutBefore).await;
    harness.fake.publish_manual_post("two");

    assert_eq!(harness.resolve(&reply, began).await, Resolution::NotFound);
}

#[tokio::test]
async fn reply_has_no_community_of_its_own() {
    let (harness, account) = connected::<X>().await;
    let root = publish_text(&harness, &account, "one").await;
    let mut reply = harness
        .reply(&account, (&root, &root), "two", Vec::new())
        .with(json!({ "community": "1506778371092570117", "made_with_ai": true }));

    harness.deliver(&mut reply).await.unwrap();

    let fields = harness.fake.latest_fields();
    assert_eq!((fields["community_id"].is_null(), fields["made_with_ai"].as_bool()), (true, Some(true)));
}
