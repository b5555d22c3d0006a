//! Members, their pages, and tokens.

use chrono::TimeDelta;
use domain::delivery::AttemptError;
use fakes::fake::wire::browser;
use fakes::linkedin::{
    Advertising, Community, CommunityWithOpenId, LinkedIn, MEMBER_URN, PAGE_URN, Products, Replaying, SECOND_PAGE_URN,
};
use platforms::conformance::adapter_harness::{AdapterHarness, callback_at};
use platforms::conformance::fake_platform::{Decision, FakePlatform};
use platforms::{AuthorizeStep, ConnectError, RefreshPolicy};
use secrecy::ExposeSecret;
use serde_json::json;

use super::{harness, harness_with};

#[tokio::test]
async fn a_member_is_known_by_name_and_has_to_come_back_after_sixty_days() {
    let (harness, account) = harness().await;

    assert_eq!(account.profile.account_id, MEMBER_URN);
    assert_eq!(account.profile.username.as_deref(), Some("Ada Keeper"));
    assert!(account.profile.avatar.unwrap().starts_with("https://media.licdn.com/"));
    assert_eq!(account.scopes, ["openid", "profile", "w_member_social"]);
    assert!(!harness.can_refresh());
    let (now, credentials) = (harness.clock.now(), &account.credentials);
    assert_eq!(credentials.expires_at, Some(now + TimeDelta::days(60)));
    // The user is notified a week before the grant expires.
    let late = now + TimeDelta::days(50);
    assert_eq!(
        harness.publisher().refresh_policy().due_at(credentials, late),
        now + TimeDelta::days(60) - RefreshPolicy::WARNING
    );
}

#[tokio::test]
async fn one_grant_covers_a_member_and_the_pages_for_which_they_may_post() {
    let harness = AdapterHarness::<LinkedIn<Community>>::new().await;
    let callback = harness.callback_after(Decision::Allow).await;

    let accounts = harness.complete(&callback).await.unwrap();

    let ids: Vec<_> = accounts.iter().map(|it| it.profile.account_id.as_str()).collect();
    assert_eq!(ids, [PAGE_URN, SECOND_PAGE_URN, MEMBER_URN]);
    assert!(accounts.iter().all(|it| it.grant.as_deref() == Some(MEMBER_URN)));
    assert_eq!(accounts[0].profile.username.as_deref(), Some("lighthouse-works"));
    assert_eq!(accounts[0].profile.display_name.as_deref(), Some("Lighthouse Works"));
    let address = "https://www.linkedin.com/company/lighthouse-works";
    assert_eq!(accounts[0].profile.profile_url.as_deref(), Some(address));
    assert_eq!(harness.fake.grant_count(), 1);
}

#[tokio::test]
async fn member_without_pages_is_connected_alone() {
    let harness = AdapterHarness::<LinkedIn<Community>>::new().await;
    harness.fake.remove_roles();

    let account = harness.connect().await;

    assert_eq!(account.profile.account_id, MEMBER_URN);
    assert_eq!(account.grant_name(), MEMBER_URN);
}

#[tokio::test]
async fn the_token_to_renew_with_stays_the_same_and_ends_a_year_after_the_consent() {
    let (harness, account) = harness_with::<Community>().await;
    let (begun, first) = (harness.clock.now(), account.credentials);

    harness.clock.advance(TimeDelta::days(300));
    let second = harness.refresh().await.unwrap();
    assert_eq!(second.expires_at, Some(harness.clock.now() + TimeDelta::days(60)));
    assert_eq!(second.refresh_expires_at, Some(begun + TimeDelta::days(365)));
    let token = |it: &platforms::Credentials| it.refresh_token.as_ref().unwrap().expose_secret().to_owned();
    assert_eq!(token(&first), token(&second));

    harness.clock.advance(TimeDelta::days(65));
    let ended = harness.refresh().await.unwrap_err();
    assert!(matches!(ended, platforms::RefreshError::Gone(_)), "{ended:?}");
}

#[tokio::test]
async fn page_without_roles_gets_an_error() {
    let (harness, account) = harness_with::<Community>().await;
    harness.fake.remove_roles();
    let post = harness.post(&account, "nobody reads", Vec::new());

    let error = harness.publish(&post).await.unwrap_err();

    assert!(matches!(&error, AttemptError::Refused { reason } if reason.contains("role")), "{error:?}");
    // The token is also valid for the member and other pages, so the grant is not lost.
    let denied = json!({ "status": 403, "code": "ACCESS_DENIED", "message": "no" });
    harness.fake.refuses("/rest/organizations", 403, denied);
    let about = harness.connector().account_details(&account.profile, &account.credentials, harness.clock.now()).await;
    assert!(matches!(about, Err(AttemptError::RetryLater { .. })), "{about:?}");
}

