//! Behavior specific to Discord webhooks.

use fakes::discord::{CHANNEL, Discord, GUILD};

use crate::prelude::*;

fn typed(webhook: &str) -> FieldValues {
    FieldValues::from([("webhook".to_owned(), webhook.into())])
}

fn pictures(count: u8) -> Vec<Sample> {
    (1..=count).map(|it| sample(MimeType::Png, it)).collect()
}

#[tokio::test]
async fn error_does_not_repeat_the_pasted_text() {
    let harness = AdapterHarness::<Discord>::new().await;
    let url = harness.fake.webhook_url();
    let (of_another, unknown) = (format!("{}AAAA", &url[..url.len() - 4]), url.replacen("34711", "44711", 1));
    for (pasted, said) in [
        ("https://evil.example/api/webhooks/1/2", "This is not the URL of a Discord webhook."),
        (url.trim_start_matches("https://"), "This is not the URL of a Discord webhook."),
        (&of_another, "Discord does not know this webhook"),
        (&unknown, "Discord does not know this webhook"),
    ] {
        let (name, message) = field_error(&harness, &typed(pasted)).await;
        assert_eq!(name, "webhook", "{message}");
        assert!(message.starts_with(said) && message.ends_with("Copy Webhook URL."), "{message}");
    }
    assert_eq!(harness.fake.request_log.all().len(), 2, "only Discord was called, and only about webhooks");
}

#[tokio::test]
async fn tokens_without_a_webhook_connect_nothing() {
    let harness = AdapterHarness::<Discord>::new().await;
    harness.fake.keeps_webhooks();

    let refusal = connect_all(&harness).await.unwrap_err();

    assert_eq!(refusal.to_string(), "the account could not be connected: Discord created no webhook for a channel");
}

#[tokio::test]
async fn webhook_is_pasted_without_an_app() {
    let (with, without) = (AdapterHarness::<Discord>::new().await, AdapterHarness::<Discord<false>>::new().await);
    assert!(with.connector().fields()[0].optional.is_some() && without.connector().fields()[0].optional.is_none());

    assert_eq!(field_error(&without, &typed("")).await.0, "webhook");
}

#[tokio::test]
async fn pasted_webhook_is_not_deleted_on_disconnecting() {
    let harness = AdapterHarness::<Discord>::new().await;
    let account = harness.connect_directly().await.unwrap();

    harness.connector().revoke(&account.credentials, harness.clock.now()).await.unwrap();

    assert_eq!(harness.fake.call_count(Call::Revoke), 0);
    harness.deliver(&mut harness.post(&account, "still here", Vec::new())).await.unwrap();
}

#[tokio::test]
async fn mentions_in_the_text_notify_nobody() {
    let harness = AdapterHarness::<Discord>::new().await;
    let account = harness.connect_directly().await.unwrap();
    for files in [Vec::new(), pictures(1)] {
        harness.deliver(&mut harness.post(&account, "@everyone <@80351110224678912> **look**", files)).await.unwrap();

        let payload = harness.fake.latest_payload();
        assert_eq!(payload["allowed_mentions"], json!({"parse": []}));
        assert_eq!(payload["content"], "@everyone <@80351110224678912> **look**");
        assert_eq!(payload.get("flags"), None);
    }
}

#[tokio::test]
async fn options_become_fields_of_discord() {
    let harness = AdapterHarness::<Discord>::new().await;
    let account = harness.connect_directly().await.unwrap();
    let mut post = harness.post(&account, "https://example.invalid/", Vec::new()).with(json!({
        "silent": true, "suppress_embeds": true, "username": "Keeper",
        "avatar_url": "https://example.invalid/keeper.png",
    }));

    harness.deliver(&mut post).await.unwrap();

    let mut payload = harness.fake.latest_payload();
    payload.as_object_mut().unwrap().remove("allowed_mentions");
    let expected = json!({
        "content": "https://example.invalid/", "flags": 4_100, "username": "Keeper",
        "avatar_url": "https://example.invalid/keeper.png",
    });
    assert_eq!(payload, expected);
}

#[tokio::test]
async fn title_starts_a_thread_in_a_forum() {
    let harness = AdapterHarness::<Discord>::new().await;
    let account = harness.connect_directly().await.unwrap();
    harness.fake.make_forum();
    let mut post = harness.post(&account, "tides", pictures(1)).with(json!({ "thread_name": "Tides" }));

    let published = harness.deliver(&mut post).await.unwrap().published;

    let (url, of_channel) = (published.url.unwrap(), format!("https://discord.com/channels/{GUILD}/{CHANNEL}/"));
    assert!(!url.starts_with(&of_channel) && url.ends_with(&published.platform_post_id), "it is in a thread: {url}");
}
