//! Pictures, and videos uploaded through the video service.

use std::io::Cursor;

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use domain::id::MediaId;
use domain::media::{AltText, Attachment, Facts, MimeType, Pixels};
use domain::rules::Rule;
use image::{DynamicImage, ImageFormat, RgbImage};
use platforms::Step;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::conformance::samples::{Sample, sample};
use serde_json::json;

use crate::{connected, record};

/// Noise, which no encoder compresses well.
fn large_picture() -> Sample {
    let mut seed = 1_u32;
    let noise = RgbImage::from_fn(1500, 1000, |_, _| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [_, one, two, three] = seed.to_le_bytes();
        image::Rgb([one, two, three])
    });
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(noise).write_to(&mut bytes, ImageFormat::Png).unwrap();
    let bytes = bytes.into_inner();
    let size_bytes = bytes.len() as u64;
    Sample {
        attachment: Attachment {
            media_id: MediaId::new(9).unwrap(),
            mime_type: MimeType::Png,
            size_bytes,
            alt_text: None,
            facts: None,
        },
        bytes,
    }
}

#[tokio::test]
async fn pictures_are_made_to_fit_and_shown_with_their_shape() {
    let (harness, account) = connected().await;
    let large = large_picture();
    assert!(4_000_000 < large.attachment.size_bytes);

    let record = record(&harness, &account, "two", vec![sample(MimeType::Webp, 1), large]).await;

    let images = record["embed"]["images"].as_array().unwrap();
    assert_eq!(record["embed"]["$type"], "app.bsky.embed.images");
    assert_eq!(images[0]["alt"], "");
    assert_eq!((&images[0]["aspectRatio"]["width"], &images[0]["aspectRatio"]["height"]), (&64.into(), &48.into()));
    assert!(images[1]["image"]["size"].as_u64().unwrap() <= 1_000_000, "{}", images[1]);
    let ratio = |side| images[1]["aspectRatio"][side].as_f64().unwrap();
    assert!((ratio("width") / ratio("height") - 1.5).abs() < 0.01, "{}", images[1]);
}

