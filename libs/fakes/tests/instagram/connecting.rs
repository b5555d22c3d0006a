//! Connecting with Instagram Login, and tokens of 60 days.

use domain::delivery::AttemptError;
use fakes::instagram::{HANDLE, ID, Instagram};
use fakes::meta::error::GraphError;
use platforms::ConnectError;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::Decision;
use secrecy::ExposeSecret;

use super::harness;

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
    for (error, is_gone) in [
        (GraphError::unavailable(), false),
        (GraphError::limited(5), false),
        (GraphError::unknown(), false),
        (GraphError::removed_app(), true),
        (GraphError::token("Error validating access token", Some(460)), true),
        (GraphError::new(25, "The Instagram account is restricted.").subcode(2_207_050), true),
        (GraphError::new(100, "The user is not an Instagram Business"), true),
    ] {
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
