//! The fake rejects what is not documented.

use fakes::instagram::{ID, Instagram};
use platforms::Account;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::FakePlatform;
use secrecy::ExposeSecret;

use super::harness;

async fn post_status(
    harness: &AdapterHarness<Instagram>,
    account: &Account,
    path: &str,
    fields: &[(&str, &str)],
) -> u16 {
    let client = reqwest::Client::new();
    let request = client.post(format!("{}/v26.0/{path}", harness.fake.base_url()));
    let request = request.bearer_auth(account.credentials.access_token.expose_secret()).form(fields);
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn unknown_container_fields_are_refused() {
    let (harness, account) = harness().await;
    let (image, video) = (("image_url", "https://127.0.0.1:1/1.jpg"), ("video_url", "https://127.0.0.1:1/1.mp4"));
    let kind = |it| ("media_type", it);
    let item = ("is_carousel_item", "true");
    let long = "x".repeat(2_201);
    for fields in [
        vec![("caption", "a")],
        vec![image],
        vec![image, ("captions", "a")],
        vec![image, ("caption", &long)],
        vec![image, ("appsecret_proof", "00")],
        vec![image, video],
        vec![image, ("thumb_offset", "1")],
        vec![image, ("share_to_feed", "true")],
        vec![image, ("collaborators", "[\"a\",\"b\",\"c\",\"d\"]")],
        vec![image, ("location_id", "Berlin")],
        vec![image, ("user_tags", "ada")],
        vec![image, ("user_tags", r#"[{"username":"ada"}]"#)],
        vec![image, ("user_tags", r#"[{"username":"ada","x":2,"y":0}]"#)],
        vec![kind("REELS"), image],
        vec![kind("VIDEO"), video],
        vec![video],
        // Accepted with Facebook Login only.
        vec![kind("REELS"), ("upload_type", "resumable")],
        vec![kind("REELS"), video, ("alt_text", "a")],
        vec![kind("REELS"), video, ("user_tags", r#"[{"username":"ada","x":0.1,"y":0.1}]"#)],
        vec![kind("REELS"), video, item],
        vec![kind("STORIES"), image, ("caption", "a")],
        vec![kind("STORIES"), image, ("alt_text", "a")],
        vec![kind("STORIES"), image, ("collaborators", "a")],
        vec![image, item, ("caption", "a")],
        vec![video, item],
        vec![kind("CAROUSEL"), ("children", "1")],
        vec![kind("CAROUSEL"), ("children", "1,2")],
        vec![kind("CAROUSEL"), ("children", "1,2"), item],
        vec![kind("TEXT"), ("caption", "a")],
    ] {
        assert_eq!(post_status(&harness, &account, &format!("{ID}/media"), &fields).await, 400, "{fields:?}");
    }
    assert_eq!(harness.fake.containers(), 0);
    // A video that cannot be fetched fails later.
    assert_eq!(post_status(&harness, &account, &format!("{ID}/media"), &[kind("REELS"), video]).await, 200);
    assert_eq!(post_status(&harness, &account, "17/media", &[kind("REELS"), video]).await, 400, "another account");
}

#[tokio::test]
async fn nothing_is_published_that_is_not_ready() {
    let (harness, account) = harness().await;
    for fields in [vec![], vec![("creation_id", "17")], vec![("creation_id", "17"), ("caption", "a")]] {
        assert_eq!(post_status(&harness, &account, &format!("{ID}/media_publish"), &fields).await, 400, "{fields:?}");
    }
    assert_eq!(post_status(&harness, &account, "17/comments", &[("message", "a")]).await, 400);
    assert!(harness.fake.public_posts().is_empty());
}
