use http::Method;
use serde_json::json;

use crate::client::{Body, Client};

#[tokio::test]
async fn a_handle_leads_to_two_servers() {
    let client = Client::new().await;
    let (pds, issuer, did) = (client.fake.pds(), client.fake.issuer(), client.fake.did());
    let get = async |url: String| client.send(client.http.get(url), None).await;

    let resolved = get(format!("{pds}/xrpc/com.atproto.identity.resolveHandle?handle=Alice.test")).await;
    assert_eq!(resolved.body["did"], did);
    let document = get(format!("{pds}/{did}")).await;
    assert_eq!(document.body["alsoKnownAs"], json!(["at://alice.test"]));
    assert_eq!(document.body["service"][0]["serviceEndpoint"], pds);
    let resource = get(format!("{pds}/.well-known/oauth-protected-resource")).await;
    assert_eq!(resource.body["authorization_servers"], json!([issuer]));
    let metadata = get(format!("{issuer}/.well-known/oauth-authorization-server")).await;
    assert_eq!(metadata.body["issuer"], issuer);
    assert_ne!(pds, issuer);

    let unknown = get(format!("{pds}/xrpc/com.atproto.identity.resolveHandle?handle=nobody.test")).await;
    assert_eq!(unknown.error(), (400, "InvalidRequest"));
    assert_eq!(get(format!("{pds}/did:plc:nobody")).await.status, 404);
}

#[tokio::test]
async fn a_profile_is_shown_while_somebody_shows_profiles() {
    let client = Client::new().await;
    let profile = format!("app.bsky.actor.getProfile?actor={}", client.fake.did());
    let record =
        format!("com.atproto.repo.getRecord?repo={}&collection=app.bsky.actor.profile&rkey=self", client.fake.did());

    let shown = client.bearer(Method::GET, &profile, "", Body::Nothing).await;
    assert_eq!(shown.body["displayName"], "Alice");

    client.fake.set_app_view(false);
    let shown = client.bearer(Method::GET, &profile, "", Body::Nothing).await;
    assert_eq!(shown.error(), (400, "InvalidRequest"));
    let shown = client.bearer(Method::GET, &record, "", Body::Nothing).await;
    assert_eq!(shown.body["value"]["displayName"], "Alice");
}
