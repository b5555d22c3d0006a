//! Pictures and videos.

use domain::delivery::AttemptError;
use domain::media::{AltText, MimeType};
use domain::options::OptionValue;
use http::Method;
use platforms::Step;
use platforms::conformance::fake_platform::FakePlatform;
use platforms::conformance::samples::{Sample, sample};

use super::{harness, options};

fn described(mime_type: MimeType, words: &str) -> Sample {
    let mut file = sample(mime_type, 1);
    file.attachment.alt_text = Some(AltText::parse(words).unwrap());
    file
}

#[tokio::test]
async fn before_the_post_nobody_sees_its_files() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "not yet", vec![sample(MimeType::Png, 1), sample(MimeType::Mp4, 2)]);
    harness.clock.skip_to(post.publish_at - harness.lead(&[post.media[1].attachment.clone()]).unwrap());
    let mut steps = 0;
    while let Step::Again { progress, .. } = harness.prepare(&post).await.unwrap() {
        post.progress = Some(progress);
        steps += 1;
        assert_eq!(harness.fake.count_public_file_pages(), 0, "after {steps} steps");
    }
    assert_eq!((steps, harness.fake.keeps()), (3, (1, 2)));
    assert!(harness.fake.public_posts().is_empty());

    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    harness.clock.skip_to(post.publish_at);
    harness.publish(&post).await.unwrap();
    assert_eq!(harness.fake.count_public_file_pages(), 2);
}

#[tokio::test]
async fn a_featured_picture_is_not_in_the_post_and_keeps_its_words() {
    let (harness, account) = harness().await;
    let files = vec![sample(MimeType::Mp4, 2), described(MimeType::Png, "A boat"), sample(MimeType::Jpeg, 3)];
    let mut post = harness.post(&account, "featured", files);
    post.options = options([("featured", OptionValue::Flag(true))]);

    harness.deliver(&mut post).await.unwrap();

    let shown: Vec<_> =
        harness.fake.public_posts()[0].media.iter().map(|it| (it.mime_type, it.alt_text.clone())).collect();
    let expected = [(MimeType::Png, Some("A boat".to_owned())), (MimeType::Mp4, None), (MimeType::Jpeg, None)];
    assert_eq!(shown, expected);
    let [_, content, ..] = harness.fake.latest().unwrap();
    assert!(!content.contains("A boat"), "{content}");
}

#[tokio::test]
async fn alt_text_of_a_video_is_in_the_library() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "a video", vec![described(MimeType::Mp4, "It turns.")]);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.described(), ["It turns."]);
}

#[tokio::test]
async fn a_file_that_is_refused_leaves_nothing_behind() {
    let (harness, account) = harness().await;
    harness.fake.set_max_file_bytes(sample(MimeType::Mp4, 1).bytes.len() - 1);
    let mut post = harness.post(&account, "too large", vec![sample(MimeType::Gif, 1), sample(MimeType::Mp4, 2)]);

    let refused = harness.deliver(&mut post).await.unwrap_err();

    let AttemptError::Refused { reason } = &refused else { panic!("{refused:?}") };
    assert!(reason.starts_with("file 2 of 2: The uploaded file exceeds the upload_max_filesize"), "{reason}");
    assert_eq!(harness.fake.keeps(), (0, 0));
}

#[tokio::test]
async fn sizes_that_were_not_made_are_made_by_another_call() {
    let (harness, account) = harness().await;
    harness.fake.dies_making_sizes();
    let mut post = harness.post(&account, "a large picture", vec![sample(MimeType::Png, 1)]);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!((harness.fake.keeps(), harness.fake.sized()), ((1, 1), 1));
}

/// Thumbnails are optional: the post is published without them.
#[tokio::test]
async fn a_picture_whose_sizes_cannot_be_made_holds_no_post_up() {
    let (harness, account) = harness().await;
    harness.fake.dies_making_sizes();
    harness.fake.intermediary().block(Method::POST, "/post-process", 403, 1);
    let mut post = harness.post(&account, "a picture that is too large", vec![sample(MimeType::Png, 1)]);

    harness.deliver(&mut post).await.unwrap();

    assert_eq!((harness.fake.intermediary().left(), harness.fake.sized()), (0, 0));
    assert_eq!(harness.fake.public_posts().len(), 1);
}
