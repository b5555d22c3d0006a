//! The look-up of a call whose response was lost.

use fakes::discord::bot::{DiscordBot, FORUM, GENERAL, HISTORY};

use super::post;
use crate::prelude::*;

/// The result of a look-up this long after the call, and the number of its calls.
async fn look_up_after(harness: &AdapterHarness<DiscordBot>, post: &Post<'_>, after: TimeDelta) -> (Resolution, usize) {
    let since = harness.clock.now();
    harness.clock.advance(after);
    let before = harness.fake.call_count(Call::Publish);
    (harness.resolve(post, since).await, harness.fake.call_count(Call::Publish) - before)
}

fn id(harness: &AdapterHarness<DiscordBot>) -> String {
    let [it] = harness.fake.public_posts().try_into().unwrap();
    it.id
}

/// Two posts have the same text, so only the nonce distinguishes their messages. The adapter sends
/// a post again only after the first call, which begins within five seconds of its intent, can no
/// longer take effect, and while Discord still has the nonce.
#[tokio::test]
async fn text_post_is_resolved_by_nonce_within_two_minutes() {
    for (seconds, is_sent_again) in [(5, false), (64, false), (65, true), (79, true), (80, false), (130, false)] {
        let (harness, account) = connected::<DiscordBot>().await;
        let post = post(&harness, &account, (GENERAL, None), "good morning", Vec::new());
        harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

        let (answer, calls) = look_up_after(&harness, &post, TimeDelta::seconds(seconds)).await;

        assert_eq!(calls, usize::from(is_sent_again), "after {seconds} seconds");
        match answer {
            Resolution::Found(found) if is_sent_again => assert_eq!(found.platform_post_id, id(&harness)),
            Resolution::Pending { .. } if seconds < 65 => {}
            Resolution::Candidate(found) if 80 <= seconds => assert_eq!(found.platform_post_id, id(&harness)),
            other => panic!("after {seconds} seconds: {other:?}"),
        }
        assert_eq!(harness.fake.public_posts().len(), 1);
    }
}

#[tokio::test]
async fn missing_post_is_sent_again_with_the_same_nonce() {
    let (harness, account) = connected::<DiscordBot>().await;
    let post = post(&harness, &account, (GENERAL, None), "good morning", Vec::new());
    harness.fake.add_other_messages(GENERAL, 3);
    harness.lose_outcome(&post, InjectedFault::CutBefore).await;

    let (answer, calls) = look_up_after(&harness, &post, TimeDelta::seconds(5)).await;

    assert_eq!((answer, calls), (Resolution::NotFound, 0));
    harness.publish(&post).await.unwrap();
    let first = harness.fake.latest_payload()["nonce"].clone();
    // The first call took effect after all, very late.
    let repeated = harness.publish(&post).await.unwrap();
    assert_eq!((id(&harness), harness.fake.latest_payload()["nonce"].clone()), (repeated.platform_post_id, first));
}

#[tokio::test]
async fn listed_nonce_identifies_the_post_at_once() {
    let (harness, account) = connected::<DiscordBot>().await;
    harness.fake.lists_nonces();
    let post = post(&harness, &account, (GENERAL, None), "good morning", Vec::new());
    harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

    let (answer, calls) = look_up_after(&harness, &post, TimeDelta::seconds(5)).await;

    let Resolution::Found(found) = answer else { panic!("{answer:?}") };
    assert_eq!((found.platform_post_id, calls), (id(&harness), 0));
}

#[tokio::test]
async fn file_names_identify_our_message() {
    for place in [(GENERAL, None), (FORUM, Some("Tides"))] {
        let (harness, account) = connected::<DiscordBot>().await;
        let post = post(&harness, &account, place, "a picture", vec![sample(MimeType::Png, 1)]);
        harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

        let (answer, calls) = look_up_after(&harness, &post, TimeDelta::hours(9)).await;

        let Resolution::Found(found) = answer else { panic!("{answer:?}") };
        assert_eq!((&found.platform_post_id, calls), (&id(&harness), 0));
        let thread = if place.1.is_some() { found.platform_post_id.as_str() } else { GENERAL };
        let end = format!("/{thread}/{}", found.platform_post_id);
        assert!(found.url.as_ref().unwrap().ends_with(&end), "{found:?}");
    }
}

