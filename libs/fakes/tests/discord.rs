//! Behavior specific to Discord webhooks.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

use std::collections::BTreeMap;

use domain::delivery::AttemptError;
use domain::media::{Attachment, MimeType};
use domain::options::{OptionValue, Options};
use domain::text::PostText;
use domain::validation_errors::ValidationErrors;
use fakes::discord::{CHANNEL, Discord, GUILD};
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Call, Decision, FakePlatform, InjectedFault};
use platforms::conformance::options::{options, text};
use platforms::conformance::samples::{Sample, sample};
use platforms::{AuthorizeStep, ConnectError, Credentials, FieldValues};
use secrecy::ExposeSecret;
use serde_json::json;
use url::Url;

fn typed(webhook: &str) -> FieldValues {
    FieldValues::from([("webhook".to_owned(), webhook.into())])
}

fn pictures(count: u8) -> Vec<Sample> {
    (1..=count).map(|it| sample(MimeType::Png, it)).collect()
}

#[tokio::test]
async fn error_of_a_bad_paste_does_not_repeat_it() {
    let harness = AdapterHarness::<Discord>::new().await;
    let url = harness.fake.webhook_url();
    let (of_another, unknown) = (format!("{}AAAA", &url[..url.len() - 4]), url.replacen("34711", "44711", 1));
    for (pasted, said) in [
        ("https://evil.example/api/webhooks/1/2", "This is not the URL of a Discord webhook."),
        (url.trim_start_matches("https://"), "This is not the URL of a Discord webhook."),
        (&of_another, "Discord does not know this webhook"),
        (&unknown, "Discord does not know this webhook"),
    ] {
        let refusal = harness.authorize(&typed(pasted)).await.map(|it| it.0).unwrap_err();
        let ConnectError::Field { name: "webhook", message } = refusal else { panic!("{refusal:?}") };
        assert!(message.starts_with(said) && message.ends_with("Copy Webhook URL."), "{message}");
    }
    assert_eq!(harness.fake.request_log.all().len(), 2, "only Discord was called, and only about webhooks");
}

#[tokio::test]
async fn a_channel_is_chosen_on_discords_page() {
    let harness = AdapterHarness::<Discord>::new().await;
    let nothing = typed(" ");
    let (step, _) = harness.authorize(&nothing).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    let asked: BTreeMap<String, String> = Url::parse(&url).unwrap().query_pairs().into_owned().collect();
    let names: Vec<_> = asked.keys().map(String::as_str).collect();
    assert_eq!(names, ["client_id", "redirect_uri", "response_type", "scope", "state"]);
    assert_eq!(asked["scope"], "webhook.incoming");

    let account = harness.connect().await;

    assert_eq!(
        (account.profile.account_id.as_str(), account.scopes.as_slice()),
        (CHANNEL, &[asked["scope"].clone()][..])
    );
    let token = harness.fake.request_log.latest("POST /api/v10/oauth2/token").unwrap();
    assert!(token.headers["authorization"].to_str().unwrap().starts_with("Basic "));
    let Credentials { access_token, refresh_token, expires_at, .. } = &account.credentials;
    assert!(refresh_token.is_none() && expires_at.is_none(), "the tokens of the person are not kept");
    assert!(harness.fake.is_webhook_token(access_token.expose_secret()));
    let published = harness.deliver(&mut harness.post(&account, "chosen", Vec::new())).await.unwrap().published;
    let id = &published.platform_post_id;
    assert_eq!(published.url, Some(format!("https://discord.com/channels/{GUILD}/{CHANNEL}/{id}")));
}

#[tokio::test]
async fn tokens_without_a_webhook_connect_nothing() {
    let harness = AdapterHarness::<Discord>::new().await;
    harness.fake.keeps_webhooks();
    let callback = harness.callback_after(Decision::Allow).await;

    let refusal = harness.complete(&callback).await.unwrap_err();

    assert_eq!(refusal.to_string(), "the account could not be connected: Discord created no webhook for a channel");
}

#[tokio::test]
async fn without_an_app_a_webhook_has_to_be_pasted() {
    let (with, without) = (AdapterHarness::<Discord>::new().await, AdapterHarness::<Discord<false>>::new().await);
    assert!(with.connector().fields()[0].optional.is_some() && without.connector().fields()[0].optional.is_none());

    let refusal = without.authorize(&typed("")).await.map(|it| it.0).unwrap_err();

    assert!(matches!(refusal, ConnectError::Field { name: "webhook", .. }), "{refusal:?}");
}

#[tokio::test]
async fn a_webhook_that_was_made_for_us_is_deleted_with_the_connection() {
    let harness = AdapterHarness::<Discord>::new().await;
    let account = harness.connect().await;
    let revoke = || harness.connector().revoke(&account.credentials, harness.clock.now());

    harness.fake.inject_fault(Call::Revoke, InjectedFault::Unavailable, 1);
    let error = revoke().await.unwrap_err();
    assert!(matches!(error, AttemptError::RetryLater { .. }), "{error:?}");
    assert_eq!(harness.fake.grant_count(), 1);
    revoke().await.unwrap();
    assert_eq!(harness.fake.grant_count(), 0);
    revoke().await.unwrap();
}

#[tokio::test]
async fn a_pasted_webhook_stays_when_the_account_is_disconnected() {
    let harness = AdapterHarness::<Discord>::new().await;
    let account = harness.connect_directly().await.unwrap();

    harness.connector().revoke(&account.credentials, harness.clock.now()).await.unwrap();

    assert_eq!(harness.fake.call_count(Call::Revoke), 0);
    let mut post = harness.post(&account, "still here", Vec::new());
    harness.deliver(&mut post).await.unwrap();
}

