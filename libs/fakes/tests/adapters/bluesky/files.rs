//! Pictures, and videos uploaded through the video service.

use domain::rules::Rule;

use super::{Bluesky, record};
use crate::prelude::*;

#[tokio::test]
async fn large_image_is_resized_and_has_its_aspect_ratio() {
    let (harness, account) = connected::<Bluesky>().await;

    let record = record(&harness, &account, "large", vec![sample_with_size(MimeType::Png, 4_000_001)]).await;

    let image = &record["embed"]["images"][0];
    assert!(image["image"]["size"].as_u64().unwrap() <= 1_000_000, "{image}");
    assert_eq!(image["aspectRatio"], json!({ "width": 64, "height": 48 }));
}

#[tokio::test]
async fn more_than_four_images_are_a_gallery_where_supported() {
    let (harness, account) = connected::<Bluesky>().await;
    assert!(account.rules.rules.contains(&Rule::max_images(10)), "{:?}", account.rules);
    for (pictures, kind, field) in [
        (4, "app.bsky.embed.images", "images"),
        (5, "app.bsky.embed.gallery", "items"),
        (10, "app.bsky.embed.gallery", "items"),
    ] {
        let mut files: Vec<_> = (1..=pictures).map(|number| sample(MimeType::Png, number)).collect();
        files[1].attachment.alt_text = Some(AltText::parse("A boat").unwrap());

        let record = record(&harness, &account, &format!("{pictures} pictures"), files.clone()).await;

        assert_eq!(record["embed"]["$type"], kind);
        let shown = record["embed"][field].as_array().unwrap();
        assert_eq!(shown.len(), files.len());
        assert!(shown.iter().all(|it| it["aspectRatio"]["width"].is_u64()), "{shown:?}");
        assert_eq!((&shown[0]["alt"], &shown[1]["alt"]), (&json!(""), &json!("A boat")));
        let public = harness.fake.public_posts().pop().unwrap().media;
        assert!(public.iter().map(|it| &it.bytes).eq(files.iter().map(|it| &it.bytes)), "another order");
    }
}

