use fakes::facebook::Facebook;

use super::{a_post, harness};
use crate::prelude::*;

#[tokio::test]
async fn comment_on_a_video_waits_until_it_is_public() {
    let (harness, account) = harness().await;
    let mut post = a_post(&harness, &account, vec![sample(MimeType::Mp4, 1)], &[]);
    let published = harness.deliver(&mut post).await.unwrap().published;
    let mut comment = harness.comment(&account, &published, "first!");

    let Step::Again { progress, at } = harness.prepare(&comment).await.unwrap() else {
        panic!("the video is not there yet")
    };
    let early = harness.publish(&comment).await;
    assert!(matches!(early, Err(AttemptError::RetryLater { .. })), "{early:?}");
    comment.progress = Some(progress);
    harness.clock.skip_to(at);

    assert!(matches!(harness.prepare(&comment).await.unwrap(), Step::Ready { .. }));
    harness.publish(&comment).await.unwrap();
    assert_eq!(Facebook::comments(&harness.fake), [(published.platform_post_id, "first!".to_owned())]);
}

#[tokio::test]
async fn comment_is_prepared_once_its_post_is_public() {
    let (harness, account) = harness().await;
    let mut post = a_post(&harness, &account, Vec::new(), &[]);
    let published = harness.deliver(&mut post).await.unwrap().published;
    let mut comment = harness.comment(&account, &published, "first!");
    let reply_to = comment.reply_to.take();

    assert!(matches!(harness.prepare(&comment).await.unwrap(), Step::NeedsParent { .. }));
    comment.reply_to = reply_to;
    assert!(matches!(harness.prepare(&comment).await.unwrap(), Step::Ready { .. }));
}

#[tokio::test]
async fn equal_comment_of_another_account_is_not_ours() {
    let (harness, account) = harness().await;
    let mut post = a_post(&harness, &account, Vec::new(), &[]);
    let published = harness.deliver(&mut post).await.unwrap().published;
    harness.fake.add_comment_of_visitor(&published.platform_post_id, "first!");
    harness.fake.inject_fault(Call::Publish, InjectedFault::CutBefore, 1);
    let mut comment = harness.comment(&account, &published, "first!");

    let made = harness.deliver(&mut comment).await.unwrap();

    assert_eq!((made.errors.len(), harness.fake.comments().len()), (1, 2));
}
