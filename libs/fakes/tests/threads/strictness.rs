//! The fake rejects what is not documented.

use fakes::threads::{ID, Threads};
use platforms::Account;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::FakePlatform;
use secrecy::ExposeSecret;

use super::harness;

async fn post_status(harness: &AdapterHarness<Threads>, account: &Account, fields: &[(&str, &str)]) -> u16 {
    let client = reqwest::Client::new();
    let request = client.post(format!("{}/v1.0/{ID}/threads", harness.fake.base_url()));
    let request = request.bearer_auth(account.credentials.access_token.expose_secret()).form(fields);
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn unknown_container_fields_are_refused() {
    let (harness, account) = harness().await;
    let long = "🎉".repeat(126);
    let links = (0..6).map(|it| format!("https://{it}.example.com")).collect::<Vec<_>>().join(" ");
    let text = ("media_type", "TEXT");
    let poll = |it| [text, ("text", "a"), ("poll_attachment", it)];
    let image = ("image_url", "https://127.0.0.1:1/1.png");
    for fields in [
        vec![("text", "a")],
        vec![text],
        vec![("media_type", "STORY"), ("text", "a")],
        vec![text, ("text", "a"), ("texts", "b")],
        vec![text, ("text", "a"), ("text", "b")],
        vec![text, ("text", "a"), ("appsecret_proof", "00")],
        vec![text, ("text", "a"), ("auto_publish_text", "true")],
        vec![text, ("text", &long)],
        vec![text, ("text", &links)],
        vec![text, ("text", "a"), image],
        vec![text, ("text", "a"), ("reply_control", "nobody")],
        vec![text, ("text", "a"), ("topic_tag", "a.b")],
        vec![text, ("text", "a"), ("link_attachment", "a.example")],
        poll("tea").to_vec(),
        poll(r#"{"option_a":"tea"}"#).to_vec(),
        poll(r#"{"option_a":"tea","option_c":"milk"}"#).to_vec(),
        poll(r#"{"option_a":"tea","option_b":"a cup of coffee with cream"}"#).to_vec(),
        vec![("media_type", "IMAGE"), ("text", "a")],
        vec![("media_type", "IMAGE"), image],
        vec![("media_type", "IMAGE"), image, ("link_attachment", "https://a.example")],
        vec![("media_type", "IMAGE"), image, ("is_carousel_item", "true"), ("text", "a")],
        vec![("media_type", "CAROUSEL"), ("children", "1")],
        vec![("media_type", "CAROUSEL"), ("children", "1,2")],
    ] {
        assert_eq!(post_status(&harness, &account, &fields).await, 400, "{fields:?}");
    }
    assert_eq!(harness.fake.containers(), 0);
    assert_eq!(post_status(&harness, &account, &[text, ("text", "a")]).await, 200);
    assert!(harness.fake.public_posts().is_empty());
}

#[tokio::test]
async fn nothing_is_published_that_is_not_ready_and_of_nobody_else() {
    let (harness, account) = harness().await;
    let client = reqwest::Client::new();
    let token = account.credentials.access_token.expose_secret();
    let post = async |path: &str, fields: &[(&str, &str)]| {
        let request = client.post(format!("{}/v1.0/{path}", harness.fake.base_url())).bearer_auth(token).form(fields);
        request.send().await.unwrap()
    };
    let made = post("me/threads", &[("media_type", "TEXT"), ("text", "a")]).await;
    let made: serde_json::Value = made.json().await.unwrap();
    let container = made["id"].as_str().unwrap();

    let early = post("me/threads_publish", &[("creation_id", container)]).await;
    assert_eq!(early.status(), 400, "it is worked on");
    harness.clock.advance(chrono::TimeDelta::seconds(1));
    assert_eq!(post("17/threads_publish", &[("creation_id", container)]).await.status(), 400, "of another profile");
    assert_eq!(post("me/threads_publish", &[("creation_id", container)]).await.status(), 200);
    assert_eq!(post("me/threads_publish", &[("creation_id", container)]).await.status(), 400, "it is public");
    let nobody = client.get(format!("{}/v1.0/me", harness.fake.base_url())).send().await.unwrap();
    assert_eq!(nobody.status(), 401);
}