#[tokio::test]
async fn discarded_files_are_uploaded_again_for_the_same_post() {
    let (harness, account) = connected::<Bluesky>().await;
    let mut post = harness.due(&account, "stale", vec![sample(MimeType::Png, 1)]).await;
    let prepared = post.progress.clone();
    harness.fake.collect_blobs();

    assert_matches!(harness.publish(&post).await, Err(AttemptError::PreparationExpired { .. }));

    post.progress = None;
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    assert_eq!(post.progress, prepared, "the record is the same");
    harness.publish(&post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn processing_of_a_video_is_polled() {
    for by_lexicon in [false, true] {
        let (harness, account) = connected::<Bluesky>().await;
        harness.fake.change(|it| it.follows_lexicon = by_lexicon);
        harness.fake.change(|it| it.video_polls = 7);

        let record = record(&harness, &account, "moving", vec![sample(MimeType::Mp4, 1)]).await;

        assert_eq!(record["embed"]["$type"], "app.bsky.embed.video");
        assert_eq!(record["embed"]["video"]["mimeType"], "video/mp4");
        assert_eq!(harness.fake.call_count(Call::Upload), 1);
        assert_eq!(harness.fake.call_count(Call::Process), 8);
    }
}

#[tokio::test]
async fn exhausted_video_quota_delays_the_post() {
    let (harness, account) = connected::<Bluesky>().await;
    harness.fake.change(|it| it.videos_left = 0);
    let error = harness.prepare(&harness.post(&account, "moving", vec![sample(MimeType::Mp4, 1)])).await.unwrap_err();

    let AttemptError::RetryLater { retry_at: Some(at), reason } = &error else { panic!("{error:?}") };
    assert!(*at <= harness.clock.now() + TimeDelta::hours(1) && reason.contains("daily limit"), "{error:?}");
    assert_eq!(harness.fake.call_count(Call::Upload), 0);
}

/// A video of more than three parts.
fn large_video() -> Sample {
    with_pixels(sample_with_size(MimeType::Mp4, 17 << 20), 1080, 1920)
}

#[tokio::test]
async fn large_video_is_uploaded_in_parts_and_resumed() {
    let (harness, account) = connected::<Bluesky>().await;
    let video = large_video();
    let mut post = harness.post(&account, "moving", vec![video.clone()]);
    harness.fake.inject_fault(Call::Upload, InjectedFault::Unavailable, 1);

    let delivered = harness.deliver(&mut post).await.unwrap();

    let (first, late) = delivered.errors.split_first().unwrap();
    assert!(matches!(first, AttemptError::RetryLater { .. }), "{:?}", delivered.errors);
    // On a busy machine, the response to a part may come too late.
    assert!(late.iter().all(|it| matches!(it, AttemptError::Unknown { .. })), "{:?}", delivered.errors);
    assert_eq!(harness.fake.part_upload_counts(), [1, 1, 1, 1], "no part is sent twice");
    assert!(harness.fake.public_posts()[0].media[0].bytes == video.bytes, "another video arrived");
    let record = harness.fake.record(&delivered.published.platform_post_id).unwrap();
    assert_eq!(record["embed"]["aspectRatio"], json!({"width": 1080, "height": 1920}));
}

#[tokio::test]
async fn forgotten_upload_is_repeated_and_one_without_parts_sent_whole() {
    for parts in [true, false] {
        let (harness, account) = connected::<Bluesky>().await;
        let video = large_video();
        let mut post = harness.post(&account, "moving", vec![video.clone()]);
        if parts {
            take_step(&harness, &mut post).await;
            harness.fake.forget_uploads();
        } else {
            harness.fake.change(|it| it.part_bytes = None);
        }

        let errors = harness.deliver(&mut post).await.unwrap().errors;

        // Even if the service forgets every upload, the delay between new uploads grows.
        assert!(errors.iter().all(|it| matches!(it, AttemptError::PreparationExpired { .. })), "{errors:?}");
        assert_eq!(errors.len(), usize::from(parts));
        assert_eq!(harness.fake.part_upload_counts().len(), if parts { 4 } else { 0 });
        assert!(harness.fake.public_posts()[0].media[0].bytes == video.bytes, "another video arrived");
    }
}

#[tokio::test]
async fn gif_is_shown_as_a_looping_video() {
    let (harness, account) = connected::<Bluesky>().await;
    let gif = with_pixels(sample(MimeType::Gif, 1), 320, 240);

    let record = record(&harness, &account, "moving", vec![gif]).await;

    let embed = &record["embed"];
    assert_eq!((&embed["$type"], &embed["presentation"]), (&json!("app.bsky.embed.video"), &json!("gif")));
    assert_eq!(embed["aspectRatio"], json!({"width": 320, "height": 240}));
    assert_eq!(embed["video"]["mimeType"], "video/mp4");
}

#[tokio::test]
async fn video_whose_job_failed_is_uploaded_again_twice_unless_it_is_refused() {
    let (failed, size) = (["3 times", "Failed to"], ["account's server", "size"]);
    for (code, failures, refusal, uploads) in [
        (Some("encoding_failure"), 2, None, 3),
        (Some("pds_upload_failure"), 3, Some(failed), 3),
        (Some("new_code"), 3, Some(failed), 3),
        (None, 1, None, 2),
        (Some("pds_upload_unsupported_blob_size"), 1, Some(size), 1),
    ] {
        let (harness, account) = connected::<Bluesky>().await;
        harness.fake.change(|it| it.failing_jobs = (failures, code));
        let delivered = harness.deliver(&mut harness.post(&account, "moving", vec![sample(MimeType::Mp4, 1)])).await;

        match (delivered, refusal) {
            (Ok(delivery), None) => assert!(delivery.errors.is_empty(), "{code:?}: {:?}", delivery.errors),
            (Err(AttemptError::Refused { reason }), Some(parts)) => {
                assert!(parts.iter().all(|it| reason.contains(it)), "{code:?}: {reason}");
            }
            (other, _) => panic!("{code:?}: {other:?}"),
        }
        assert_eq!(harness.fake.call_count(Call::Upload), uploads, "{code:?}");
    }
}

#[tokio::test]
async fn failed_upload_in_parts_is_repeated_twice() {
    let (harness, account) = connected::<Bluesky>().await;
    harness.fake.change(|it| it.failing_uploads = 3);

    let refused = harness.deliver(&mut harness.post(&account, "moving", vec![large_video()])).await;
    assert_refused(refused, "could not be assembled");
    assert_eq!(harness.fake.part_upload_counts().len(), 4 * 3);
}

#[tokio::test]
async fn endless_processing_of_a_video_fails_the_post() {
    let (harness, account) = connected::<Bluesky>().await;
    harness.fake.change(|it| it.video_polls = 1000);
    let mut post = harness.post(&account, "moving", vec![sample(MimeType::Mp4, 1)]);
    take_step(&harness, &mut post).await;
    harness.clock.advance(TimeDelta::minutes(29));
    harness.prepare(&post).await.unwrap();

    harness.clock.advance(TimeDelta::minutes(2));
    assert_matches!(harness.prepare(&post).await, Err(AttemptError::PreparationExpired { reason })
        if reason.contains("30 minutes"));
}
