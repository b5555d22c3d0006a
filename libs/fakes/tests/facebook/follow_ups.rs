//! The first comment.

use domain::delivery::AttemptError;
use domain::media::MimeType;
use platforms::Followed;
use platforms::conformance::samples::sample;

use crate::{a_post, harness};

const FIRST: &str = "first_comment";

#[tokio::test]
async fn a_comment_is_added_under_the_post() {
    let (harness, account) = harness().await;
    let mut post = a_post(&harness, &account, Vec::new(), &[(FIRST, "first!")]);
    let published = harness.deliver(&mut post).await.unwrap().published;

    assert_eq!(harness.follow_up(&post, FIRST, &published).await.unwrap(), Followed::Done);

    assert_eq!(harness.fake.comments(), [(published.platform_post_id, "first!".to_owned())]);
}

#[tokio::test]
async fn under_a_video_it_waits_until_that_is_there() {
    let (harness, account) = harness().await;
    let mut post = a_post(&harness, &account, vec![sample(MimeType::Mp4, 1)], &[(FIRST, "first!")]);
    let published = harness.deliver(&mut post).await.unwrap().published;

    let Followed::Again { at, .. } = harness.follow_up(&post, FIRST, &published).await.unwrap() else {
        panic!("the video is not there yet")
    };
    assert!(harness.fake.comments().is_empty());
    harness.clock.skip_to(at);

    assert_eq!(harness.follow_up(&post, FIRST, &published).await.unwrap(), Followed::Done);
    assert_eq!(harness.fake.comments().len(), 1);
}

#[tokio::test]
async fn without_the_permission_it_is_left_out() {
    let (harness, account) = harness().await;
    let mut post = a_post(&harness, &account, Vec::new(), &[(FIRST, "first!")]);
    let published = harness.deliver(&mut post).await.unwrap().published;
    harness.fake.declines(&["pages_manage_engagement"]);

    let error = harness.follow_up(&post, FIRST, &published).await.unwrap_err();

    assert!(
        matches!(&error, AttemptError::Unauthorized { reason } if reason.contains("pages_manage_engagement")),
        "{error:?}"
    );
    assert_eq!(harness.follow_up(&post, "another", &published).await.unwrap(), Followed::Done);
}
