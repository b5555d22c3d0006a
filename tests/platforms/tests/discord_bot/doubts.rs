//! The look-up of a call whose response was lost.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;
use networks::discord::bot::{DiscordBot, FORUM, GENERAL, HISTORY};
use platforms::conformance::network::{Call, InjectedFault, Network};
use platforms::conformance::samples::sample;
use platforms::conformance::stage::{Post, Stage};

use super::{connected, post};

/// Its answer is lost, or the call is.
async fn publish_with_lost_response(stage: &Stage<DiscordBot>, post: &Post<'_>, fault: InjectedFault) {
    stage.fake.inject_fault(Call::Publish, fault, 1);
    let error = stage.publish(post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unknown { may_still_run: true, .. }), "{error:?}");
}

/// What is said of it so long after the call, and how many calls that took.
async fn look_up_after(stage: &Stage<DiscordBot>, post: &Post<'_>, after: TimeDelta) -> (Resolution, usize) {
    let since = stage.clock.now();
    stage.clock.advance(after);
    let before = stage.fake.call_count(Call::Publish);
    (stage.resolve(post, since).await, stage.fake.call_count(Call::Publish) - before)
}

fn id(stage: &Stage<DiscordBot>) -> String {
    let [it] = stage.fake.public_posts().try_into().unwrap();
    it.id
}

/// Two posts have the same words, so only the nonce tells whose message it is. It is sent
/// again when the first call can no longer be running, which begins within five seconds of
/// its intent, and while Discord certainly knows the nonce.
#[tokio::test]
async fn text_post_is_resolved_by_nonce_within_two_minutes() {
    for (seconds, is_sent_again) in [(5, false), (64, false), (65, true), (79, true), (80, false), (130, false)] {
        let (stage, account) = connected().await;
        let post = post(&stage, &account, (GENERAL, None), "good morning", Vec::new());
        publish_with_lost_response(&stage, &post, InjectedFault::LoseResponse).await;

        let (answer, calls) = look_up_after(&stage, &post, TimeDelta::seconds(seconds)).await;

        assert_eq!(calls, usize::from(is_sent_again), "after {seconds} seconds");
        match answer {
            Resolution::Found(found) if is_sent_again => assert_eq!(found.platform_post_id, id(&stage)),
            Resolution::Pending { .. } if seconds < 65 => {}
            Resolution::Candidate(found) if 80 <= seconds => assert_eq!(found.platform_post_id, id(&stage)),
            other => panic!("after {seconds} seconds: {other:?}"),
        }
        assert_eq!(stage.fake.public_posts().len(), 1);
    }
}

#[tokio::test]
async fn missing_post_is_sent_again_with_the_same_nonce() {
    let (stage, account) = connected().await;
    let post = post(&stage, &account, (GENERAL, None), "good morning", Vec::new());
    stage.fake.add_other_messages(GENERAL, 3);
    publish_with_lost_response(&stage, &post, InjectedFault::CutBefore).await;

    let (answer, calls) = look_up_after(&stage, &post, TimeDelta::seconds(5)).await;

    assert_eq!((answer, calls), (Resolution::NotFound, 0));
    stage.publish(&post).await.unwrap();
    let first = stage.fake.latest_payload()["nonce"].clone();
    // The first call was carried out after all, very late.
    let repeated = stage.publish(&post).await.unwrap();
    assert_eq!((id(&stage), stage.fake.latest_payload()["nonce"].clone()), (repeated.platform_post_id, first));
}

#[tokio::test]
async fn listed_nonce_identifies_the_post_at_once() {
    let (stage, account) = connected().await;
    stage.fake.lists_nonces();
    let post = post(&stage, &account, (GENERAL, None), "good morning", Vec::new());
    publish_with_lost_response(&stage, &post, InjectedFault::LoseResponse).await;

    let (answer, calls) = look_up_after(&stage, &post, TimeDelta::seconds(5)).await;

    let Resolution::Found(found) = answer else { panic!("{answer:?}") };
    assert_eq!((found.platform_post_id, calls), (id(&stage), 0));
}

#[tokio::test]
async fn file_names_identify_our_message() {
    for place in [(GENERAL, None), (FORUM, Some("Tides"))] {
        let (stage, account) = connected().await;
        let post = post(&stage, &account, place, "a picture", vec![sample(MimeType::Png, 1)]);
        publish_with_lost_response(&stage, &post, InjectedFault::LoseResponse).await;

        let (answer, calls) = look_up_after(&stage, &post, TimeDelta::hours(9)).await;

        let Resolution::Found(found) = answer else { panic!("{answer:?}") };
        assert_eq!((&found.platform_post_id, calls), (&id(&stage), 0));
        let thread = if place.1.is_some() { found.platform_post_id.as_str() } else { GENERAL };
        let end = format!("/{thread}/{}", found.platform_post_id);
        assert!(found.url.as_ref().unwrap().ends_with(&end), "{found:?}");
    }
}

