//! Servers, their channels, and the end of connections.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::connection::Connection;
use domain::delivery::AttemptError;
use domain::testing::{a_connection, a_user};
use domain::text::PostText;
use egress::AddressPolicy;
use fakes::discord::bot::{BOT, DiscordBot, FORUM, GENERAL, NEWS, SERVER, VIEW};
use fakes::discord::{Discord, GUILD};
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use platforms::{
    Account, AppCredentials, AppSource, AuthorizeStep, ChoicesRequest, Connect, ConnectError, FieldValues,
};
use platforms::{MemoryVault, Registry, Setup};
use secrecy::ExposeSecret;
use serde_json::json;
use url::Url;

use super::{connected, options};

#[tokio::test]
async fn the_bot_is_added_to_a_server_on_discords_page() {
    let harness = AdapterHarness::<DiscordBot>::new().await;
    let (step, _) = harness.authorize(&harness.fake.form_values()).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    let asked: BTreeMap<String, String> = Url::parse(&url).unwrap().query_pairs().into_owned().collect();
    let names: Vec<_> = asked.keys().map(String::as_str).collect();
    assert_eq!(names, ["client_id", "permissions", "redirect_uri", "response_type", "scope", "state"]);
    assert_eq!((asked["scope"].as_str(), asked["permissions"].as_str()), ("bot identify", "274878024704"));

    let account = harness.connect().await;

    assert_eq!(account.profile.account_id, format!("server:{GUILD}"));
    assert_eq!(account.profile.username.as_deref(), Some(SERVER));
    assert_eq!(account.profile.profile_url, Some(format!("https://discord.com/channels/{GUILD}")));
    let icon = "a_bb71f469c158984e265093a81b3397fb";
    assert_eq!(account.profile.avatar, Some(format!("https://cdn.discordapp.com/icons/{GUILD}/{icon}.png")));
    assert_eq!(account.scopes, ["bot", "identify"]);
}

#[tokio::test]
async fn no_secret_is_kept_with_a_server() {
    let (harness, account) = connected().await;

    let kept = account.credentials.to_bytes();

    let extra = account.credentials.extra.as_ref().unwrap().expose_secret();
    assert_eq!(extra, json!({"server": GUILD, "bot": BOT}).to_string());
    assert!(!kept.expose_secret().contains(&harness.fake.token()));
    assert!(account.credentials.refresh_token.is_none() && account.credentials.expires_at.is_none());
}

async fn listed(
    harness: &AdapterHarness<DiscordBot>,
    account: &Account,
) -> Result<Vec<(String, String)>, AttemptError> {
    let connection = Connection { profile: account.profile.clone(), ..a_connection(&a_user()) };
    let asked =
        ChoicesRequest { option: "channel", query: None, connection: &connection, credentials: &account.credentials };
    let choices = harness.check_redacted(harness.connector().choices(&asked, harness.clock.now()).await)?;
    Ok(choices.into_iter().map(|it| (it.value, it.label)).collect())
}

