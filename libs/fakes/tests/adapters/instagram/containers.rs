//! Steps before the publish call.

use std::io::Cursor;

use image::{ImageFormat, Rgb, RgbImage};

use super::Instagram;
use crate::prelude::*;

fn picture(width: u32, height: u32, format: ImageFormat) -> Sample {
    let mime_type = if format == ImageFormat::Png { MimeType::Png } else { MimeType::Jpeg };
    let mut bytes = Cursor::new(Vec::new());
    RgbImage::from_pixel(width, height, Rgb([9, 99, 199])).write_to(&mut bytes, format).unwrap();
    let mut sample = sample(mime_type, 1);
    sample.bytes = bytes.into_inner();
    sample.attachment.size_bytes = sample.bytes.len() as u64;
    sample
}

#[tokio::test]
async fn image_has_collaborators_tags_and_location() {
    let (harness, account) = connected::<Instagram>().await;
    let files = vec![described(MimeType::Png, 1, "a boat")];
    let mut post = harness.post(&account, "#boats at sea", files).with(json!({
        "collaborators": ["keeper.bo", "second"], "location": "7640348500",
        "user_tags": ["keeper.bo", "second 0.25 1"],
    }));

    let published = harness.deliver(&mut post).await.unwrap().published;

    let expected = json!({
        "kind": "post", "comments": [], "collaborators": ["keeper.bo", "second"], "location_id": "7640348500",
        "user_tags": [[{ "username": "keeper.bo", "x": 0.5, "y": 0.5 }, { "username": "second", "x": 0.25, "y": 1.0 }]],
    });
    assert_eq!(harness.fake.latest(), expected);
    let shown = &harness.fake.public_posts()[0].media[0];
    assert_eq!((shown.mime_type, shown.alt_text.as_deref()), (MimeType::Jpeg, Some("a boat")), "a JPEG of the PNG");
    assert!(published.url.unwrap().starts_with("https://www.instagram.com/p/"));
}

#[tokio::test]
async fn single_video_becomes_a_reel() {
    let (harness, account) = connected::<Instagram>().await;
    for (given, expected) in [
        (json!({}), json!({ "share_to_feed": true, "user_tags": [null] })),
        (json!({ "kind": "post" }), json!({ "share_to_feed": true, "user_tags": [null] })),
        (
            json!({ "kind": "reel", "cover_ms": 1_500, "share_to_feed": false, "user_tags": ["second 0.5 0.5"] }),
            json!({ "share_to_feed": false, "thumb_offset": 1_500, "user_tags": [[{ "username": "second" }]] }),
        ),
    ] {
        let mut post =
            harness.post(&account, &format!("a film {expected}"), vec![sample(MimeType::Mp4, 1)]).with(given);
        let published = harness.deliver(&mut post).await.unwrap().published;

        let mut latest = harness.fake.latest();
        assert_eq!((latest["kind"].take(), latest["comments"].take()), (json!("reel"), json!([])));
        latest.as_object_mut().unwrap().retain(|_, it| !it.is_null());
        assert_eq!(latest, expected);
        assert!(published.url.unwrap().starts_with("https://www.instagram.com/reel/"));
    }
}

#[tokio::test]
async fn carousel_has_images_and_videos_in_order_with_alt_texts() {
    let (harness, account) = connected::<Instagram>().await;
    let files = vec![sample(MimeType::Mp4, 1), described(MimeType::Jpeg, 2, "a lamp"), sample(MimeType::Webp, 3)];
    let mut post = harness
        .post(&account, "three of them", files)
        .with(json!({ "user_tags": ["second"], "collaborators": ["second"] }));

    harness.deliver(&mut post).await.unwrap();

    let public = harness.fake.public_posts().pop().unwrap();
    let actual: Vec<_> = public.media.iter().map(|it| (it.mime_type, it.alt_text.as_deref())).collect();
    assert_eq!(actual, [(MimeType::Mp4, None), (MimeType::Jpeg, Some("a lamp")), (MimeType::Jpeg, None)]);
    let latest = harness.fake.latest();
    let tag = json!([{ "username": "second", "x": 0.5, "y": 0.5 }]);
    assert_eq!(latest["user_tags"], json!([null, tag, null]), "the first picture");
    assert_eq!(latest["collaborators"], json!(["second"]));
    assert_eq!((harness.fake.call_count(Call::Upload), harness.fake.containers()), (3, 4), "nothing is made twice");
}

#[tokio::test]
async fn story_is_one_image_or_video_without_text() {
    let (harness, account) = connected::<Instagram>().await;
    for (file, tags) in
        [(picture(90, 160, ImageFormat::Png), json!(["second"])), (sample(MimeType::Mp4, 2), json!(["second 0.1 0.9"]))]
    {
        let mut post =
            harness.post(&account, "not shown", vec![file]).with(json!({ "kind": "story", "user_tags": tags }));

        let published = harness.deliver(&mut post).await.unwrap().published;

        let public = harness.fake.public_posts().pop().unwrap();
        assert_eq!((public.text.as_str(), public.media.len()), ("", 1));
        assert_eq!(harness.fake.latest()["kind"], "story");
        assert!(published.url.unwrap().starts_with("https://www.instagram.com/stories/keeper_ada/"));
    }
    assert_eq!(harness.fake.latest()["user_tags"], json!([[{ "username": "second", "x": 0.1, "y": 0.9 }]]));
}

