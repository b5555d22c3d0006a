use domain::options::OptionValue;
use http::header::{AUTHORIZATION, USER_AGENT};
use networks::discord::Discord;
use networks::discord::bot::{DiscordBot, FORUM};
use networks::fake::wire::browser;
use platforms::conformance::network::Network;
use platforms::conformance::stage::Stage;

use crate::{Known, exchanges_with, hold};

const KNOWN: Known = Known {
    differences: &[
        ("GET /channels/{id}/messages", "/*/author/bot: unexpected", "of bots; the example is of a person"),
        ("GET /webhooks/{id}/{token}", "/url: unexpected", "of webhooks that an app has made"),
        (
            "POST /oauth2/token",
            "/guild/roles/*/permissions: string, expected number",
            "a string since v8 of the API; the example is older",
        ),
        ("POST /webhooks/{id}/{token}", "/errors/content: unexpected", "the names of wrong fields are keys"),
        (
            "POST /webhooks/{id}/{token}",
            "/webhook_id: unexpected",
            "of messages of webhooks; the example is of a person",
        ),
    ],
    unmet: &[("error-token.json", "wrong tokens of webhooks and of bots have other codes")],
};

#[tokio::test]
async fn discord_answers_as_recorded() {
    let further = async {
        let stage = Stage::<Discord>::new().await;
        let account = stage.connect().await;
        let mut post = stage.post(&account, &"x".repeat(2_001), Vec::new());
        stage.deliver(&mut post).await.unwrap_err();
    };
    let mut exchanges = exchanges_with::<Discord>(further).await;
    exchanges.extend(exchanges_with::<DiscordBot>(thread()).await);
    hold("discord", &exchanges, &KNOWN);
}

/// A post begins a thread, which can be read as a channel.
async fn thread() {
    let stage = Stage::<DiscordBot>::new().await;
    let account = stage.connect().await;
    let mut post = stage.post(&account, "how high?", Vec::new());
    let options = [("channel", FORUM), ("thread_name", "Tides")];
    post.options = options.into_iter().map(|(name, it)| (name.to_owned(), OptionValue::Text(it.to_owned()))).collect();
    stage.deliver(&mut post).await.unwrap();
    let (address, thread) = (stage.fake.addresses()[0], stage.fake.latest_channel());
    let call = browser().get(format!("http://{address}/api/v10/channels/{thread}"));
    let call = call.header(USER_AGENT, "DiscordBot (https://us.example, 1)");
    call.header(AUTHORIZATION, format!("Bot {}", stage.fake.token())).send().await.unwrap();
}
