//! The look-up of a publish call whose response was lost.

use super::{Facebook, a_post};
use crate::prelude::*;

#[tokio::test]
async fn every_kind_is_found_by_its_ids() {
    let (image, video) = (MimeType::Jpeg, MimeType::Mp4);
    for (kind, file) in [("post", image), ("story", image), ("post", video), ("reel", video), ("story", video)] {
        for fault in [InjectedFault::LoseResponse, InjectedFault::CutBefore] {
            let (harness, account) = connected::<Facebook>().await;
            let mut post = a_post(&harness, &account, vec![sample(file, 1)], json!({ "kind": kind }));
            harness.fake.inject_fault(Call::Publish, fault, 1);

            let delivered = harness.deliver(&mut post).await.unwrap();

            assert_eq!(delivered.errors.len(), 1, "{kind} {fault:?}: {:?}", delivered.errors);
            let public: Vec<_> = harness.fake.public_posts().into_iter().map(|it| it.id).collect();
            assert_eq!(public.len(), 1, "{kind} {fault:?}");
            let is_photo_story = kind == "story" && file == image;
            let id = if is_photo_story { harness.fake.stories()[0].0.clone() } else { public[0].clone() };
            assert_eq!(delivered.published.platform_post_id, id, "{kind} {fault:?}");
            let address = (kind == "reel").then(|| format!("https://www.facebook.com/reel/{id}"));
            assert!(address.is_none() || delivered.published.url == address, "{:?}", delivered.published.url);
            let calls = if fault == InjectedFault::LoseResponse { 1 } else { 2 };
            assert_eq!(harness.fake.call_count(Call::Publish), calls, "{kind} {fault:?}");
        }
    }
}

/// The earlier call took effect, but its post is not listed yet: the adapter neither repeats the
/// call nor reports the post as refused.
#[tokio::test]
async fn refusal_as_duplicate_is_looked_up() {
    let (image, video) = (MimeType::Jpeg, MimeType::Mp4);
    for (kind, files) in [("post", vec![]), ("post", vec![image]), ("post", vec![video]), ("reel", vec![video])] {
        let (harness, account) = connected::<Facebook>().await;
        let has_video = files.contains(&video);
        let files = files.into_iter().map(|it| sample(it, 1)).collect();
        let mut post = a_post(&harness, &account, files, json!({ "kind": kind }));
        harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
        harness.clock.skip_to(post.publish_at);
        harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
        let began = harness.clock.now();
        assert_matches!(harness.publish(&post).await, Err(AttemptError::Unknown { .. }));

        let error = harness.publish(&post).await.unwrap_err();

        let is_looked_up = match &error {
            AttemptError::Duplicate { .. } => !has_video,
            // A video has a status of its own.
            AttemptError::Unknown { may_still_run, .. } => has_video && !may_still_run,
            _ => false,
        };
        assert!(is_looked_up, "{kind}: {error:?}");
        harness.clock.advance(TimeDelta::seconds(10));
        assert_matches!(harness.resolve(&post, began).await, Resolution::Found(_) | Resolution::Candidate(_), "{kind}");
    }
}

#[tokio::test]
async fn story_of_an_earlier_attempt_is_adopted() {
    let (harness, account) = connected::<Facebook>().await;
    let mut post = a_post(&harness, &account, vec![sample(MimeType::Jpeg, 1)], json!({ "kind": "story" }));
    harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

    let published = harness.publish(&post).await.unwrap();

    assert_eq!(harness.fake.stories()[0].0, published.platform_post_id);
}

#[tokio::test]
async fn repeated_text_is_refused_with_advice() {
    let (harness, account) = connected::<Facebook>().await;
    harness.fake.publish_manual_post("good morning");
    let refused = harness.deliver(&mut harness.post(&account, "good morning", Vec::new())).await.unwrap_err();

    assert_matches!(&refused, AttemptError::Refused { reason } if reason.ends_with("change the text"));
}
