//! Servers, their channels, and the end of connections.

use std::sync::Arc;

use egress::AddressPolicy;
use fakes::discord::bot::{DiscordBot, FORUM, GENERAL, NEWS, SERVER, VIEW};
use fakes::discord::{Discord, GUILD};
use platforms::{AppCredentials, AppSource, Connect, MemoryVault, Registry, Setup};

use crate::prelude::*;

#[tokio::test]
async fn server_is_described_and_the_bot_requests_its_permissions() {
    let harness = AdapterHarness::<DiscordBot>::new().await;
    let (url, _) = page_for(&harness, &harness.fake.form_values()).await;
    assert!(url.contains("scope=bot%20identify") && url.contains("permissions=274878024704"), "{url}");

    let profile = harness.connect().await.profile;

    assert_eq!((profile.account_id, profile.username.as_deref()), (format!("server:{GUILD}"), Some(SERVER)));
    assert_eq!(profile.profile_url, Some(format!("https://discord.com/channels/{GUILD}")));
    let icon = "a_bb71f469c158984e265093a81b3397fb";
    assert_eq!(profile.avatar, Some(format!("https://cdn.discordapp.com/icons/{GUILD}/{icon}.png")));
}

#[tokio::test]
async fn channels_in_which_the_bot_may_post_are_listed_in_their_order() {
    let (harness, account) = connected::<DiscordBot>().await;
    let all = [(FORUM, "#questions (forum)"), (GENERAL, "#general – Tower"), (NEWS, "#news – Tower")];
    let all = all.map(|(id, label)| (id.to_owned(), label.to_owned()));
    assert_eq!(harness.choices(&account, "channel").await.unwrap(), all);

    harness.fake.denies(GENERAL, VIEW);
    assert_eq!(harness.choices(&account, "channel").await.unwrap(), [all[0].clone(), all[2].clone()]);
    harness.fake.revoke();
    assert_matches!(harness.choices(&account, "channel").await, Err(AttemptError::Unauthorized { .. }));
}

#[tokio::test]
async fn server_needs_a_channel_and_a_webhook_has_one() {
    let (_, server) = connected::<DiscordBot>().await;
    let webhook = AdapterHarness::<Discord>::new().await.connect_directly().await.unwrap();
    for (account, given, field) in [
        (&server, json!({}), Some("options.channel")),
        (&server, json!({ "channel": GENERAL, "thread_name": "Tides" }), None),
        (&server, json!({ "channel": GENERAL, "username": "Keeper" }), Some("options.username")),
        (&webhook, json!({ "username": "Keeper" }), None),
        (&webhook, json!({ "channel": GENERAL }), Some("options.channel")),
    ] {
        let errors = account.rules.breaches("x", &[], &options(given.clone()));
        assert_eq!(errors.first().map(|it| &*it.field), field, "{given:?}: {errors:?}");
    }
}

#[tokio::test]
async fn reset_bot_token_ends_no_connection() {
    let (harness, account) = connected::<DiscordBot>().await;
    let old = harness.fake.token();
    harness.fake.reset_token();

    let error = harness.publish(&harness.post(&account, "reset", Vec::new())).await.unwrap_err();
    let AttemptError::RetryLater { retry_at: None, reason } = error else { panic!("{error:?}") };
    assert_eq!(reason, "Discord does not accept the token of this service's bot");
    assert!(!reason.contains(&old));
    assert_matches!(details(&harness, &account).await, Err(AttemptError::RetryLater { .. }));
    assert_matches!(connect_all(&harness).await, Err(ConnectError::Unreachable));
}

/// The adapter of a deployment with these settings and this secret.
fn set_up(fake: &impl FakePlatform, settings: Value, app: Value) -> Registry<dyn Connect> {
    let app: AppCredentials = serde_json::from_value(app).unwrap();
    let app = move |_: &str| -> Arc<dyn AppSource> { Arc::new(app.clone()) };
    let settings = [("discord".to_owned(), settings)].into();
    let policy = AddressPolicy::Also(fake.addresses());
    Registry::new(&Setup::new(settings, app, Arc::new(MemoryVault::default()), policy)).unwrap()
}

#[tokio::test]
async fn disabled_bot_ends_no_connection() {
    let (harness, account) = connected::<DiscordBot>().await;
    let settings = json!({"url": harness.fake.settings()["url"], "app": true});
    let app = json!({"client_id": "us", "client_secret": "hush", "bot_token": harness.fake.token()});
    let registry = set_up(&*harness.fake, settings, app);
    let discord = registry.get("discord").unwrap();

    let about = discord.account_details(&account.profile, &account.credentials, harness.clock.now()).await;

    let Err(AttemptError::RetryLater { retry_at: None, reason }) = about else { panic!("{about:?}") };
    assert!(reason.starts_with("this service's Discord bot is disabled"), "{reason}");
    assert_eq!(harness.fake.grant_count(), 1);
}

#[tokio::test]
async fn webhook_can_be_pasted_despite_a_bot() {
    let harness = AdapterHarness::<Discord>::new().await;
    let app = json!({"client_id": "us", "client_secret": "hush", "bot_token": "Mj.Cl.Zn"});
    let settings = |bot: bool| json!({"url": harness.fake.base_url(), "app": true, "bot": bot});
    let typed = |webhook: &str| FieldValues::from([("webhook".to_owned(), webhook.into())]);
    let request = || platforms::AuthorizationRequest {
        state: "state".into(),
        urls: harness.callback_urls(),
        challenge: "challenge".to_owned(),
    };
    for bot in [true, false] {
        let registry = set_up(&*harness.fake, settings(bot), app.clone());
        let discord = registry.get("discord").unwrap();
        let step =
            discord.authorize(&typed(&harness.fake.webhook_url()), &request(), harness.clock.now()).await.unwrap();
        let AuthorizeStep::Accounts(accounts) = step else { panic!("{step:?}") };
        assert_eq!(accounts[0].scopes, ["webhook.incoming"]);
        let step = discord.authorize(&typed(""), &request(), harness.clock.now()).await.unwrap();
        let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
        assert_eq!(url.contains("scope=bot%20identify"), bot, "{url}");
    }

    let without = json!({"client_id": "us", "client_secret": "hush"});
    let registry = set_up(&*harness.fake, settings(true), without);
    let refusal = registry.get("discord").unwrap().authorize(&typed(""), &request(), harness.clock.now()).await;
    assert_matches!(refusal, Err(ConnectError::Unreachable));
}
