use fakes::conformance::adapter_harness::AdapterHarness;
use fakes::conformance::fake_platform::{FakePlatform, start_fake};
use fakes::discord::Discord;
use fakes::discord::bot::{DiscordBot, FORUM};
use fakes::fake::wire::browser;
use http::header::{AUTHORIZATION, USER_AGENT};
use serde_json::json;

use crate::{KnownDifferences, exchanges_with, hold};

const KNOWN: KnownDifferences = KnownDifferences {
    differences: &[
        ("GET /channels/{id}/messages", "/*/author/bot: unexpected", "of bots; the example is of a person"),
        ("GET /webhooks/{id}/{token}", "/url: unexpected", "of webhooks that an app has made"),
        ("POST /oauth2/token", "/guild/roles/*/permissions: string, expected number", "the example is older than v8"),
        ("POST /webhooks/{id}/{token}", "/errors/content: unexpected", "the names of wrong fields are keys"),
        ("POST /webhooks/{id}/{token}", "/webhook_id: unexpected", "the example is the message of a person"),
    ],
    unmet: &[("error-token.json", "wrong tokens of webhooks and of bots have other codes")],
};

#[tokio::test]
async fn discord_answers_as_recorded() {
    let further = async {
        let harness = AdapterHarness::<Discord>::new().await;
        let account = harness.connect().await;
        let mut post = harness.post(&account, &"x".repeat(2_001), Vec::new());
        harness.deliver(&mut post).await.unwrap_err();
    };
    let mut exchanges = exchanges_with(start_fake::<Discord>, further).await;
    let further = async {
        thread().await;
        reply().await;
    };
    exchanges.extend(exchanges_with(start_fake::<DiscordBot>, further).await);
    hold("discord", &exchanges, &KNOWN);
}

/// A channel lists a reply.
async fn reply() {
    let harness = AdapterHarness::<DiscordBot>::new().await;
    let account = harness.connect().await;
    let root = harness.deliver(&mut harness.post(&account, "how high?", Vec::new())).await.unwrap().published;
    let reply = harness.reply(&account, (&root, &root), "very high", Vec::new());
    let since = harness.clock.now();
    harness.publish(&reply).await.unwrap();
    harness.resolve(&reply, since).await;
}

/// A post starts a thread, which can be read as a channel.
async fn thread() {
    let harness = AdapterHarness::<DiscordBot>::new().await;
    let account = harness.connect().await;
    let options = json!({ "channel": FORUM, "thread_name": "Tides" });
    harness.deliver(&mut harness.post(&account, "how high?", Vec::new()).with(options)).await.unwrap();
    let (address, thread) = (harness.fake.addresses()[0], harness.fake.latest_channel());
    let call = browser().get(format!("http://{address}/api/v10/channels/{thread}"));
    let call = call.header(USER_AGENT, "DiscordBot (https://us.example, 1)");
    call.header(AUTHORIZATION, format!("Bot {}", harness.fake.token())).send().await.unwrap();
}
