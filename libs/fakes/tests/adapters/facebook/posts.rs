//! Texts, links and pictures, and the rules of each kind of post.

use domain::media::Attachment;
use domain::text::PostText;
use fakes::facebook::PAGE;

use super::{Facebook, a_post};
use crate::prelude::*;

#[tokio::test]
async fn link_has_a_card_without_files() {
    let (harness, account) = connected::<Facebook>().await;
    let mut post = a_post(&harness, &account, Vec::new(), json!({ "link": "https://harbour.example/tides" }));
    let published = harness.deliver(&mut post).await.unwrap().published;
    assert_eq!(harness.fake.latest_link().as_deref(), Some("https://harbour.example/tides"));
    let number = published.platform_post_id.split_once('_').unwrap().1;
    assert_eq!(published.url, Some(format!("https://www.facebook.com/{PAGE}/posts/{number}")));
}

#[tokio::test]
async fn image_over_four_megabytes_is_resized() {
    let (harness, account) = connected::<Facebook>().await;
    let mut post = harness.post(&account, "a large one", vec![sample_with_size(MimeType::Png, 4_000_001)]);

    harness.deliver(&mut post).await.unwrap();

    assert!(harness.fake.public_posts()[0].media[0].bytes.len() <= 4_000_000);
}

#[tokio::test]
async fn uploaded_image_is_not_sent_again() {
    let (harness, account) = connected::<Facebook>().await;
    let files = vec![sample(MimeType::Png, 1), sample(MimeType::Jpeg, 2)];
    let mut post = harness.post(&account, "two", files.clone());
    harness.clock.skip_to(post.publish_at - harness.lead(&[files[0].attachment.clone()]).unwrap());
    take_step(&harness, &mut post).await;
    harness.fake.inject_fault(Call::Upload, InjectedFault::ServerError, 1);
    let error = harness.prepare(&post).await.unwrap_err();
    let place = "file 2 of 2 (image/jpeg): ";
    assert_matches!(&error, AttemptError::RetryLater { reason, .. } if reason.starts_with(place));

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.photos(), 2);
}

/// Facebook deletes them after a day, or earlier.
#[tokio::test]
async fn file_that_waited_too_long_is_uploaded_again() {
    for (mime_type, hours) in [(MimeType::Png, 2), (MimeType::Png, 23), (MimeType::Mp4, 23)] {
        let (harness, account) = connected::<Facebook>().await;
        let mut post = harness.due(&account, "late", vec![sample(mime_type, 1)]).await;
        harness.clock.advance(TimeDelta::hours(hours));
        if hours == 2 {
            harness.fake.forgets_uploads();
        }

        assert_matches!(harness.publish(&post).await, Err(AttemptError::PreparationExpired { .. }));
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.public_posts().len(), 1);
    }
}

#[tokio::test]
async fn kind_decides_which_rules_apply() {
    use MimeType::{Gif, Mp4, Png};
    let (_, account) = connected::<Facebook>().await;
    let text = PostText::parse("from the harbour").unwrap();
    for (types, given, field) in [
        (vec![Png, Mp4], json!({}), Some("media")),
        (vec![Png], json!({ "link": "https://harbour.example" }), Some("media")),
        (vec![Png], json!({ "title": "The ferry" }), Some("options.title")),
        (vec![], json!({ "kind": "story" }), Some("media")),
        (vec![Png, Gif], json!({ "kind": "story" }), Some("media")),
        (vec![Mp4], json!({ "kind": "story", "title": "The ferry" }), Some("options.title")),
        (vec![Mp4], json!({ "kind": "story", "first_comment": "first!" }), Some("options.first_comment")),
        (vec![Mp4], json!({ "kind": "story" }), None),
        (vec![Png], json!({ "kind": "reel" }), Some("media")),
        (vec![Mp4], json!({ "kind": "reel", "title": "The ferry" }), None),
    ] {
        let files: Vec<Attachment> = (1..).zip(&types).map(|(number, it)| sample(*it, number).attachment).collect();
        let errors = account.rules.breaches(&text, &files, &options(given.clone()));
        assert_eq!(errors.first().map(|it| &*it.field), field, "{types:?} {given:?}: {errors:?}");
    }
}

/// Longer than the text of the conformance suite.
#[tokio::test]
async fn longest_text_is_accepted() {
    let (harness, account) = connected::<Facebook>().await;
    let longest = "漢".repeat(63_206);
    harness.deliver(&mut harness.post(&account, &longest, Vec::new())).await.unwrap();

    let longer = PostText::parse(&format!("{longest}x")).unwrap();
    assert_eq!(account.rules.breaches(&longer, &[], Options::NONE).len(), 1);
}
