//! Connecting with Instagram Login, whose tokens last 60 days, and with Facebook Login.

use domain::delivery::AttemptError;
use fakes::instagram::{HANDLE, ID, Instagram};
use fakes::meta::error::GraphError;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::Decision;
use platforms::{Account, ConnectError, RefreshPolicy};
use secrecy::ExposeSecret;

use super::{by_facebook, harness};

#[tokio::test]
async fn an_account_is_connected_with_a_token_of_60_days() {
    for is_flat in [false, true] {
        let harness = AdapterHarness::<Instagram>::new().await;
        if is_flat {
            harness.fake.use_flat_token_response();
        }
        let account = harness.connect().await;

        let profile = &account.profile;
        assert_eq!((profile.account_id.as_str(), profile.username.as_deref()), (ID, Some(HANDLE)));
        assert_eq!(profile.display_name.as_deref(), Some("Ada Keeper"));
        assert_eq!(profile.profile_url.as_deref(), Some("https://www.instagram.com/keeper_ada/"));
        let scopes =
            ["instagram_business_basic", "instagram_business_content_publish", "instagram_business_manage_comments"];
        assert_eq!(account.scopes, scopes);
        let ends_at = account.credentials.expires_at.unwrap();
        assert_eq!(Some(ends_at.timestamp()), harness.fake.ends_at());
        assert_eq!((ends_at - harness.clock.now()).num_days(), 59, "some seconds less than 60 days");
    }
}

#[tokio::test]
async fn unsupported_account_error_has_the_reason() {
    let harness = AdapterHarness::<Instagram>::new().await;
    harness.fake.set_account_type("Personal");
    let refusal = harness.complete(&harness.callback_after(Decision::Allow).await).await.unwrap_err();
    assert!(refusal.to_string().contains("keeper_ada is a personal account"), "{refusal}");

    let harness = AdapterHarness::<Instagram>::new().await;
    harness.fake.declines(&["instagram_business_content_publish"]);
    let refusal = harness.complete(&harness.callback_after(Decision::Allow).await).await.unwrap_err();
    let ConnectError::Refused(words) = &refusal else { panic!("{refusal:?}") };
    assert!(words.contains("not granted: instagram_business_content_publish. Connect again"), "{words}");

    let harness = AdapterHarness::<Instagram>::new().await;
    harness.fake.declines(&["instagram_business_manage_comments"]);
    let account = harness.connect().await;
    assert_eq!(account.scopes.len(), 2, "comments are not needed to post");
}

#[tokio::test]
async fn transient_errors_of_meta_end_no_grant() {
    let (harness, account) = harness().await;
    for (error, is_gone) in
        [(GraphError::limited(5), false), (GraphError::new(100, "The user is not an Instagram Business"), true)]
    {
        harness.fake.refuses("me", error.clone());
        let about =
            harness.connector().account_details(&account.profile, &account.credentials, harness.clock.now()).await;
        let setback = about.unwrap_err();
        assert_eq!(matches!(setback, AttemptError::Unauthorized { .. }), is_gone, "{error:?}: {setback:?}");
    }
}

#[tokio::test]
async fn what_is_asked_for_is_in_the_address_and_the_token_is_in_none_of_our_calls() {
    let (harness, account) = harness().await;
    let asked = harness.fake.request_log.all();
    let page = asked.iter().find(|it| it.request_line.starts_with("GET /oauth/authorize")).unwrap();
    let scopes = "instagram_business_basic%2Cinstagram_business_content_publish%2Cinstagram_business_manage_comments";
    assert!(page.request_line.contains(scopes), "{}", page.request_line);
    let token = account.credentials.access_token.expose_secret();
    assert!(asked.iter().filter(|it| it.request_line.contains("/v26.0/")).all(|it| !it.request_line.contains(token)));
}

#[tokio::test]
async fn the_accounts_of_all_chosen_pages_are_connected_each_with_a_token_of_its_page() {
    let harness = by_facebook().await;
    harness.fake.has_pages(&[
        ("1001", Some((ID, HANDLE)), &["CREATE_CONTENT"]),
        ("1002", None, &["CREATE_CONTENT"]),
        ("1003", Some(("17841400000000003", "second.keeper")), &["MANAGE", "CREATE_CONTENT"]),
        ("1004", Some(("17841400000000004", "third")), &["ANALYZE"]),
    ]);

    let accounts = harness.complete(&harness.callback_after(Decision::Allow).await).await.unwrap();

    let actual: Vec<_> =
        accounts.iter().map(|it| (it.profile.account_id.as_str(), it.profile.username.as_deref())).collect();
    assert_eq!(actual, [(ID, Some(HANDLE)), ("17841400000000003", Some("second.keeper"))]);
    let [first, second] = &accounts[..] else { panic!() };
    assert_eq!((first.grant_name(), first.grant_name() == first.profile.account_id), (second.grant_name(), false));
    let own = |it: &Account| it.credentials.own_token.as_ref().unwrap().expose_secret().to_owned();
    assert_ne!(own(first), own(second));
    assert!(first.credentials.expires_at.is_none(), "tokens of Pages do not end by themselves");
    assert_eq!(harness.publisher().refresh_policy(), RefreshPolicy::Never);
}

#[tokio::test]
async fn missing_account_error_says_what_to_do() {
    for (pages, expected) in [
        (&[][..], "you have no Facebook Page"),
        (&[("1", None, &["CREATE_CONTENT"][..])][..], "has a professional Instagram account: link the account"),
        (&[("1", Some((ID, HANDLE)), &["ANALYZE"][..])][..], "you may not create content on the Pages of keeper_ada"),
    ] {
        let harness = by_facebook().await;
        harness.fake.has_pages(pages);
        let refusal = harness.complete(&harness.callback_after(Decision::Allow).await).await.unwrap_err();
        assert!(refusal.to_string().contains(expected), "{refusal}");
    }
    let harness = by_facebook().await;
    harness.fake.declines(&["instagram_content_publish", "business_management"]);
    let refusal = harness.complete(&harness.callback_after(Decision::Allow).await).await.unwrap_err();
    let ConnectError::Refused(words) = &refusal else { panic!("{refusal:?}") };
    assert!(words.contains("not granted: instagram_content_publish. Connect again"), "{words}");
}
