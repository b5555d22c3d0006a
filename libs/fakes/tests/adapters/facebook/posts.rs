//! Texts, links and pictures.

use fakes::facebook::PAGE;

use super::{a_post, harness};
use crate::prelude::*;

#[tokio::test]
async fn a_link_has_a_card_where_there_are_no_files() {
    let (harness, account) = harness().await;
    let mut post = a_post(&harness, &account, Vec::new(), &[("link", "https://harbour.example/tides")]);
    let published = harness.deliver(&mut post).await.unwrap().published;
    assert_eq!(harness.fake.latest_link().as_deref(), Some("https://harbour.example/tides"));
    let number = published.platform_post_id.split_once('_').unwrap().1;
    assert_eq!(published.url, Some(format!("https://www.facebook.com/{PAGE}/posts/{number}")));
}

#[tokio::test]
async fn a_picture_over_four_megabytes_is_made_smaller() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "a large one", vec![sample_with_size(MimeType::Png, 4_000_001)]);

    harness.deliver(&mut post).await.unwrap();

    assert!(harness.fake.public_posts()[0].media[0].bytes.len() <= 4_000_000);
}

#[tokio::test]
async fn a_picture_that_arrived_is_not_sent_again() {
    let (harness, account) = harness().await;
    let files = vec![sample(MimeType::Png, 1), sample(MimeType::Jpeg, 2)];
    let mut post = harness.post(&account, "two", files.clone());
    harness.clock.skip_to(post.publish_at - harness.lead(&[files[0].attachment.clone()]).unwrap());
    let Step::Again { progress, .. } = harness.prepare(&post).await.unwrap() else { panic!("there are two") };
    post.progress = Some(progress);
    harness.fake.inject_fault(Call::Upload, InjectedFault::ServerError, 1);
    let error = harness.prepare(&post).await.unwrap_err();
    let place = "file 2 of 2 (image/jpeg): ";
    assert!(matches!(&error, AttemptError::RetryLater { reason, .. } if reason.starts_with(place)), "{error:?}");

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.photos(), 2);
}

/// Facebook deletes them after a day, or earlier.
#[tokio::test]
async fn file_that_waited_too_long_is_uploaded_again() {
    for (mime_type, hours) in [(MimeType::Png, 2), (MimeType::Png, 23), (MimeType::Mp4, 23)] {
        let (harness, account) = harness().await;
        let mut post = harness.due(&account, "late", vec![sample(mime_type, 1)]).await;
        harness.clock.advance(TimeDelta::hours(hours));
        if hours == 2 {
            harness.fake.forgets_uploads();
        }

        let error = harness.publish(&post).await.unwrap_err();

        assert!(matches!(error, AttemptError::PreparationExpired { .. }), "{error:?}");
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.public_posts().len(), 1);
    }
}