#[tokio::test]
async fn picture_outside_the_ratio_gets_borders_if_an_option_asks_for_them() {
    let (harness, account) = connected::<Instagram>().await;
    for (width, height, expected) in [(90, 160, (128, 160)), (400, 100, (400, 210)), (100, 100, (100, 100))] {
        let mut post = harness
            .post(&account, &format!("{width}"), vec![picture(width, height, ImageFormat::Png)])
            .with(json!({ "fit": "borders" }));
        harness.deliver(&mut post).await.unwrap();
        let shown = harness.fake.public_posts().pop().unwrap().media.remove(0);
        assert_eq!((shown.mime_type, shown.mime_type.picture_size(&shown.bytes)), (MimeType::Jpeg, Some(expected)));
    }
    // The file's metadata is unknown to the service, so validation does not reject the post.
    let mut post = harness.post(&account, "tall", vec![picture(90, 160, ImageFormat::Jpeg)]);
    assert_refused(harness.deliver(&mut post).await, "aspect ratio");
}

#[tokio::test]
async fn used_up_quota_delays_the_post() {
    let (harness, account) = connected::<Instagram>().await;
    harness.fake.publish_manual_post("the day before");
    harness.clock.advance(TimeDelta::hours(25));
    let due = harness.due(&account, "prepared before", vec![sample(MimeType::Jpeg, 1)]).await;
    harness.fake.permits(1);
    let frees_at = harness.clock.now() + TimeDelta::days(1);
    harness.fake.publish_manual_post("by hand");
    let mut post = harness.post(&account, "second", vec![sample(MimeType::Jpeg, 1)]);
    let containers = harness.fake.containers();

    let published = harness.publish(&due).await.unwrap_err();
    let (prepared, _) = harness.stepped(&mut post).await;

    assert_matches!(&published, AttemptError::RetryLater { retry_at: Some(it), .. } if *it == frees_at);
    let Some(AttemptError::RetryLater { retry_at: Some(at), reason }) = prepared else { panic!("{prepared:?}") };
    assert!(reason.contains("1 of the 1 posts that Instagram allows within a day"), "{reason}");
    assert_eq!((at, harness.fake.containers()), (frees_at, containers));
    let mut later = harness.post(&account, "third", vec![sample(MimeType::Jpeg, 1)]);
    later.publish_at = frees_at + TimeDelta::hours(1);
    harness.deliver(&mut later).await.unwrap();
}

/// The suite has the pages of intermediaries at all other calls of a post.
#[tokio::test]
async fn error_page_at_the_quota_delays_the_post() {
    let (harness, account) = connected::<Instagram>().await;
    for status in [400, 401, 403, 404, 408, 413] {
        harness.fake.intermediary().block(Method::GET, "publishing_limit", status, 1);
        let mut post = harness.post(&account, &format!("at {status}"), vec![sample(MimeType::Jpeg, 1)]);

        let delivery = harness.deliver(&mut post).await.unwrap();

        assert!(matches!(delivery.errors[..], [AttemptError::RetryLater { .. }]), "{status}: {:?}", delivery.errors);
    }
}

/// What the codes mean is in the unit tests of container statuses.
#[tokio::test]
async fn failed_container_ends_the_post_or_is_replaced_twice() {
    for (code, count, pause) in [
        (2_207_026, 1, TimeDelta::zero()),
        (2_207_053, 3, TimeDelta::minutes(1)),
        // A suspicion of spam.
        (2_207_001, 3, TimeDelta::hours(4)),
    ] {
        let (harness, account) = connected::<Instagram>().await;
        harness.fake.fail_containers(Some(code));
        let began = harness.clock.now();
        let mut post = harness.post(&account, "spoiled", vec![sample(MimeType::Mp4, 1), sample(MimeType::Jpeg, 2)]);

        let errors = harness.prepare_until(&mut post, began + TimeDelta::days(1)).await;

        let Some(AttemptError::Refused { reason }) = errors.last() else { panic!("{errors:?}") };
        let place = "file 1 of 2 (video/mp4): Instagram could not process the file";
        assert!(reason.starts_with(place) && reason.contains(&code.to_string()), "{reason}");
        assert_eq!((errors.len(), harness.fake.call_count(Call::Upload)), (count, 2 * count), "{code}");
        assert!(began + pause <= harness.clock.now(), "{code}: {}", harness.clock.now() - began);
    }
}

#[tokio::test]
async fn video_status_is_polled_with_growing_pauses_for_half_an_hour() {
    let (harness, account) = connected::<Instagram>().await;
    harness.fake.works_for(TimeDelta::minutes(25));
    let mut post = harness.post(&account, "long", vec![sample(MimeType::Mp4, 1)]);
    let (error, took) = harness.stepped(&mut post).await;
    assert!(error.is_none() && TimeDelta::minutes(25) <= took, "{error:?} {took}");
    assert!(harness.fake.call_count(Call::Process) < 70, "{}", harness.fake.call_count(Call::Process));

    harness.fake.works_for(TimeDelta::hours(23));
    let mut post = harness.post(&account, "never", vec![sample(MimeType::Mp4, 1)]);
    let end = harness.clock.now() + TimeDelta::hours(3);
    let errors = harness.prepare_until(&mut post, end).await;
    let Some(AttemptError::Refused { reason }) = errors.last() else { panic!("{errors:?}") };
    assert!(errors.len() == 3 && reason.contains("30 minutes"), "{errors:?}");
}
