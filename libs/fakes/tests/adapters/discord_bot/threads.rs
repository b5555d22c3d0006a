//! Replies in channels and in the threads of forums.

use fakes::discord::GUILD;
use fakes::discord::bot::{DiscordBot, FORUM, GENERAL, HISTORY, IN_THREADS, SEND};

use super::post;
use crate::prelude::*;

async fn begun(harness: &AdapterHarness<DiscordBot>, account: &Account) -> Published {
    let mut root = post(harness, account, (FORUM, Some("Tides")), "how high?", Vec::new());
    harness.deliver(&mut root).await.unwrap().published
}

/// Without a title.
fn reply<'a>(
    harness: &AdapterHarness<DiscordBot>,
    account: &'a Account,
    channel: &str,
    (root, parent): (&Published, &Published),
    media: Vec<Sample>,
) -> Post<'a> {
    harness.reply(account, (root, parent), "very high", media).with(json!({ "channel": channel }))
}

#[tokio::test]
async fn replies_in_a_forum_are_messages_of_its_thread() {
    let (harness, account) = connected::<DiscordBot>().await;
    let root = begun(&harness, &account).await;
    let thread = harness.fake.latest_channel();
    harness.fake.archive_threads();
    let mut parent = root.clone();
    for media in [Vec::new(), vec![sample(MimeType::Png, 1)]] {
        let mut reply = reply(&harness, &account, FORUM, (&root, &parent), media);

        let published = harness.deliver(&mut reply).await.unwrap().published;

        assert_eq!(harness.fake.latest_channel(), thread);
        let url = format!("https://discord.com/channels/{GUILD}/{thread}/{}", published.platform_post_id);
        assert_eq!(published.url, Some(url));
        assert_eq!(harness.fake.public_posts().pop().unwrap().reply_to, Some(parent.platform_post_id));
        parent = published;
    }
    assert_eq!(harness.fake.titles(), ["Tides"]);
}

#[tokio::test]
async fn lost_reply_in_a_forum_is_found_in_its_thread() {
    for (fault, seconds) in
        [(InjectedFault::LoseResponse, 70), (InjectedFault::LoseResponse, 600), (InjectedFault::CutBefore, 5)]
    {
        let (harness, account) = connected::<DiscordBot>().await;
        let root = begun(&harness, &account).await;
        let other = begun(&harness, &account).await;
        harness.deliver(&mut reply(&harness, &account, FORUM, (&other, &other), Vec::new())).await.unwrap();
        let reply = reply(&harness, &account, FORUM, (&root, &root), Vec::new());
        let since = harness.lose_outcome(&reply, fault).await;
        harness.clock.advance(TimeDelta::seconds(seconds));

        let resolution = harness.resolve(&reply, since).await;

        match (fault, resolution) {
            (InjectedFault::CutBefore, resolution) => assert_eq!(resolution, Resolution::NotFound),
            (_, Resolution::Found(found) | Resolution::Candidate(found)) => {
                let public = harness.fake.public_posts();
                let shown = public.iter().find(|it| it.id == found.platform_post_id).unwrap();
                assert_eq!(shown.reply_to, Some(root.platform_post_id));
                assert_eq!(public.len(), 4);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn reply_in_a_deleted_thread_is_not_public() {
    let (harness, account) = connected::<DiscordBot>().await;
    let root = begun(&harness, &account).await;
    let reply = reply(&harness, &account, FORUM, (&root, &root), Vec::new());
    let since = harness.lose_outcome(&reply, InjectedFault::LoseResponse).await;
    harness.fake.delete_threads();

    assert_eq!(harness.resolve(&reply, since).await, Resolution::NotPublished);
    assert_refused(harness.publish(&reply).await, "Unknown Channel");
}

#[tokio::test]
async fn reply_to_a_deleted_message_is_refused() {
    let (harness, account) = connected::<DiscordBot>().await;
    let mut root = post(&harness, &account, (GENERAL, None), "how high?", Vec::new());
    let root = harness.deliver(&mut root).await.unwrap().published;
    harness.fake.delete_message(&root.platform_post_id);

    let reply = reply(&harness, &account, GENERAL, (&root, &root), Vec::new());
    assert_refused(harness.publish(&reply).await, "Invalid Form Body");
}

#[tokio::test]
async fn missing_permission_for_replies_does_not_end_the_connection() {
    let (harness, account) = connected::<DiscordBot>().await;
    let root = begun(&harness, &account).await;
    harness.fake.denies(FORUM, SEND);
    harness.deliver(&mut reply(&harness, &account, FORUM, (&root, &root), Vec::new())).await.unwrap();
    let last = reply(&harness, &account, FORUM, (&root, &root), Vec::new());

    harness.fake.denies(FORUM, HISTORY);
    assert_refused(harness.publish(&last).await, "Read Message History");
    harness.fake.denies(FORUM, IN_THREADS);
    assert_matches!(harness.publish(&last).await, Err(AttemptError::Refused { reason })
        if reason.starts_with("Missing Permissions") && reason.contains("messages in threads"));
}
