use chrono::TimeDelta;
use http::Method;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use platforms::conformance::fake_platform::FakePlatform;
use serde_json::{Value, json};

use crate::client::{Client, Key, PdsResponse, Proof, digest};

const SESSION: &str = "/xrpc/com.atproto.server.getSession";

/// Requests the session with a modified proof.
async fn ask(client: &Client, token: &str, change: impl FnOnce(&mut Proof)) -> PdsResponse {
    let url = format!("{}{SESSION}", client.fake.pds());
    let mut proof = client.proof(&Method::GET, &url, Some(token));
    change(&mut proof);
    let proof = client.key.sign(&proof.header, &proof.claims);
    send(client, token, Some(proof)).await
}

async fn send(client: &Client, token: &str, proof: Option<String>) -> PdsResponse {
    let url = format!("{}{SESSION}", client.fake.pds());
    client.send(client.http.get(url).header(AUTHORIZATION, format!("DPoP {token}")), proof).await
}

#[tokio::test]
async fn a_proof_is_right_in_every_part() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    let (pds, issuer) = (client.fake.pds().to_owned(), client.fake.issuer().to_owned());
    ask(&client, &token, |_| {}).await;
    assert_eq!(ask(&client, &token, |_| {}).await.status, 200);

    for (claim, value) in [
        ("htm", json!("POST")),
        ("htu", json!(format!("{pds}/xrpc/com.atproto.server.describeServer"))),
        ("htu", json!(format!("{issuer}{SESSION}"))),
        ("htu", json!(format!("{pds}{SESSION}?a=b"))),
        ("ath", json!(digest("another token"))),
        ("ath", Value::Null),
        ("jti", Value::Null),
        ("iat", Value::Null),
        ("iat", json!(client.seconds() - 191)),
        ("iat", json!(client.seconds() + 181)),
    ] {
        let response = ask(&client, &token, |proof| proof.claims[claim] = value.clone()).await;
        assert_eq!(response.error(), (401, "invalid_dpop_proof"), "{claim} {value}");
        assert!(response.headers.contains_key(WWW_AUTHENTICATE));
    }
    for (part, value) in
        [("typ", json!("JWT")), ("alg", json!("HS256")), ("jwk", Value::Null), ("jwk", Key::new().jwk())]
    {
        let response = ask(&client, &token, |proof| proof.header[part] = value.clone()).await;
        assert_eq!(response.error(), (401, "invalid_dpop_proof"), "{part} {value}");
    }
    assert_eq!(send(&client, &token, Some("nonsense".to_owned())).await.error(), (401, "invalid_dpop_proof"));
    assert_eq!(send(&client, &token, None).await.error(), (401, "invalid_token"));
}

#[tokio::test]
async fn a_proof_is_used_once() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    ask(&client, &token, |_| {}).await;

    let again = |proof: &mut Proof| proof.claims["jti"] = "once".into();
    assert_eq!(ask(&client, &token, again).await.status, 200);
    assert_eq!(ask(&client, &token, again).await.error(), (401, "invalid_dpop_proof"));
}

#[tokio::test]
async fn a_token_is_bound_to_its_key() {
    let mut client = Client::new().await;
    let tokens = client.connect().await;
    let url = format!("{}{SESSION}", client.fake.pds());

    let bearer = client.send(client.http.get(url).bearer_auth(&tokens.access), None).await;
    assert_eq!(bearer.error(), (400, "InvalidToken"));

    client.key = Key::new();
    ask(&client, &tokens.access, |_| {}).await;
    assert_eq!(ask(&client, &tokens.access, |_| {}).await.error(), (401, "invalid_token"));
    assert_eq!(client.refresh(&tokens.refresh).await.error(), (400, "invalid_grant"));
    assert_eq!(client.fake.grant_count(), 0, "as on real servers");
}

#[tokio::test]
async fn a_nonce_is_asked_for_and_grows_old() {
    let client = Client::new().await;
    let token = client.connect().await.access;

    let first = ask(&client, &token, |_| {}).await;
    assert_eq!(first.error(), (401, "use_dpop_nonce"));
    let challenge = first.headers[WWW_AUTHENTICATE].to_str().unwrap();
    assert!(challenge.starts_with("DPoP ") && challenge.contains(r#"error="use_dpop_nonce""#), "{challenge}");
    let nonce = first.nonce();

    client.clock.advance(TimeDelta::seconds(119));
    let second = ask(&client, &token, |proof| proof.claims["nonce"] = nonce.clone().into()).await;
    assert_eq!(second.status, 200);
    assert_ne!(second.nonce(), nonce, "the next one is brought along");

    client.clock.advance(TimeDelta::minutes(3));
    let stale = ask(&client, &token, |proof| proof.claims["nonce"] = nonce.into()).await;
    assert_eq!(stale.error(), (401, "use_dpop_nonce"));
}

#[tokio::test]
async fn each_server_has_nonces_of_its_own() {
    let client = Client::new().await;
    let par = format!("{}/oauth/par", client.fake.issuer());
    let push = async |nonce: Option<String>| {
        let mut proof = client.proof(&Method::POST, &par, None);
        proof.claims["nonce"] = nonce.map_or(Value::Null, Value::String);
        let (mut form, _) = client.asked();
        form.push(("client_id", client.id.clone()));
        let proof = client.key.sign(&proof.header, &proof.claims);
        client.send(client.http.post(&par).form(&form), Some(proof)).await
    };

    let first = push(None).await;
    assert_eq!(first.error(), (400, "use_dpop_nonce"));
    assert_eq!(push(Some(first.nonce())).await.status, 201);
    let token = client.connect().await.access;
    let foreign = ask(&client, &token, |_| {}).await.nonce();
    assert_eq!(push(Some(foreign)).await.error(), (400, "use_dpop_nonce"));

    let (mut form, _) = client.asked();
    form.push(("client_id", client.id.clone()));
    let without = client.send(client.http.post(&par).form(&form), None).await;
    assert_eq!(without.error(), (401, "invalid_dpop_proof"));
}
