//! Pictures and videos.

use domain::delivery::AttemptError;
use domain::media::{AltText, MimeType};
use domain::options::OptionValue;
use http::Method;
use platforms::Step;
use platforms::conformance::network::Network;
use platforms::conformance::samples::{Sample, sample};

use super::{options, stage};

fn described(mime_type: MimeType, words: &str) -> Sample {
    let mut file = sample(mime_type, 1);
    file.attachment.alt_text = Some(AltText::parse(words).unwrap());
    file
}

#[tokio::test]
async fn before_the_post_nobody_sees_its_files() {
    let (stage, account) = stage().await;
    let mut post = stage.post(&account, "not yet", vec![sample(MimeType::Png, 1), sample(MimeType::Mp4, 2)]);
    stage.clock.skip_to(post.publish_at - stage.lead(&[post.media[1].attachment.clone()]).unwrap());
    let mut steps = 0;
    while let Step::Again { progress, .. } = stage.prepare(&post).await.unwrap() {
        post.progress = Some(progress);
        steps += 1;
        assert_eq!(stage.fake.count_public_file_pages(), 0, "after {steps} steps");
    }
    assert_eq!((steps, stage.fake.keeps()), (3, (1, 2)));
    assert!(stage.fake.public_posts().is_empty());

    stage.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    stage.clock.skip_to(post.publish_at);
    stage.publish(&post).await.unwrap();
    assert_eq!(stage.fake.count_public_file_pages(), 2);
}

#[tokio::test]
async fn a_featured_picture_is_not_in_the_post_and_keeps_its_words() {
    let (stage, account) = stage().await;
    let files = vec![sample(MimeType::Mp4, 2), described(MimeType::Png, "A boat"), sample(MimeType::Jpeg, 3)];
    let mut post = stage.post(&account, "featured", files);
    post.options = options([("featured", OptionValue::Flag(true))]);

    stage.deliver(&mut post).await.unwrap();

    let shown: Vec<_> =
        stage.fake.public_posts()[0].media.iter().map(|it| (it.mime_type, it.alt_text.clone())).collect();
    let expected = [(MimeType::Png, Some("A boat".to_owned())), (MimeType::Mp4, None), (MimeType::Jpeg, None)];
    assert_eq!(shown, expected);
    let [_, content, ..] = stage.fake.latest().unwrap();
    assert!(!content.contains("A boat"), "{content}");
}

#[tokio::test]
async fn alt_text_of_a_video_is_in_the_library() {
    let (stage, account) = stage().await;
    let mut post = stage.post(&account, "a video", vec![described(MimeType::Mp4, "It turns.")]);

    stage.deliver(&mut post).await.unwrap();

    assert_eq!(stage.fake.described(), ["It turns."]);
}

#[tokio::test]
async fn a_file_that_is_refused_leaves_nothing_behind() {
    let (stage, account) = stage().await;
    stage.fake.set_max_file_bytes(sample(MimeType::Mp4, 1).bytes.len() - 1);
    let mut post = stage.post(&account, "too large", vec![sample(MimeType::Gif, 1), sample(MimeType::Mp4, 2)]);

    let refused = stage.deliver(&mut post).await.unwrap_err();

    let AttemptError::Refused { reason } = &refused else { panic!("{refused:?}") };
    assert!(reason.starts_with("file 2 of 2: The uploaded file exceeds the upload_max_filesize"), "{reason}");
    assert_eq!(stage.fake.keeps(), (0, 0));
}

#[tokio::test]
async fn sizes_that_were_not_made_are_made_by_another_call() {
    let (stage, account) = stage().await;
    stage.fake.dies_making_sizes();
    let mut post = stage.post(&account, "a large picture", vec![sample(MimeType::Png, 1)]);

    stage.deliver(&mut post).await.unwrap();

    assert_eq!((stage.fake.keeps(), stage.fake.sized()), ((1, 1), 1));
}

/// Its thumbnails are the site's concern: the post goes out without them.
#[tokio::test]
async fn a_picture_whose_sizes_cannot_be_made_holds_no_post_up() {
    let (stage, account) = stage().await;
    stage.fake.dies_making_sizes();
    stage.fake.intermediary().block(Method::POST, "/post-process", 403, 1);
    let mut post = stage.post(&account, "a picture that is too large", vec![sample(MimeType::Png, 1)]);

    stage.deliver(&mut post).await.unwrap();

    assert_eq!((stage.fake.intermediary().left(), stage.fake.sized()), (0, 0));
    assert_eq!(stage.fake.public_posts().len(), 1);
}
