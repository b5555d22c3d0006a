//! The look-up of a publish call whose response was lost.

use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;
use platforms::conformance::network::{Call, InjectedFault, Network};
use platforms::conformance::samples::sample;

use crate::{a_post, stage};

#[tokio::test]
async fn every_kind_is_found_by_its_ids() {
    let (image, video) = (MimeType::Jpeg, MimeType::Mp4);
    for (kind, file) in [("post", image), ("story", image), ("post", video), ("reel", video), ("story", video)] {
        for trouble in [InjectedFault::LoseAnswer, InjectedFault::CutBefore] {
            let (stage, account) = stage().await;
            let mut post = a_post(&stage, &account, vec![sample(file, 1)], &[("kind", kind)]);
            stage.network.trouble(Call::Publish, trouble, 1);

            let passage = stage.deliver(&mut post).await.unwrap();

            assert_eq!(passage.setbacks.len(), 1, "{kind} {trouble:?}: {:?}", passage.setbacks);
            let public: Vec<_> = stage.network.public().into_iter().map(|it| it.id).collect();
            assert_eq!(public.len(), 1, "{kind} {trouble:?}");
            let is_photo_story = kind == "story" && file == image;
            let id = if is_photo_story { stage.network.stories()[0].0.clone() } else { public[0].clone() };
            assert_eq!(passage.published.platform_post_id, id, "{kind} {trouble:?}");
            let calls = if trouble == InjectedFault::LoseAnswer { 1 } else { 2 };
            assert_eq!(stage.network.calls(Call::Publish), calls, "{kind} {trouble:?}");
        }
    }
}

/// The call arrived before, and cannot be read yet: it is not sent again and again, and
/// not given up as refused.
#[tokio::test]
async fn what_is_refused_as_published_before_is_looked_for() {
    let (image, video) = (MimeType::Jpeg, MimeType::Mp4);
    for (kind, files) in [("post", vec![]), ("post", vec![image]), ("post", vec![video]), ("reel", vec![video])] {
        let (stage, account) = stage().await;
        let has_video = files.contains(&video);
        let files = files.into_iter().map(|it| sample(it, 1)).collect();
        let mut post = a_post(&stage, &account, files, &[("kind", kind)]);
        stage.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
        stage.clock.skip_to(post.publish_at);
        stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
        let began = stage.clock.now();
        assert!(matches!(stage.publish(&post).await, Err(AttemptError::Unknown { .. })));

        let setback = stage.publish(&post).await.unwrap_err();

        let is_looked_up = match &setback {
            AttemptError::Duplicate { .. } => !has_video,
            // A video says itself how it stands.
            AttemptError::Unknown { may_still_run, .. } => has_video && !may_still_run,
            _ => false,
        };
        assert!(is_looked_up, "{kind}: {setback:?}");
        stage.clock.advance(chrono::TimeDelta::seconds(10));
        let found = stage.resolve(&post, began).await;
        assert!(matches!(found, Resolution::Found(_) | Resolution::Candidate(_)), "{kind}: {found:?}");
    }
}

#[tokio::test]
async fn a_story_that_was_published_before_is_adopted() {
    let (stage, account) = stage().await;
    let mut post = a_post(&stage, &account, vec![sample(MimeType::Jpeg, 1)], &[("kind", "story")]);
    stage.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    assert!(matches!(stage.publish(&post).await, Err(AttemptError::Unknown { .. })));

    let published = stage.publish(&post).await.unwrap();

    assert_eq!(stage.network.stories()[0].0, published.platform_post_id);
}

#[tokio::test]
async fn the_same_words_again_are_refused_with_what_to_do() {
    let (stage, account) = stage().await;
    stage.network.posts_by_hand("good morning");
    let mut post = stage.post(&account, "good morning", Vec::new());

    let refused = stage.deliver(&mut post).await.unwrap_err();

    assert!(matches!(&refused, AttemptError::Refused { reason } if reason.ends_with("change the text")), "{refused:?}");
}

#[tokio::test]
async fn many_posts_since_are_read_page_by_page() {
    let (stage, account) = stage().await;
    let post = stage.due(&account, "this one", Vec::new()).await;
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    let since = stage.clock.now();
    stage.publish(&post).await.unwrap_err();
    for number in 0..120 {
        stage.network.posts_by_hand(&format!("number {number}"));
    }

    let found = stage.resolve(&post, since).await;

    assert!(matches!(found, Resolution::Candidate(_)), "{found:?}");
    assert_eq!(stage.network.calls(Call::LookUp), 3);
}

#[tokio::test]
async fn older_post_is_not_mistaken_for_it() {
    let (stage, account) = stage().await;
    stage.network.posts_by_hand("good morning");
    stage.network.posts_by_hand("good night");
    stage.clock.advance(chrono::TimeDelta::hours(1));
    let post = stage.due(&account, "good morning", Vec::new()).await;
    stage.network.trouble(Call::Publish, InjectedFault::CutBefore, 1);
    let since = stage.clock.now();
    stage.publish(&post).await.unwrap_err();

    assert!(matches!(stage.resolve(&post, since).await, Resolution::NotFound));
}

#[tokio::test]
async fn a_page_that_cannot_be_read_says_nothing() {
    let (stage, account) = stage().await;
    let post = stage.due(&account, "this one", Vec::new()).await;
    stage.network.trouble(Call::Publish, InjectedFault::LoseAnswer, 1);
    let since = stage.clock.now();
    stage.publish(&post).await.unwrap_err();
    stage.network.declines(&["pages_read_engagement"]);

    let answer = stage.resolve(&post, since).await;

    assert!(matches!(answer, Resolution::Unauthorized { .. }), "{answer:?}");
}