#[tokio::test]
async fn channels_in_which_the_bot_may_post_are_listed_in_their_order() {
    let (harness, account) = connected().await;
    let said = |listed: &[(&str, &str)]| -> Vec<_> {
        listed.iter().map(|(id, label)| ((*id).to_owned(), (*label).to_owned())).collect()
    };

    let (forum, general, news) =
        ((FORUM, "#questions (forum)"), (GENERAL, "#general – Tower"), (NEWS, "#news – Tower"));
    assert_eq!(listed(&harness, &account).await.unwrap(), said(&[forum, general, news]));

    harness.fake.denies(GENERAL, VIEW);
    assert_eq!(listed(&harness, &account).await.unwrap(), said(&[forum, news]));
    harness.fake.revoke();
    let error = listed(&harness, &account).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_needs_a_channel_and_a_webhook_has_one() {
    let (_, server) = connected().await;
    let webhook = AdapterHarness::<Discord>::new().await.connect_directly().await.unwrap();
    let errors = |account: &Account, said: &[(&str, &str)]| {
        let errors = account.rules.breaches(&PostText::parse("x").unwrap(), &[], &options(said));
        errors.into_iter().map(|it| (it.field.into_owned(), it.message)).collect::<Vec<_>>()
    };

    let one = |field: &str, message: &str| vec![(field.to_owned(), message.to_owned())];
    let needed = one("options.channel", "Discord needs the option channel for this account");
    assert_eq!(errors(&server, &[]), needed);
    assert_eq!(errors(&server, &[("channel", GENERAL), ("thread_name", "Tides")]), []);
    let author = one("options.username", "Discord does not accept the option username here; leave it out");
    assert_eq!(errors(&server, &[("channel", GENERAL), ("username", "Keeper")]), author);

    assert_eq!(errors(&webhook, &[("username", "Keeper")]), []);
    let refused = one("options.channel", "Discord does not accept the option channel here; leave it out");
    assert_eq!(errors(&webhook, &[("channel", GENERAL)]), refused);
}

#[tokio::test]
async fn the_bot_leaves_with_the_connection() {
    let (harness, account) = connected().await;
    let revoke = || harness.connector().revoke(&account.credentials, harness.clock.now());

    harness.fake.inject_fault(Call::Revoke, InjectedFault::Unavailable, 1);
    revoke().await.unwrap_err();
    assert_eq!(harness.fake.grant_count(), 1);
    revoke().await.unwrap();
    assert_eq!(harness.fake.grant_count(), 0);
    revoke().await.unwrap();
}

#[tokio::test]
async fn that_the_bots_token_was_reset_is_no_fault_of_a_connection() {
    let (harness, account) = connected().await;
    let old = harness.fake.token();
    harness.fake.reset_token();

    let error = harness.publish(&harness.post(&account, "reset", Vec::new())).await.unwrap_err();
    let AttemptError::RetryLater { retry_at: None, reason } = error else { panic!("{error:?}") };
    assert_eq!(reason, "Discord does not accept the token of this service's bot");
    assert!(!reason.contains(&old));
    let about = harness.publisher().account_details(&account.profile, &account.credentials, harness.clock.now()).await;
    assert!(matches!(about, Err(AttemptError::RetryLater { .. })), "{about:?}");
    let callback = harness.callback_after(platforms::conformance::fake_platform::Decision::Allow).await;
    let refusal = harness.complete(&callback).await.unwrap_err();
    assert!(matches!(refusal, ConnectError::Unreachable), "{refusal:?}");
}

/// The adapter of a deployment with these settings and this secret.
fn set_up(fake: &impl FakePlatform, settings: serde_json::Value, app: serde_json::Value) -> Registry<dyn Connect> {
    let app: AppCredentials = serde_json::from_value(app).unwrap();
    let app = move |_: &str| -> Arc<dyn AppSource> { Arc::new(app.clone()) };
    let settings = [("discord".to_owned(), settings)].into();
    let policy = AddressPolicy::Also(fake.addresses());
    Registry::new(&Setup::new(settings, app, Arc::new(MemoryVault::default()), policy)).unwrap()
}

#[tokio::test]
async fn a_bot_that_is_switched_off_ends_no_connection() {
    let (harness, account) = connected().await;
    let settings = json!({"url": harness.fake.settings()["url"], "app": true});
    let app = json!({"client_id": "us", "client_secret": "hush", "bot_token": harness.fake.token()});
    let registry = set_up(&harness.fake, settings, app);
    let discord = registry.get("discord").unwrap();

    let about = discord.account_details(&account.profile, &account.credentials, harness.clock.now()).await;

    let Err(AttemptError::RetryLater { retry_at: None, reason }) = about else { panic!("{about:?}") };
    assert!(reason.starts_with("this service's Discord bot is disabled"), "{reason}");
    assert_eq!(harness.fake.grant_count(), 1);
}

#[tokio::test]
async fn a_webhook_can_still_be_pasted_where_there_is_a_bot() {
    let harness = AdapterHarness::<Discord>::new().await;
    let app = json!({"client_id": "us", "client_secret": "hush", "bot_token": "Mj.Cl.Zn"});
    let settings = |bot: bool| json!({"url": harness.fake.base_url(), "app": true, "bot": bot});
    let typed = || FieldValues::from([("webhook".to_owned(), harness.fake.webhook_url().into())]);
    let request = || platforms::AuthorizationRequest {
        state: "state".into(),
        urls: harness.callback_urls(),
        challenge: "challenge".to_owned(),
    };
    for bot in [true, false] {
        let registry = set_up(&harness.fake, settings(bot), app.clone());
        let discord = registry.get("discord").unwrap();
        let step = discord.authorize(&typed(), &request(), harness.clock.now()).await.unwrap();
        let AuthorizeStep::Accounts(accounts) = step else { panic!("{step:?}") };
        assert_eq!(accounts[0].scopes, ["webhook.incoming"]);
        let nothing = FieldValues::from([("webhook".to_owned(), String::new().into())]);
        let step = discord.authorize(&nothing, &request(), harness.clock.now()).await.unwrap();
        let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
        assert_eq!(url.contains("scope=bot%20identify"), bot, "{url}");
    }

    let without = json!({"client_id": "us", "client_secret": "hush"});
    let registry = set_up(&harness.fake, settings(true), without);
    let nothing = FieldValues::from([("webhook".to_owned(), String::new().into())]);
    let refusal =
        registry.get("discord").unwrap().authorize(&nothing, &request(), harness.clock.now()).await.unwrap_err();
    assert!(matches!(refusal, ConnectError::Unreachable), "{refusal:?}");
}
