//! Files: uploaded once, processed, and uploaded again after the server has deleted them.

use fakes::mastodon::{GoToSocial, Pixelfed, Stock};

use super::{Server, picture};
use crate::prelude::*;

fn video() -> Vec<Sample> {
    vec![sample(MimeType::Mp4, 1)]
}

#[tokio::test]
async fn refusal_with_files_is_final_once_no_status_has_them() {
    let (harness, account) = connected::<Server<GoToSocial>>().await;
    let post = harness.due(&account, "Look", picture()).await;
    harness.fake.inject_fault(Call::Publish, InjectedFault::Refused, 2);

    harness.fake.inject_fault(Call::LookUp, InjectedFault::ServerError, 1);
    assert_matches!(harness.publish(&post).await, Err(AttemptError::RetryLater { .. }));
    assert_matches!(harness.publish(&post).await, Err(AttemptError::Refused { .. }));

    // Refused as a duplicate, whatever the state of the files.
    let published = harness.publish(&post).await.unwrap();
    harness.fake.inject_fault(Call::Publish, InjectedFault::Refused, 1);
    assert_eq!(harness.publish(&post).await.unwrap(), published);
}

#[tokio::test]
async fn processing_of_a_video_is_polled_in_steps() {
    let (harness, account) = connected::<Server<Stock>>().await;
    harness.fake.polls_until_ready(7);
    let mut post = harness.post(&account, "Look", video());
    let mut waits = Vec::new();
    let progress = loop {
        match harness.prepare(&post).await.unwrap() {
            Step::Ready { progress } => break progress,
            Step::Again { progress, at } => {
                post.progress = Some(progress);
                waits.push((at - harness.clock.now()).num_seconds());
                harness.clock.skip_to(at);
            }
            Step::NeedsParent { .. } => panic!("it is no reply"),
        }
    };

    let (look_back, looks) = waits.split_last().unwrap();
    assert_eq!(looks, [1, 2, 4, 8, 16, 30, 30, 30]);
    assert_eq!(harness.clock.now() + TimeDelta::seconds(20), post.publish_at, "after {look_back} s");
    post.progress = progress;
    harness.publish(&post).await.unwrap();
    assert_eq!(harness.fake.public_posts()[0].media[0].bytes, video()[0].bytes);
    assert_eq!(harness.fake.call_count(Call::Upload), 1);
}

#[tokio::test]
async fn file_that_waited_too_long_is_uploaded_again() {
    let (harness, account) = connected::<Server<Stock>>().await;
    let mut post = harness.due(&account, "Look", vec![sample(MimeType::Jpeg, 1), sample(MimeType::Png, 2)]).await;
    harness.clock.advance(TimeDelta::hours(25));

    assert_matches!(harness.publish(&post).await, Err(AttemptError::PreparationExpired { .. }));
    post.progress = None;
    harness.deliver(&mut post).await.unwrap();

    let public = harness.fake.public_posts();
    assert_eq!(public.len(), 1);
    assert_eq!(public[0].media.len(), 2);
    assert_eq!(harness.fake.call_count(Call::Upload), 4);
}

#[tokio::test]
async fn file_that_vanished_during_processing_is_uploaded_again() {
    let (harness, account) = connected::<Server<Stock>>().await;
    let mut post = harness.post(&account, "Look", video());
    let mut prepare = async || match harness.prepare(&post).await {
        Ok(Step::Again { progress, .. }) => {
            post.progress = Some(progress);
            harness.clock.advance(TimeDelta::hours(25));
            Ok(())
        }
        Ok(step) => panic!("{step:?}"),
        Err(error) => Err(error),
    };
    // Uploaded, found missing, and uploaded again.
    for _ in 0..3 {
        prepare().await.unwrap();
    }

    assert_matches!(prepare().await, Err(AttemptError::PreparationExpired { .. }), "no file is there");
    assert_eq!(harness.fake.call_count(Call::Upload), 2);
}

#[tokio::test]
async fn interrupted_upload_is_repeated_without_earlier_files() {
    let (harness, account) = connected::<Server<Stock>>().await;
    for fault in
        [InjectedFault::CutBefore, InjectedFault::LoseResponse, InjectedFault::ServerError, InjectedFault::Unavailable]
    {
        let files: Vec<_> = (1..=4).map(|number| sample(MimeType::Png, number)).collect();
        let mut post = harness.post(&account, &format!("{fault:?}"), files.clone());
        let before = harness.fake.call_count(Call::Upload);
        for _ in 0..2 {
            take_step(&harness, &mut post).await;
        }
        harness.fake.inject_fault(Call::Upload, fault, 1);
        harness.prepare(&post).await.unwrap_err();

        harness.deliver(&mut post).await.unwrap();

        assert_eq!(harness.fake.call_count(Call::Upload) - before, 5, "{fault:?}");
        let shown = harness.fake.public_posts().pop().unwrap().media;
        assert!(shown.iter().map(|it| &it.bytes).eq(files.iter().map(|it| &it.bytes)), "{fault:?}");
    }
}

/// It states the limit of Mastodon and does not enforce it.
#[tokio::test]
async fn pixelfed_accepts_more_pixels_than_it_states() {
    let (_, account) = connected::<Server<Pixelfed>>().await;
    let file = with_pixels(sample(MimeType::Jpeg, 1), 7680, 4321).attachment;

    assert_eq!(account.rules.breaches(Some("Look"), &[file], Options::NONE), []);
}

#[tokio::test]
async fn files_of_a_public_status_are_found_and_not_uploaded_again() {
    let (harness, account) = connected::<Server<GoToSocial>>().await;
    let post = harness.due(&account, "Look", picture()).await;
    let published = harness.publish(&post).await.unwrap();

    // As if a look-up had not found the post.
    let again = harness.publish(&post).await.unwrap();

    assert_eq!(again, published);
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn unprocessable_video_is_uploaded_once_more() {
    let (harness, account) = connected::<Server<Stock>>().await;
    harness.fake.inject_fault(Call::Process, InjectedFault::Refused, 1);
    harness.deliver(&mut harness.post(&account, "the second time", video())).await.unwrap();
    assert_eq!((harness.fake.public_posts().len(), harness.fake.call_count(Call::Upload)), (1, 2));

    harness.fake.inject_fault(Call::Process, InjectedFault::Refused, 2);
    assert_refused(harness.deliver(&mut harness.post(&account, "never", video())).await, "");
    assert_eq!((harness.fake.public_posts().len(), harness.fake.call_count(Call::Upload)), (1, 4));
}