/// Threads have no nonce, and are not sent again.
#[tokio::test]
async fn thread_is_found_by_text_even_if_archived() {
    for (after, is_archived) in [(TimeDelta::seconds(70), false), (TimeDelta::hours(9), true)] {
        let (stage, account) = connected().await;
        let mut earlier = post(&stage, &account, (FORUM, Some("Tides")), "how high?", Vec::new());
        stage.deliver(&mut earlier).await.unwrap();
        let post = post(&stage, &account, (FORUM, Some("Tides")), "how high?", Vec::new());
        publish_with_lost_response(&stage, &post, InjectedFault::LoseResponse).await;
        if is_archived {
            stage.fake.archive_threads();
        }

        let (answer, calls) = look_up_after(&stage, &post, after).await;

        let Resolution::Candidate(found) = answer else { panic!("{answer:?}") };
        assert_eq!(found.platform_post_id, stage.fake.public_posts()[1].id, "not the one that is claimed");
        assert_eq!(calls, 0);
    }
    let (stage, account) = connected().await;
    let post = post(&stage, &account, (FORUM, Some("Tides")), "how high?", Vec::new());
    publish_with_lost_response(&stage, &post, InjectedFault::CutBefore).await;
    assert_eq!(look_up_after(&stage, &post, TimeDelta::seconds(5)).await, (Resolution::NotFound, 0));
}

/// An empty list says nothing where the bot may not read.
#[tokio::test]
async fn missing_history_permission_never_means_not_found() {
    for fault in [InjectedFault::LoseResponse, InjectedFault::CutBefore] {
        for place in [(GENERAL, None), (FORUM, Some("Tides"))] {
            let (stage, account) = connected().await;
            let post = post(&stage, &account, place, "good morning", Vec::new());
            stage.fake.denies(place.0, HISTORY);
            publish_with_lost_response(&stage, &post, fault).await;

            let (answer, _) = look_up_after(&stage, &post, TimeDelta::hours(1)).await;

            let Resolution::Pending { reason } = answer else { panic!("{place:?} {fault:?}: {answer:?}") };
            assert!(!reason.is_empty());
        }
    }
    // Its nonce tells all the same.
    let (stage, account) = connected().await;
    let post = post(&stage, &account, (GENERAL, None), "good morning", Vec::new());
    stage.fake.denies(GENERAL, HISTORY);
    publish_with_lost_response(&stage, &post, InjectedFault::LoseResponse).await;
    let (answer, calls) = look_up_after(&stage, &post, TimeDelta::seconds(65)).await;
    assert!(matches!(answer, Resolution::Found(_)), "{answer:?}");
    assert_eq!((calls, stage.fake.public_posts().len()), (1, 1));
}

#[tokio::test]
async fn busy_channel_is_read_page_by_page() {
    for (others, is_found) in [(0, true), (100, true), (450, true), (600, false)] {
        let (stage, account) = connected().await;
        let post = post(&stage, &account, (GENERAL, None), "good morning", Vec::new());
        stage.fake.add_other_messages(GENERAL, others);
        stage.clock.advance(TimeDelta::seconds(1));
        publish_with_lost_response(&stage, &post, InjectedFault::LoseResponse).await;
        let since = stage.clock.now();
        stage.clock.advance(TimeDelta::hours(3));
        stage.fake.add_other_messages(GENERAL, others);

        let answer = stage.resolve(&post, since).await;

        match answer {
            Resolution::Candidate(found) if is_found => assert_eq!(found.platform_post_id, id(&stage)),
            Resolution::Pending { reason } if !is_found => assert!(reason.contains("too many messages"), "{reason}"),
            other => panic!("{others}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn look_up_is_pending_while_bot_is_not_in_the_server() {
    let (stage, account) = connected().await;
    let post = post(&stage, &account, (GENERAL, None), "good morning", Vec::new());
    publish_with_lost_response(&stage, &post, InjectedFault::LoseResponse).await;
    stage.fake.revoke();

    let (answer, _) = look_up_after(&stage, &post, TimeDelta::seconds(65)).await;
    assert!(matches!(answer, Resolution::Unauthorized { .. }), "{answer:?}");

    stage.connect().await;
    let (answer, _) = look_up_after(&stage, &post, TimeDelta::zero()).await;
    assert!(matches!(answer, Resolution::Candidate(_) | Resolution::Pending { .. }), "{answer:?}");
    // What somebody deletes with its channel is not public any more.
    stage.fake.delete_channel(GENERAL);
    assert_eq!(look_up_after(&stage, &post, TimeDelta::hours(1)).await.0, Resolution::NotPublished);
}