#[tokio::test]
async fn ended_version_is_reported_to_the_operator() {
    let (harness, account) = harness().await;
    let post = harness.due(&account, "later", Vec::new()).await;
    harness.fake.end_version();

    let error = harness.publish(&post).await.unwrap_err();

    assert!(
        matches!(&error, AttemptError::RetryLater { retry_at: None, reason } if reason.contains("operator")),
        "{error:?}"
    );

    // Requests for pages have a version header.
    let harness = AdapterHarness::<LinkedIn<Community>>::new().await;
    let callback = harness.callback_after(Decision::Allow).await;
    harness.fake.end_version();
    let refusal = harness.complete(&callback).await.unwrap_err();
    assert!(matches!(refusal, ConnectError::Unreachable), "{refusal:?}");
}

#[tokio::test]
async fn invalid_member_is_not_connected() {
    for sub in ["", "a b", "urn:li:person:1"] {
        let harness = AdapterHarness::<LinkedIn>::new().await;
        let callback = harness.callback_after(Decision::Allow).await;
        harness.fake.refuses("/v2/userinfo", 200, json!({ "sub": sub, "name": "Ada" }));
        let refusal = harness.complete(&callback).await.unwrap_err();
        assert!(matches!(refusal, ConnectError::Unreachable), "{sub}: {refusal:?}");
    }
}

#[tokio::test]
async fn what_is_asked_for_and_in_which_version_an_operator_may_say() {
    let (harness, account) = harness_with::<Replaying>().await;
    assert_eq!(account.scopes, ["openid", "profile", "email", "w_member_social"]);

    let mut post = harness.post(&account, "of late", Vec::new());
    harness.deliver(&mut post).await.unwrap();

    let posted = harness.fake.request_log.latest("POST /rest/posts").unwrap();
    assert_eq!(posted.headers["linkedin-version"], "202609");
}

/// The default scopes with `pages` are part of the only product that such an app can have.
#[tokio::test]
async fn an_app_for_pages_has_no_other_product_and_its_member_is_read_without_openid_connect() {
    let harness = AdapterHarness::<LinkedIn<Community>>::new().await;
    let callback = harness.callback_after(Decision::Allow).await;

    let mut accounts = harness.complete(&callback).await.unwrap();

    assert_eq!(accounts.len(), 3);
    let member = accounts.pop().unwrap();
    assert!(member.scopes.iter().all(|it| Community::SCOPES.contains(&it.as_str())), "{:?}", member.scopes);
    assert_eq!(member.profile.account_id, MEMBER_URN);
    assert_eq!(member.profile.username.as_deref(), Some("ada-keeper"));
    assert_eq!(member.profile.display_name.as_deref(), Some("Ada Keeper"));
    assert_eq!(member.profile.profile_url.as_deref(), Some("https://www.linkedin.com/in/ada-keeper"));
    let about =
        harness.connector().account_details(&member.profile, &member.credentials, harness.clock.now()).await.unwrap();
    assert_eq!(about.unwrap().profile, member.profile);
}

#[tokio::test]
async fn an_app_with_the_advertising_api_connects_pages_with_the_scopes_that_its_operator_names() {
    let harness = AdapterHarness::<LinkedIn<Advertising>>::new().await;
    let callback = harness.callback_after(Decision::Allow).await;

    let accounts = harness.complete(&callback).await.unwrap();

    let ids: Vec<_> = accounts.iter().map(|it| it.profile.account_id.as_str()).collect();
    assert_eq!(ids, [PAGE_URN, SECOND_PAGE_URN, MEMBER_URN]);
    assert_eq!(accounts[2].profile.username.as_deref(), Some("Ada Keeper"), "read by OpenID Connect");
    harness.store_credentials(&accounts[0].credentials);
    let mut post = harness.post(&accounts[0], "the lamp is lit", Vec::new());
    harness.deliver(&mut post).await.unwrap();
}

/// LinkedIn then shows no consent page, and its error names the scope.
#[tokio::test]
async fn one_scope_that_the_app_may_not_ask_for_is_a_task_of_the_operator() {
    let harness = AdapterHarness::<LinkedIn<CommunityWithOpenId>>::new().await;
    let (step, callback) = harness.authorize(&harness.fake.form_values()).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    let page = browser().get(url).send().await.unwrap();
    let back = page.headers()["location"].to_str().unwrap().parse().unwrap();

    let refusal = harness.complete(&callback_at(callback, &back)).await.unwrap_err();

    assert!(matches!(&refusal, ConnectError::Unsupported(words) if words.contains("scopes")), "{refusal:?}");
}

/// The error is about a member, not a page: an administrator of a page cannot help.
#[tokio::test]
async fn member_that_may_not_be_read_gets_the_advice_for_members() {
    let harness = AdapterHarness::<LinkedIn>::new().await;
    let callback = harness.callback_after(Decision::Allow).await;
    let message = "Not enough permissions to access: userinfo.GET.NO_VERSION";
    let denied = json!({ "status": 403, "serviceErrorCode": 100, "code": "ACCESS_DENIED", "message": message });
    harness.fake.refuses("/v2/userinfo", 403, denied);

    let refusal = harness.complete(&callback).await.unwrap_err();

    let ConnectError::Refused(words) = &refusal else { panic!("{refusal:?}") };
    assert!(!words.contains("administrator of the page"), "{words}");
    for part in ["permission", "operator", message] {
        assert!(words.contains(part), "{part}: {words}");
    }
}