#[tokio::test]
async fn more_than_four_pictures_are_a_gallery_where_the_server_knows_it() {
    let (harness, account) = connected().await;
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
async fn files_that_were_thrown_away_are_uploaded_again_for_the_same_post() {
    let (harness, account) = connected().await;
    let mut post = harness.due(&account, "stale", vec![sample(MimeType::Png, 1)]).await;
    let prepared = post.progress.clone();
    harness.fake.collect_blobs();

    let error = harness.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::PreparationExpired { .. }), "{error:?}");

    post.progress = None;
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    assert_eq!(post.progress, prepared, "the record is the same");
    harness.publish(&post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn a_video_is_waited_for() {
    for by_lexicon in [false, true] {
        let (harness, account) = connected().await;
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
async fn a_video_whose_upload_was_not_answered_is_not_processed_twice() {
    let (harness, account) = connected().await;
    harness.fake.change(|it| it.videos_left = 1);
    harness.fake.inject_fault(Call::Upload, InjectedFault::LoseResponse, 1);
    let mut post = harness.post(&account, "moving", vec![sample(MimeType::Mp4, 1)]);

    // The first video, which arrived, uses up the day's quota.
    let mut errors = Vec::new();
    let prepared = harness.prepare(&post).await;
    assert!(matches!(prepared, Err(AttemptError::Unknown { .. })), "{prepared:?}");
    harness.fake.change(|it| it.videos_left = 1);
    harness.prepare_all(&mut post, &mut errors).await.unwrap();

    harness.clock.skip_to(post.publish_at);
    harness.publish(&post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn exhausted_video_quota_delays_the_post() {
    let (harness, account) = connected().await;
    harness.fake.change(|it| it.videos_left = 0);
    let post = harness.post(&account, "moving", vec![sample(MimeType::Mp4, 1)]);
    let error = harness.prepare(&post).await.unwrap_err();
    let opens_at = harness.clock.now() + TimeDelta::hours(1);
    assert!(
        matches!(&error, AttemptError::RetryLater { retry_at: Some(at), reason } if *at <= opens_at && reason.contains("daily limit")),
        "{error:?}"
    );
    assert_eq!(harness.fake.call_count(Call::Upload), 0);

    harness.clock.advance(TimeDelta::minutes(1));
    harness.fake.change(|it| it.videos_left = 25);
    harness.prepare(&post).await.unwrap();
}

/// A video of more than three parts.
fn large_video() -> Sample {
    let mut video = sample(MimeType::Mp4, 1);
    video.bytes.resize(17 << 20, 7);
    video.attachment.size_bytes = video.bytes.len() as u64;
    video.attachment.facts = Some(Facts { pixels: Pixels::new(1080, 1920), ..Facts::default() });
    video
}

#[tokio::test]
async fn a_large_video_goes_up_in_parts_and_goes_on_where_it_stopped() {
    let (harness, account) = connected().await;
    let video = large_video();
    let mut post = harness.post(&account, "moving", vec![video.clone()]);
    harness.fake.inject_fault(Call::Upload, InjectedFault::Unavailable, 1);

    let passage = harness.deliver(&mut post).await.unwrap();

    let (first, late) = passage.errors.split_first().unwrap();
    assert!(matches!(first, AttemptError::RetryLater { .. }), "{:?}", passage.errors);
    // On a busy machine, the response to a part may come too late.
    assert!(late.iter().all(|it| matches!(it, AttemptError::Unknown { .. })), "{:?}", passage.errors);
    assert_eq!(harness.fake.part_upload_counts(), [1, 1, 1, 1], "no part is sent twice");
    assert!(harness.fake.public_posts()[0].media[0].bytes == video.bytes, "another video arrived");
    let record = harness.fake.record(&passage.published.platform_post_id).unwrap();
    assert_eq!(record["embed"]["aspectRatio"], json!({"width": 1080, "height": 1920}));
}

#[tokio::test]
async fn an_upload_that_is_forgotten_is_a_setback_and_one_without_parts_goes_whole() {
    for parts in [true, false] {
        let (harness, account) = connected().await;
        let video = large_video();
        let mut post = harness.post(&account, "moving", vec![video.clone()]);
        if parts {
            let begun = harness.prepare(&post).await.unwrap();
            let Step::Again { progress, .. } = begun else { panic!("{begun:?}") };
            post.progress = Some(progress);
            harness.fake.forget_uploads();
        } else {
            harness.fake.change(|it| it.part_bytes = None);
        }

        let passage = harness.deliver(&mut post).await.unwrap();

        // Even if the service forgets every upload, the delay between new uploads grows.
        assert!(
            passage.errors.iter().all(|it| matches!(it, AttemptError::PreparationExpired { .. })),
            "{:?}",
            passage.errors
        );
        assert_eq!(passage.errors.len(), usize::from(parts));
        assert_eq!(harness.fake.part_upload_counts().len(), if parts { 4 } else { 0 });
        assert!(harness.fake.public_posts()[0].media[0].bytes == video.bytes, "another video arrived");
    }
}

#[tokio::test]
async fn a_gif_is_shown_as_a_video_that_runs_without_end() {
    let (harness, account) = connected().await;
    let mut gif = sample(MimeType::Gif, 1);
    gif.attachment.facts = Some(Facts { pixels: Pixels::new(320, 240), ..Facts::default() });

    let record = record(&harness, &account, "moving", vec![gif]).await;

    let embed = &record["embed"];
    assert_eq!((&embed["$type"], &embed["presentation"]), (&json!("app.bsky.embed.video"), &json!("gif")));
    assert_eq!(embed["aspectRatio"], json!({"width": 320, "height": 240}));
    assert_eq!(embed["video"]["mimeType"], "video/mp4");
}

#[tokio::test]
async fn a_video_that_cannot_be_played_is_refused_in_the_services_words() {
    let (harness, account) = connected().await;
    harness.fake.inject_fault(Call::Process, InjectedFault::Refused, 1);
    let mut post = harness.post(&account, "moving", vec![sample(MimeType::Mp4, 1)]);
    let error = harness.deliver(&mut post).await.unwrap_err();
    assert!(matches!(&error, AttemptError::Refused { reason } if reason.contains("validated")), "{error:?}");
}

#[tokio::test]
async fn a_video_whose_job_failed_is_uploaded_again_twice() {
    for code in [Some("encoding_failure"), Some("pds_upload_failure"), Some("generic_failure"), Some("new_code"), None]
    {
        for (failures, is_published) in [(1, true), (2, true), (3, false)] {
            let (harness, account) = connected().await;
            harness.fake.change(|it| it.failing_jobs = (failures, code));
            let mut post = harness.post(&account, "moving", vec![sample(MimeType::Mp4, 1)]);

            let delivered = harness.deliver(&mut post).await;

            match delivered {
                Ok(passage) => assert!(is_published && passage.errors.is_empty(), "{code:?}: {:?}", passage.errors),
                Err(AttemptError::Refused { reason }) => {
                    assert!(!is_published && reason.contains("3 times") && reason.contains("Failed to"), "{reason}");
                }
                Err(other) => panic!("{code:?}: {other:?}"),
            }
            assert_eq!(harness.fake.public_posts().len(), usize::from(is_published));
            assert_eq!(harness.fake.call_count(Call::Upload), (failures + 1).min(3), "{code:?}");
        }
    }
}

#[tokio::test]
async fn a_video_that_the_accounts_server_does_not_take_is_refused_at_once() {
    let (harness, account) = connected().await;
    harness.fake.change(|it| it.failing_jobs = (1, Some("pds_upload_unsupported_blob_size")));
    let mut post = harness.post(&account, "moving", vec![sample(MimeType::Mp4, 1)]);

    let error = harness.deliver(&mut post).await.unwrap_err();

    let AttemptError::Refused { reason } = error else { panic!("{error:?}") };
    assert!(reason.contains("account's server") && reason.contains("size"), "{reason}");
    assert_eq!(harness.fake.call_count(Call::Upload), 1);
}

#[tokio::test]
async fn an_upload_in_parts_that_failed_is_made_again_twice() {
    for (failures, is_published) in [(2, true), (3, false)] {
        let (harness, account) = connected().await;
        harness.fake.change(|it| it.failing_uploads = failures);
        let mut post = harness.post(&account, "moving", vec![large_video()]);

        let delivered = harness.deliver(&mut post).await;

        match delivered {
            Ok(passage) => assert!(is_published && passage.errors.is_empty(), "{:?}", passage.errors),
            Err(AttemptError::Refused { reason }) => {
                assert!(!is_published && reason.contains("could not be assembled"), "{reason}");
            }
            Err(other) => panic!("{other:?}"),
        }
        assert_eq!(harness.fake.part_upload_counts().len(), 4 * 3);
    }
}

#[tokio::test]
async fn a_video_that_is_never_done_is_given_up() {
    let (harness, account) = connected().await;
    harness.fake.change(|it| it.video_polls = 1000);
    let mut post = harness.post(&account, "moving", vec![sample(MimeType::Mp4, 1)]);
    let begun = harness.prepare(&post).await.unwrap();
    let Step::Again { progress, .. } = begun else { panic!("{begun:?}") };
    post.progress = Some(progress);
    harness.clock.advance(TimeDelta::minutes(29));
    harness.prepare(&post).await.unwrap();

    harness.clock.advance(TimeDelta::minutes(2));
    let error = harness.prepare(&post).await.unwrap_err();

    assert!(
        matches!(&error, AttemptError::PreparationExpired { reason } if reason.contains("30 minutes")),
        "{error:?}"
    );
}
