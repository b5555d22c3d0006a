//! Posts, and missing permissions of the bot.

use fakes::discord::GUILD;
use fakes::discord::bot::{ATTACH, DiscordBot, FORUM, GENERAL, HIDDEN, NEWS, OF_ANOTHER_SERVER, READ_ONLY, VOICE};

use super::post;
use crate::prelude::*;

async fn refused(harness: &AdapterHarness<DiscordBot>, post: &Post<'_>) -> String {
    let error = harness.publish(post).await.unwrap_err();
    let AttemptError::Refused { reason } = error else { panic!("{error:?}") };
    assert!(!reason.contains(&harness.fake.token()), "the bot's token is passed on: {reason}");
    reason
}

#[tokio::test]
async fn message_has_a_nonce_and_notifies_nobody() {
    let (harness, account) = connected::<DiscordBot>().await;
    let flags = json!({ "channel": NEWS, "silent": true, "suppress_embeds": true });
    let mut post = harness.post(&account, "@everyone look", Vec::new()).with(flags);

    let published = harness.deliver(&mut post).await.unwrap().published;

    let mut payload = harness.fake.latest_payload();
    let nonce = payload["nonce"].take().as_str().unwrap().to_owned();
    assert!(nonce.len() == 24 && nonce.bytes().all(|it| it.is_ascii_hexdigit()), "{nonce}");
    let expected = json!({
        "content": "@everyone look", "allowed_mentions": {"parse": []}, "flags": 4_100,
        "nonce": null, "enforce_nonce": true,
    });
    assert_eq!(payload, expected);
    let id = &published.platform_post_id;
    assert_eq!(published.url, Some(format!("https://discord.com/channels/{GUILD}/{NEWS}/{id}")));
    assert_eq!(published.at, post.publish_at);
}

#[tokio::test]
async fn title_starts_a_thread_only_in_a_forum() {
    let (harness, account) = connected::<DiscordBot>().await;
    let mut titled = post(&harness, &account, (FORUM, Some("Tides")), "how high?", vec![sample(MimeType::Png, 1)]);

    let published = harness.deliver(&mut titled).await.unwrap().published;

    assert_eq!(harness.fake.titles(), ["Tides"]);
    let (id, thread) = (&published.platform_post_id, harness.fake.latest_channel());
    assert_eq!(published.url, Some(format!("https://discord.com/channels/{GUILD}/{thread}/{id}")));
    let untitled = post(&harness, &account, (FORUM, None), "how high?", Vec::new());
    assert!(refused(&harness, &untitled).await.starts_with("option thread_name: a post in a forum"));
    let elsewhere = post(&harness, &account, (GENERAL, Some("Tides")), "how high?", Vec::new());
    assert!(refused(&harness, &elsewhere).await.starts_with("option thread_name: only posts in forum"));
    assert_eq!(harness.fake.call_count(Call::Publish), 1, "nothing else was sent");
}

#[tokio::test]
async fn forum_that_requires_tags_says_what_to_do() {
    let (harness, account) = connected::<DiscordBot>().await;
    harness.fake.requires_tags();
    let mut titled = post(&harness, &account, (FORUM, Some("Tides")), "how high?", Vec::new());

    let advice = "switch off *Require people to select tags when posting*";
    assert_refused(harness.deliver(&mut titled).await, advice);
}

/// The bot is also a member of other users' servers.
#[tokio::test]
async fn post_goes_only_to_its_own_server() {
    let (harness, account) = connected::<DiscordBot>().await;
    for (channel, said) in [
        (OF_ANOTHER_SERVER, "option channel: this channel is in another server"),
        (VOICE, "option channel: this kind of channel does not accept posts"),
        ("../../users/@me", "option channel: choose one of the listed channels"),
        ("345626669224980000", "Unknown Channel"),
        (HIDDEN, "Missing Access"),
    ] {
        let reason = refused(&harness, &post(&harness, &account, (channel, None), "hello", Vec::new())).await;
        assert!(reason.starts_with(said), "{channel}: {reason}");
    }
    let mut nowhere = harness.post(&account, "hello", Vec::new()).with(json!({}));
    assert!(refused(&harness, &nowhere).await.starts_with("option channel: choose one"));
    nowhere.options = options(json!({ "channel": GENERAL, "username": "Keeper" }));
    assert!(refused(&harness, &nowhere).await.starts_with("option username: a bot posts under its own name"));
    assert_eq!(harness.fake.call_count(Call::Publish), 0);
}

#[tokio::test]
async fn missing_channel_permission_does_not_end_the_connection() {
    let (harness, account) = connected::<DiscordBot>().await;
    let picture = || vec![sample(MimeType::Png, 1)];
    let advice = "allow the bot to view the channel, to send messages and messages in threads, and to attach files \
                  there, or choose another channel";

    let reason = refused(&harness, &post(&harness, &account, (READ_ONLY, None), "hello", Vec::new())).await;
    assert!(reason.starts_with("Missing Permissions") && reason.ends_with(advice), "{reason}");
    harness.fake.denies(GENERAL, ATTACH);
    let reason = refused(&harness, &post(&harness, &account, (GENERAL, None), "hello", picture())).await;
    assert!(reason.starts_with("Missing Permissions"), "{reason}");
    harness.deliver(&mut post(&harness, &account, (GENERAL, None), "hello", Vec::new())).await.unwrap();

    harness.fake.delete_channel(NEWS);
    let reason = refused(&harness, &post(&harness, &account, (NEWS, None), "hello", Vec::new())).await;
    assert!(reason.starts_with("Unknown Channel"), "{reason}");
}