#[tokio::test]
async fn where_discord_does_not_say_which_server_it_is_there_is_no_link() {
    let harness = AdapterHarness::<Discord>::new().await;
    harness.fake.hide_guild();
    let account = harness.connect_directly().await.unwrap();
    assert!(account.profile.avatar.as_deref().unwrap().starts_with("https://cdn.discordapp.com/avatars/3"));
    assert_eq!(account.profile.profile_url, None);
    let mut post = harness.post(&account, "somewhere", Vec::new());

    assert_eq!(harness.deliver(&mut post).await.unwrap().published.url, None);
}

#[tokio::test]
async fn nobody_is_notified_whatever_the_text_says() {
    let harness = AdapterHarness::<Discord>::new().await;
    let account = harness.connect_directly().await.unwrap();
    for files in [Vec::new(), pictures(1)] {
        let mut post = harness.post(&account, "@everyone <@80351110224678912> **look**", files);
        harness.deliver(&mut post).await.unwrap();

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
    let mut post = harness.post(&account, "https://example.invalid/", Vec::new());
    post.options = options(&[
        ("silent", OptionValue::Flag(true)),
        ("suppress_embeds", OptionValue::Flag(true)),
        ("username", text("Keeper")),
        ("avatar_url", text("https://example.invalid/keeper.png")),
    ]);

    harness.deliver(&mut post).await.unwrap();

    let mut payload = harness.fake.latest_payload();
    payload.as_object_mut().unwrap().remove("allowed_mentions");
    let expected = json!({
        "content": "https://example.invalid/",
        "flags": 4_100,
        "username": "Keeper",
        "avatar_url": "https://example.invalid/keeper.png",
    });
    assert_eq!(payload, expected);
}

#[tokio::test]
async fn a_post_with_a_title_begins_a_thread_in_a_forum() {
    let harness = AdapterHarness::<Discord>::new().await;
    let account = harness.connect_directly().await.unwrap();
    harness.fake.make_forum();
    let mut post = harness.post(&account, "tides", pictures(1));
    post.options = options(&[("thread_name", text("Tides"))]);

    let published = harness.deliver(&mut post).await.unwrap().published;

    let (url, of_channel) = (published.url.unwrap(), format!("https://discord.com/channels/{GUILD}/{CHANNEL}/"));
    assert!(!url.starts_with(&of_channel) && url.ends_with(&published.platform_post_id), "it is in a thread: {url}");
}

#[tokio::test]
async fn a_webhook_has_no_threads() {
    let harness = AdapterHarness::<Discord>::new().await;
    let account = harness.connect().await;
    let root = harness.deliver(&mut harness.post(&account, "one", Vec::new())).await.unwrap().published;

    let breach = account.rules.thread_breaches(1).unwrap();
    let refused = harness.publish(&harness.reply(&account, (&root, &root), "two", Vec::new())).await.unwrap_err();

    assert!(breach.message.starts_with("Discord has no threads; give this account \"thread\": []"), "{breach:?}");
    assert!(
        matches!(&refused, AttemptError::Refused { reason } if reason.contains("a webhook cannot reply")),
        "{refused:?}"
    );
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[test]
fn username_that_discord_never_takes_is_refused_with_the_post() {
    for (username, expected) in [
        ("Lighthouse", None),
        ("Disco Rd", None),
        ("The DISCORD Keeper", Some("may not contain \"discord\"; remove that word")),
        ("clydesdale", Some("may not contain \"clyde\"; remove that word")),
    ] {
        let options = options(&[("username", text(username))]);
        let mut faults = ValidationErrors::new();
        platforms::vocabulary().check_values("discord", &options, "options", &mut faults);
        let messages: Vec<_> = faults.iter().map(|it| it.1.to_owned()).collect();
        let expected: Vec<_> = expected.into_iter().map(|it| format!("options.username {it}")).collect();
        assert_eq!(messages, expected, "{username}");
    }
}

#[tokio::test]
async fn each_file_is_opened_when_its_turn_comes() {
    let harness = AdapterHarness::<Discord>::new().await;
    let account = harness.connect().await;
    let post = harness.due(&account, "ten of them", pictures(10)).await;

    harness.publish(&post).await.unwrap();

    assert_eq!(harness.fake.public_posts()[0].media.len(), 10);
    assert_eq!(post.max_open(), 1);
}

#[tokio::test]
async fn too_large_file_is_a_validation_error() {
    let harness = AdapterHarness::<Discord>::new().await;
    let account = harness.connect_directly().await.unwrap();
    let errors = |sizes: &[u64]| {
        let of = |size_bytes: &u64| Attachment { size_bytes: *size_bytes, ..sample(MimeType::Png, 1).attachment };
        let files: Vec<_> = sizes.iter().map(of).collect();
        let errors = account.rules.breaches(&PostText::parse("large").unwrap(), &files, &Options::default());
        errors.into_iter().map(|it| it.message).collect::<Vec<_>>()
    };
    assert_eq!(errors(&[10 << 20, 10 << 20, 4 << 20]), Vec::<String>::new());
    assert_eq!(errors(&[11 << 20]), ["Discord accepts images of at most 10 MiB; this has 11 MiB"]);
    let expected = "Discord accepts images and videos of at most 24 MiB together; these have 25 MiB";
    assert_eq!(errors(&[10 << 20, 10 << 20, 5 << 20]), [expected]);
}
