//! Sites that would be sent what another site has given.

use networks::wordpress::Wordpress;
use platforms::conformance::network::{Decision, Network};
use platforms::conformance::stage::{Stage, callback_at};
use platforms::{AuthorizeStep, ConnectError};

/// A site that names the approval page of another one would be sent that one's password.
#[tokio::test]
async fn a_site_cannot_name_the_approval_page_of_another() {
    let (stage, other) = Stage::<Wordpress>::with_second_fake().await;
    stage.fake.set_approval_page(&other.home());

    let refusal = stage.authorize(&stage.fake.form_values()).await.map(|it| it.0).unwrap_err();

    let ConnectError::Field { name: "application_password", message } = refusal else { panic!("{refusal:?}") };
    assert!(message.contains(&other.home().replace("http://", "")), "{message}");
}

#[tokio::test]
async fn a_password_of_another_site_is_sent_nowhere() {
    let (stage, other) = Stage::<Wordpress>::with_second_fake().await;
    let (step, callback) = stage.authorize(&stage.fake.form_values()).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    // The site leads its visitor to the other one, who approves there.
    let moved = url.replace(&stage.fake.home(), &other.home());
    let back = other.redirect_url(&moved, Decision::Allow).await;
    let arrived = stage.fake.request_log().all().len();

    let refusal = stage.complete(&callback_at(callback.clone(), &back)).await.unwrap_err();

    let ConnectError::Refused(words) = refusal else { panic!("{refusal:?}") };
    assert!(words.contains(&other.home()) && words.contains("delete"), "{words}");
    let mut unsigned = callback_at(callback, &back);
    unsigned.query.remove("site_url");
    let refusal = stage.complete(&unsigned).await.unwrap_err();
    assert!(matches!(refusal, ConnectError::Refused(_)), "{refusal:?}");
    assert_eq!(stage.fake.request_log().all().len(), arrived, "something was sent");
}
