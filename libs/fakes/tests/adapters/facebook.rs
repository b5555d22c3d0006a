//! Behavior specific to Facebook.

mod connecting;
mod lost_responses;
mod posts;
mod videos;

use fakes::facebook::Facebook;

use crate::prelude::*;

/// A video of three parts.
fn long_video() -> Sample {
    sample_with_size(MimeType::Mp4, 9 << 20)
}

fn a_post<'a>(
    harness: &AdapterHarness<Facebook>,
    account: &'a Account,
    files: Vec<Sample>,
    options: Value,
) -> Post<'a> {
    harness.post(account, "from the harbour", files).with(options)
}

#[tokio::test]
async fn comment_on_a_video_waits_until_it_is_public() {
    let (harness, account) = connected::<Facebook>().await;
    let mut post = a_post(&harness, &account, vec![sample(MimeType::Mp4, 1)], json!({}));
    let published = harness.deliver(&mut post).await.unwrap().published;
    let mut comment = harness.comment(&account, &published, "first!");

    let Step::Again { progress, at } = harness.prepare(&comment).await.unwrap() else {
        panic!("the video is not there yet")
    };
    assert_matches!(harness.publish(&comment).await, Err(AttemptError::RetryLater { .. }));
    comment.progress = Some(progress);
    harness.clock.skip_to(at);

    assert_matches!(harness.prepare(&comment).await.unwrap(), Step::Ready { .. });
    harness.publish(&comment).await.unwrap();
    assert_eq!(Facebook::comments(&harness.fake), [(published.platform_post_id, "first!".to_owned())]);
}

#[tokio::test]
async fn comment_is_prepared_once_its_post_is_public() {
    let (harness, account) = connected::<Facebook>().await;
    let published = harness.deliver(&mut a_post(&harness, &account, Vec::new(), json!({}))).await.unwrap().published;
    let mut comment = harness.comment(&account, &published, "first!");
    let reply_to = comment.reply_to.take();

    assert_matches!(harness.prepare(&comment).await.unwrap(), Step::NeedsParent { .. });
    comment.reply_to = reply_to;
    assert_matches!(harness.prepare(&comment).await.unwrap(), Step::Ready { .. });
}

#[tokio::test]
async fn equal_comment_of_another_account_is_not_ours() {
    let (harness, account) = connected::<Facebook>().await;
    let published = harness.deliver(&mut a_post(&harness, &account, Vec::new(), json!({}))).await.unwrap().published;
    harness.fake.add_comment_of_visitor(&published.platform_post_id, "first!");
    harness.fake.inject_fault(Call::Publish, InjectedFault::CutBefore, 1);
    let made = harness.deliver(&mut harness.comment(&account, &published, "first!")).await.unwrap();

    assert_eq!((made.errors.len(), harness.fake.comments().len()), (1, 2));
}
