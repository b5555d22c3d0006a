//! Pictures and videos.

use super::Wordpress;
use crate::prelude::*;

#[tokio::test]
async fn files_are_not_public_before_the_post() {
    let (harness, account) = connected::<Wordpress>().await;
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

    harness.deliver(&mut post).await.unwrap();
    assert_eq!(harness.fake.count_public_file_pages(), 2);
}

/// The alternative text of a video is in the library only.
#[tokio::test]
async fn featured_image_is_not_in_the_post_and_has_its_alt_text() {
    let (harness, account) = connected::<Wordpress>().await;
    let files = vec![
        described(MimeType::Mp4, 1, "It turns."),
        described(MimeType::Png, 2, "A boat"),
        sample(MimeType::Jpeg, 3),
    ];
    harness.deliver(&mut harness.post(&account, "featured", files).with(json!({ "featured": true }))).await.unwrap();

    let shown: Vec<_> =
        harness.fake.public_posts()[0].media.iter().map(|it| (it.mime_type, it.alt_text.clone())).collect();
    let expected = [(MimeType::Png, Some("A boat".to_owned())), (MimeType::Mp4, None), (MimeType::Jpeg, None)];
    assert_eq!(shown, expected);
    let [_, content, ..] = harness.fake.latest().unwrap();
    assert!(!content.contains("A boat"), "{content}");
    assert_eq!(harness.fake.described(), ["It turns.", "A boat", ""]);
}

#[tokio::test]
async fn refused_file_leaves_nothing_behind() {
    let (harness, account) = connected::<Wordpress>().await;
    harness.fake.faults().order_after(Call::Upload, 1, InjectedFault::Refused);
    let mut post = harness.post(&account, "refused", vec![sample(MimeType::Gif, 1), sample(MimeType::Mp4, 2)]);

    let reason = "file 2 of 2: Sorry, you are not allowed to upload this file type";
    assert_refused(harness.deliver(&mut post).await, reason);
    assert_eq!(harness.fake.keeps(), (0, 0));
}

/// PHP crashes while it creates the sizes of a picture. Another call creates them; they are
/// optional, so the post is published without them, too.
#[tokio::test]
async fn missing_image_sizes_are_created_by_another_call() {
    for can_be_made in [true, false] {
        let (harness, account) = connected::<Wordpress>().await;
        harness.fake.inject_fault(Call::Upload, InjectedFault::ServerErrorAfter, 1);
        if !can_be_made {
            harness.fake.faults().block(Method::POST, "/post-process", 403, 1);
        }

        harness.deliver(&mut harness.post(&account, "a large picture", vec![sample(MimeType::Png, 1)])).await.unwrap();

        let is_post_process = |it: &str| it.contains("/post-process");
        let calls = harness.fake.request_log().all().into_iter().filter(|it| is_post_process(&it.request_line)).count();
        assert_eq!((calls, harness.fake.keeps(), harness.fake.public_posts().len()), (1, (1, 1), 1));
    }
}
