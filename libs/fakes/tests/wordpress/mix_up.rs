//! Malicious sites that try to obtain the credentials of another site.

use fakes::wordpress::Wordpress;
use platforms::conformance::adapter_harness::{AdapterHarness, callback_at};
use platforms::conformance::fake_platform::{Decision, FakePlatform};
use platforms::{AuthorizeStep, ConnectError};

/// A site that names the approval page of another site would receive the password for that site.
#[tokio::test]
async fn a_site_cannot_name_the_approval_page_of_another() {
    let (harness, other) = AdapterHarness::<Wordpress>::with_second_fake().await;
    harness.fake.set_approval_page(&other.home());

    let refusal = harness.authorize(&harness.fake.form_values()).await.map(|it| it.0).unwrap_err();

    let ConnectError::Field { name: "application_password", message } = refusal else { panic!("{refusal:?}") };
    assert!(message.contains(&other.home().replace("http://", "")), "{message}");
}

#[tokio::test]
async fn a_password_of_another_site_is_sent_nowhere() {
    let (harness, other) = AdapterHarness::<Wordpress>::with_second_fake().await;
    let (step, callback) = harness.authorize(&harness.fake.form_values()).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    // The malicious site redirects its visitor to the other site, where the visitor approves.
    let moved = url.replace(&harness.fake.home(), &other.home());
    let back = other.redirect_url(&moved, Decision::Allow).await;
    let arrived = harness.fake.request_log().all().len();

    let refusal = harness.complete(&callback_at(callback.clone(), &back)).await.unwrap_err();

    let ConnectError::Refused(words) = refusal else { panic!("{refusal:?}") };
    assert!(words.contains(&other.home()) && words.contains("delete"), "{words}");
    let mut unsigned = callback_at(callback, &back);
    unsigned.query.remove("site_url");
    let refusal = harness.complete(&unsigned).await.unwrap_err();
    assert!(matches!(refusal, ConnectError::Refused(_)), "{refusal:?}");
    assert_eq!(harness.fake.request_log().all().len(), arrived, "something was sent");
}
