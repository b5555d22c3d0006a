//! Connecting with Facebook Login.

use domain::delivery::AttemptError;
use domain::media::MimeType;
use fakes::instagram::{HANDLE, ID, Instagram};
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Decision, FakePlatform};
use platforms::conformance::samples::sample;
use platforms::{ConnectError, RefreshPolicy};
use secrecy::ExposeSecret;

async fn harness() -> AdapterHarness<Instagram<true>> {
    AdapterHarness::new().await
}

#[tokio::test]
async fn the_accounts_of_all_chosen_pages_are_connected_each_with_a_token_of_its_page() {
    let harness = harness().await;
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
    let own = |it: &platforms::Account| it.credentials.own_token.as_ref().unwrap().expose_secret().to_owned();
    assert_ne!(own(first), own(second));
    assert!(first.credentials.expires_at.is_none(), "tokens of Pages do not end by themselves");
    assert_eq!(harness.publisher().refresh_policy(), RefreshPolicy::Never);
}

#[tokio::test]
async fn an_account_is_posted_for_by_its_page_and_every_call_is_proven() {
    let harness = harness().await;
    let account = harness.connect().await;
    let mut post = harness.post(&account, "hello", vec![sample(MimeType::Png, 1)]);
    harness.deliver(&mut post).await.unwrap();
    let calls = harness.fake.request_log.all();
    let of_the_api =
        calls.iter().filter(|it| it.request_line.contains("/v26.0/") && !it.request_line.contains("oauth"));
    assert!(
        of_the_api.clone().count() > 5 && of_the_api.clone().all(|it| it.request_line.contains("appsecret_proof="))
    );
    assert_eq!(harness.fake.public_posts().len(), 1);
}

#[tokio::test]
async fn missing_account_error_says_what_to_do() {
    for (pages, expected) in [
        (&[][..], "you have no Facebook Page"),
        (&[("1", None, &["CREATE_CONTENT"][..])][..], "has a professional Instagram account: link the account"),
        (&[("1", Some((ID, HANDLE)), &["ANALYZE"][..])][..], "you may not create content on the Pages of keeper_ada"),
    ] {
        let harness = harness().await;
        harness.fake.has_pages(pages);
        let refusal = harness.complete(&harness.callback_after(Decision::Allow).await).await.unwrap_err();
        assert!(refusal.to_string().contains(expected), "{refusal}");
    }
    let harness = harness().await;
    harness.fake.declines(&["instagram_content_publish", "business_management"]);
    let refusal = harness.complete(&harness.callback_after(Decision::Allow).await).await.unwrap_err();
    let ConnectError::Refused(words) = &refusal else { panic!("{refusal:?}") };
    assert!(words.contains("not granted: instagram_content_publish. Connect again"), "{words}");
}

#[tokio::test]
async fn another_password_ends_it_and_the_person_is_asked() {
    let harness = harness().await;
    let account = harness.connect().await;
    let post = harness.due(&account, "hello", vec![sample(MimeType::Jpeg, 1)]).await;
    harness.fake.end_access_tokens();
    let error = harness.publish(&post).await.unwrap_err();
    assert!(matches!(error, AttemptError::Unauthorized { .. }), "{error:?}");
}
