//! Sites that would be sent what another site has given.

use networks::wordpress::Wordpress;
use platforms::conformance::network::{Decision, Network};
use platforms::conformance::stage::{Stage, returning};
use platforms::{AuthorizeStep, ConnectError};

/// A site that names the approval page of another one would be sent that one's password.
#[tokio::test]
async fn a_site_cannot_name_the_approval_page_of_another() {
    let (stage, other) = Stage::<Wordpress>::beside_another().await;
    stage.network.names_page_of(&other.home());

    let refusal = stage.depart(&stage.network.answers()).await.map(|it| it.0).unwrap_err();

    let ConnectError::Field { name: "application_password", message } = refusal else { panic!("{refusal:?}") };
    assert!(message.contains(&other.home().replace("http://", "")), "{message}");
}

#[tokio::test]
async fn a_password_of_another_site_is_sent_nowhere() {
    let (stage, other) = Stage::<Wordpress>::beside_another().await;
    let (departure, callback) = stage.depart(&stage.network.answers()).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = departure else { panic!("{departure:?}") };
    // The site leads its visitor to the other one, who approves there.
    let moved = url.replace(&stage.network.home(), &other.home());
    let back = other.send_back(&moved, Decision::Allow).await;
    let arrived = stage.network.request_log().all().len();

    let refusal = stage.complete(&returning(callback.clone(), &back)).await.unwrap_err();

    let ConnectError::Refused(words) = refusal else { panic!("{refusal:?}") };
    assert!(words.contains(&other.home()) && words.contains("delete"), "{words}");
    let mut unsigned = returning(callback, &back);
    unsigned.query.remove("site_url");
    let refusal = stage.complete(&unsigned).await.unwrap_err();
    assert!(matches!(refusal, ConnectError::Refused(_)), "{refusal:?}");
    assert_eq!(stage.network.request_log().all().len(), arrived, "something was sent");
}
