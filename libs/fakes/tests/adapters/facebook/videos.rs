//! Videos, reels and stories of videos.

use fakes::conformance::checks::troubles::PASSING;
use fakes::facebook::PAGE;

use super::{Facebook, a_post, long_video};
use crate::prelude::*;

#[tokio::test]
async fn video_is_uploaded_in_parts_with_its_title() {
    let (harness, account) = connected::<Facebook>().await;
    let video = long_video();
    let mut post = a_post(&harness, &account, vec![video.clone()], json!({ "title": "The ferry" }));

    let published = harness.deliver(&mut post).await.unwrap().published;

    assert_eq!(harness.fake.call_count(Call::Upload), 3);
    let public = harness.fake.public_posts();
    assert_eq!(public[0].media[0].bytes, video.bytes);
    assert_eq!((public[0].text.as_str(), public[0].id.as_str()), ("from the harbour", &*published.platform_post_id));
    assert_eq!(harness.fake.titles(), [Some("The ferry".to_owned())]);
    let id = published.platform_post_id;
    assert_eq!(published.url, Some(format!("https://www.facebook.com/{PAGE}/videos/{id}")));
}

#[tokio::test]
async fn every_fault_of_a_part_publishes_the_video_once() {
    for fault in PASSING {
        let (harness, account) = connected::<Facebook>().await;
        let mut post = a_post(&harness, &account, vec![long_video()], json!({}));
        harness.fake.inject_fault(Call::Upload, fault, 1);

        let delivered = harness.deliver(&mut post).await.unwrap();

        assert_eq!(delivered.errors.len(), 1, "{fault:?}: {:?}", delivered.errors);
        let public = harness.fake.public_posts();
        assert_eq!(public.len(), 1, "{fault:?}");
        assert_eq!(public[0].media[0].bytes.len(), 9 << 20, "{fault:?}");
        assert_eq!(harness.fake.call_count(Call::Upload), 4, "{fault:?}: one part is sent twice");
    }
}

#[tokio::test]
async fn each_part_is_stored_as_progress_and_can_be_repeated() {
    let (harness, account) = connected::<Facebook>().await;
    let mut post = a_post(&harness, &account, vec![long_video()], json!({}));
    let lead = harness.lead(&[post.media[0].attachment.clone()]).unwrap();
    harness.clock.skip_to(post.publish_at - lead);
    for _ in 0..4 {
        // The worker dies before its progress is stored, and another worker repeats the step.
        harness.prepare(&post).await.unwrap();
        take_step(&harness, &mut post).await;
    }

    harness.deliver(&mut post).await.unwrap();

    assert_eq!(harness.fake.call_count(Call::Upload), 6);
    assert_eq!(harness.fake.public_posts()[0].media[0].bytes.len(), 9 << 20);
}

#[tokio::test]
async fn upload_at_another_offset_starts_again() {
    let (harness, account) = connected::<Facebook>().await;
    let mut post = a_post(&harness, &account, vec![long_video()], json!({}));
    harness.clock.skip_to(post.publish_at - harness.lead(&[post.media[0].attachment.clone()]).unwrap());
    take_step(&harness, &mut post).await;
    let elsewhere = |it: String| it.replace("\"start\":0", "\"start\":1").replace("\"end\":4194304", "\"end\":4194305");
    post.progress = post.progress.map(elsewhere);

    assert_matches!(harness.prepare(&post).await, Err(AttemptError::PreparationExpired { .. }));
    post.progress = None;
    harness.deliver(&mut post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn interrupted_upload_resumes_at_its_offset() {
    let (harness, account) = connected::<Facebook>().await;
    let video = long_video();
    let mut post = a_post(&harness, &account, vec![video.clone()], json!({ "kind": "reel" }));
    harness.fake.breaks_uploads_after(5_000_000);

    let delivered = harness.deliver(&mut post).await.unwrap();

    assert_eq!(delivered.errors.len(), 1, "{:?}", delivered.errors);
    assert_eq!(harness.fake.public_posts()[0].media[0].bytes, video.bytes);
    let sent: Vec<_> =
        harness.fake.request_log.all().into_iter().filter(|it| it.request_line.contains("/video-upload/")).collect();
    let sizes: Vec<_> = sent.iter().map(|it| it.size_bytes).collect();
    assert_eq!(sizes, [9 << 20, (9 << 20) - 5_000_000], "what arrived is not sent again");
}

#[tokio::test]
async fn every_fault_of_a_reel_publishes_it_once() {
    for call in [Call::Upload, Call::Process, Call::Publish] {
        let pages = [400, 403, 404].map(|status| InjectedFault::Intermediary { status });
        for fault in PASSING.into_iter().chain(pages) {
            let (harness, account) = connected::<Facebook>().await;
            let mut post = a_post(&harness, &account, vec![sample(MimeType::Mp4, 1)], json!({ "kind": "reel" }));
            harness.fake.inject_fault(call, fault, 1);

            let delivered = harness.deliver(&mut post).await.unwrap();

            assert!(!delivered.errors.is_empty(), "{call:?} {fault:?} was not met");
            let public: Vec<_> = harness.fake.public_posts().into_iter().map(|it| it.id).collect();
            assert_eq!(public, [delivered.published.platform_post_id], "{call:?} {fault:?}");
        }
    }
}
