use chrono::TimeDelta;
use http::Method;
use http::header::AUTHORIZATION;
use platforms::conformance::fake_platform::{Call, FakePlatform, InjectedFault};

use crate::client::{Body, Client, TID, digest, post, tokens};

#[tokio::test]
async fn fault_applies_to_the_next_served_call() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    client.fake.inject_fault(Call::Publish, InjectedFault::ServerError, 1);

    // The first of these calls has no nonce yet.
    let broken = client.put(&token, TID, &post("hello")).await;
    assert_eq!(broken.error(), (500, "InternalServerError"));
    assert_eq!(client.fake.call_count(Call::Publish), 1);
    assert_eq!(client.put(&token, TID, &post("hello")).await.status, 200);
    assert_eq!(client.fake.call_count(Call::Publish), 2);
}

#[tokio::test]
async fn lost_response_follows_the_write() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    client.call(Method::GET, "com.atproto.server.getSession", &token, Body::Nothing).await;
    for (fault, posts) in [(InjectedFault::CutBefore, 0), (InjectedFault::LoseResponse, 1)] {
        client.fake.inject_fault(Call::Publish, fault, 1);
        let url = format!("{}/xrpc/com.atproto.repo.putRecord", client.fake.pds());
        let proof = client.proof(&Method::POST, &url, Some(&token));
        assert_eq!(proof.claims["ath"], digest(&token));
        let request = client.http.post(&url).json(&client.writing(TID, &post("hello")));
        let request = request.header(AUTHORIZATION, format!("DPoP {token}"));
        let lost = request.header("dpop", client.key.sign(&proof.header, &proof.claims)).send().await;

        assert!(lost.is_err(), "{fault:?}");
        assert_eq!(client.fake.public_posts().len(), posts, "{fault:?}");
    }
}

#[tokio::test]
async fn each_fault_has_its_own_response() {
    let client = Client::new().await;
    let token = client.connect().await.access;
    let retry_after = TimeDelta::seconds(45);
    for (fault, status, posts) in [
        (InjectedFault::Unavailable, 503, 0),
        (InjectedFault::RateLimited { retry_after }, 429, 0),
        (InjectedFault::HtmlPage, 200, 0),
        (InjectedFault::Refused, 400, 0),
        (InjectedFault::ServerErrorAfter, 500, 1),
    ] {
        client.fake.inject_fault(Call::Publish, fault, 1);
        let response = client.put(&token, TID, &post("hello")).await;
        assert_eq!(response.status, status, "{fault:?}");
        assert_eq!(client.fake.public_posts().len(), posts, "{fault:?}");
        if let InjectedFault::RateLimited { .. } = fault {
            assert_eq!(response.headers["ratelimit-reset"], (client.seconds() + 45).to_string().as_str());
        }
    }
}

#[tokio::test]
async fn calls_are_classified() {
    let client = Client::new().await;
    let first = client.connect().await;
    client.fake.inject_fault(Call::Refresh, InjectedFault::ServerError, 1);
    assert_eq!(client.refresh(&first.refresh).await.error(), (500, "server_error"));
    let second = tokens(&client.refresh(&first.refresh).await);
    client.upload(&second.access, "image/png", b"file").await;
    let name = format!("com.atproto.repo.getRecord?repo=alice.test&collection=app.bsky.feed.post&rkey={TID}");
    client.bearer(Method::GET, &name, "", Body::Nothing).await;
    client.post("/oauth/revoke", &[("token", &second.refresh)]).await;

    let calls = [Call::Exchange, Call::Refresh, Call::Upload, Call::Process, Call::Publish, Call::LookUp, Call::Revoke];
    assert_eq!(calls.map(|it| client.fake.call_count(it)), [1, 2, 1, 0, 0, 1, 1]);
}
