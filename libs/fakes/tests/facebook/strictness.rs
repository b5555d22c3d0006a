//! The fake rejects what is not documented.

use fakes::facebook::PAGE;
use fakes::meta::access::proof;
use platforms::conformance::fake_platform::FakePlatform;
use secrecy::ExposeSecret;

use crate::harness;

#[tokio::test]
async fn calls_prove_that_they_are_our_apps() {
    let (harness, account) = harness().await;
    let token = account.credentials.own_token.as_ref().unwrap().expose_secret().to_owned();
    let right = proof(harness.fake.app_secret(), &token);
    let client = reqwest::Client::new();
    let asked = async |query: &str, fields: &[(&str, &str)]| {
        let url = format!("{}/v26.0/{PAGE}/feed?{query}", harness.fake.base_url());
        client.post(url).bearer_auth(&token).form(fields).send().await.unwrap().status().as_u16()
    };
    let (none, forged) = (String::new(), format!("appsecret_proof={}", "0".repeat(64)));
    let proof = format!("appsecret_proof={right}");
    let photo = "{\"media_fbid\":\"1\"}";
    for (query, fields) in [
        (&none, &[("message", "a")][..]),
        (&forged, &[("message", "a")]),
        (&proof, &[]),
        (&proof, &[("message", "a"), ("caption", "b")]),
        (&proof, &[("message", "a"), ("scheduled_publish_time", "1")]),
        (&proof, &[("message", "a"), ("attached_media[0]", "1")]),
        (&proof, &[("message", "a"), ("attached_media[0]", photo)]),
        (&proof, &[("message", "a"), ("link", "no link")]),
        (&proof, &[("message", "a"), ("link", "https://a.example"), ("attached_media[0]", photo)]),
    ] {
        assert_eq!(asked(query, fields).await, 400, "{query} {fields:?}");
    }
    assert!(harness.fake.public_posts().is_empty());
    assert_eq!(asked(&proof, &[("message", "a")]).await, 200);
    assert_eq!(asked(&proof, &[("message", "a")]).await, 400, "the same again");
}
