//! Members, their pages, and tokens.

use fakes::fake::wire::browser;
use fakes::linkedin::{
    Advertising, Community, CommunityWithOpenId, LinkedIn, MEMBER_URN, PAGE_URN, Replaying, SECOND_PAGE_URN,
};

use crate::prelude::*;

/// The default scopes with `pages` are part of the only product that such an app can have, so its
/// member is read without OpenID Connect.
#[tokio::test]
async fn grant_covers_the_member_and_their_pages() {
    let harness = AdapterHarness::<LinkedIn<Community>>::new().await;

    let accounts = connect_all(&harness).await.unwrap();

    let ids: Vec<_> = accounts.iter().map(|it| it.profile.account_id.as_str()).collect();
    assert_eq!(ids, [PAGE_URN, SECOND_PAGE_URN, MEMBER_URN]);
    assert!(accounts.iter().all(|it| it.grant.as_deref() == Some(MEMBER_URN)));
    for (account, username, name, url) in [
        (&accounts[0], "lighthouse-works", "Lighthouse Works", "https://www.linkedin.com/company/lighthouse-works"),
        (&accounts[2], "ada-keeper", "Ada Keeper", "https://www.linkedin.com/in/ada-keeper"),
    ] {
        assert_eq!(account.profile.username.as_deref(), Some(username));
        assert_eq!(account.profile.display_name.as_deref(), Some(name));
        assert_eq!(account.profile.profile_url.as_deref(), Some(url));
    }
    assert_eq!(harness.fake.grant_count(), 1);
    harness.store_credentials(&accounts[0].credentials);
    assert!(harness.can_refresh(), "otherwise the suite refreshes nothing");
    harness.fake.remove_roles();
    assert_eq!(harness.connect().await.profile.account_id, MEMBER_URN, "without pages, the member is connected alone");
}

#[tokio::test]
async fn page_without_roles_gets_an_error() {
    let (harness, account) = connected::<LinkedIn<Community>>().await;
    harness.fake.remove_roles();
    assert_refused(harness.publish(&harness.post(&account, "nobody reads", Vec::new())).await, "role");
    // The token is also valid for the member and other pages, so the grant is not lost.
    let denied = json!({ "status": 403, "code": "ACCESS_DENIED", "message": "no" });
    harness.fake.refuses("/rest/organizations", 403, denied);
    assert_matches!(details(&harness, &account).await, Err(AttemptError::RetryLater { .. }));
}

#[tokio::test]
async fn invalid_member_is_not_connected() {
    for sub in ["", "a b", "urn:li:person:1"] {
        let harness = AdapterHarness::<LinkedIn>::new().await;
        let callback = harness.callback_after(Decision::Allow).await;
        harness.fake.refuses("/v2/userinfo", 200, json!({ "sub": sub, "name": "Ada" }));
        assert_matches!(harness.complete(&callback).await, Err(ConnectError::Unreachable), "{sub}");
    }
}

#[tokio::test]
async fn operator_can_set_scopes_and_api_version() {
    let (harness, account) = connected::<LinkedIn<Replaying>>().await;
    assert_eq!(account.scopes, ["openid", "profile", "email", "w_member_social"]);

    harness.deliver(&mut harness.post(&account, "of late", Vec::new())).await.unwrap();

    let posted = harness.fake.request_log.latest("POST /rest/posts").unwrap();
    assert_eq!(posted.headers["linkedin-version"], "202609");
}

#[tokio::test]
async fn advertising_app_connects_pages_with_configured_scopes() {
    let harness = AdapterHarness::<LinkedIn<Advertising>>::new().await;

    let accounts = connect_all(&harness).await.unwrap();

    let ids: Vec<_> = accounts.iter().map(|it| it.profile.account_id.as_str()).collect();
    assert_eq!(ids, [PAGE_URN, SECOND_PAGE_URN, MEMBER_URN]);
    assert_eq!(accounts[2].profile.username.as_deref(), Some("Ada Keeper"), "read by OpenID Connect");
    harness.store_credentials(&accounts[0].credentials);
    harness.deliver(&mut harness.post(&accounts[0], "the lamp is lit", Vec::new())).await.unwrap();
}

/// LinkedIn then shows no consent page, and its error names the scope.
#[tokio::test]
async fn unauthorized_scope_is_an_error_of_the_operator() {
    let harness = AdapterHarness::<LinkedIn<CommunityWithOpenId>>::new().await;
    let (url, callback) = page_for(&harness, &harness.fake.form_values()).await;
    let page = browser().get(url).send().await.unwrap();
    let back = page.headers()["location"].to_str().unwrap().parse().unwrap();

    assert_matches!(harness.complete(&callback_at(callback, &back)).await, Err(ConnectError::Unsupported(words))
        if words.contains("scopes"));
}