/// Threads have no nonce, so the adapter does not send them again.
#[tokio::test]
async fn thread_is_found_by_text_even_if_archived() {
    for (after, is_archived) in [(TimeDelta::seconds(70), false), (TimeDelta::hours(9), true)] {
        let (harness, account) = connected::<DiscordBot>().await;
        harness.deliver(&mut post(&harness, &account, (FORUM, Some("Tides")), "how high?", Vec::new())).await.unwrap();
        let post = post(&harness, &account, (FORUM, Some("Tides")), "how high?", Vec::new());
        harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
        if is_archived {
            harness.fake.archive_threads();
        }

        let (answer, calls) = look_up_after(&harness, &post, after).await;

        let Resolution::Candidate(found) = answer else { panic!("{answer:?}") };
        assert_eq!(found.platform_post_id, harness.fake.public_posts()[1].id, "not the one that is claimed");
        assert_eq!(calls, 0);
    }
    let (harness, account) = connected::<DiscordBot>().await;
    let post = post(&harness, &account, (FORUM, Some("Tides")), "how high?", Vec::new());
    harness.lose_outcome(&post, InjectedFault::CutBefore).await;
    assert_eq!(look_up_after(&harness, &post, TimeDelta::seconds(5)).await, (Resolution::NotFound, 0));
}

/// Where the bot lacks the read permission, an empty list proves nothing.
#[tokio::test]
async fn missing_history_permission_never_means_not_found() {
    for fault in [InjectedFault::LoseResponse, InjectedFault::CutBefore] {
        for place in [(GENERAL, None), (FORUM, Some("Tides"))] {
            let (harness, account) = connected::<DiscordBot>().await;
            let post = post(&harness, &account, place, "good morning", Vec::new());
            harness.fake.denies(place.0, HISTORY);
            harness.lose_outcome(&post, fault).await;

            let (answer, _) = look_up_after(&harness, &post, TimeDelta::hours(1)).await;

            assert_matches!(&answer, Resolution::Pending { reason } if !reason.is_empty(), "{place:?} {fault:?}");
        }
    }
    // The nonce still identifies the message.
    let (harness, account) = connected::<DiscordBot>().await;
    let post = post(&harness, &account, (GENERAL, None), "good morning", Vec::new());
    harness.fake.denies(GENERAL, HISTORY);
    harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
    let (answer, calls) = look_up_after(&harness, &post, TimeDelta::seconds(65)).await;
    assert_matches!(&answer, Resolution::Found(_));
    assert_eq!((calls, harness.fake.public_posts().len()), (1, 1));
}

#[tokio::test]
async fn busy_channel_is_read_page_by_page() {
    for (others, is_found) in [(0, true), (100, true), (450, true), (600, false)] {
        let (harness, account) = connected::<DiscordBot>().await;
        let post = post(&harness, &account, (GENERAL, None), "good morning", Vec::new());
        harness.fake.add_other_messages(GENERAL, others);
        harness.clock.advance(TimeDelta::seconds(1));
        harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
        let since = harness.clock.now();
        harness.clock.advance(TimeDelta::hours(3));
        harness.fake.add_other_messages(GENERAL, others);

        let answer = harness.resolve(&post, since).await;

        match answer {
            Resolution::Candidate(found) if is_found => assert_eq!(found.platform_post_id, id(&harness)),
            Resolution::Pending { reason } if !is_found => assert!(reason.contains("too many messages"), "{reason}"),
            other => panic!("{others}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn look_up_is_pending_while_bot_is_not_in_the_server() {
    let (harness, account) = connected::<DiscordBot>().await;
    let post = post(&harness, &account, (GENERAL, None), "good morning", Vec::new());
    harness.lose_outcome(&post, InjectedFault::LoseResponse).await;
    harness.fake.revoke();

    let (answer, _) = look_up_after(&harness, &post, TimeDelta::seconds(65)).await;
    assert_matches!(&answer, Resolution::Unauthorized { .. });

    harness.connect().await;
    let (answer, _) = look_up_after(&harness, &post, TimeDelta::zero()).await;
    assert_matches!(&answer, Resolution::Candidate(_) | Resolution::Pending { .. });
    // A post in a deleted channel is no longer public.
    harness.fake.delete_channel(GENERAL);
    assert_eq!(look_up_after(&harness, &post, TimeDelta::hours(1)).await.0, Resolution::NotPublished);
}
