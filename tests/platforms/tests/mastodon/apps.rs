//! That this service registers itself once per server, and again where its app was
//! removed.

use chrono::TimeDelta;
use networks::mastodon::{GoToSocial, Known, OldMastodon, Pixelfed, Pleroma, Server, Snac, Stock};
use platforms::conformance::network::{Decision, Network};
use platforms::conformance::stage::Stage;
use platforms::{AuthorizeStep, ConnectError, RefreshError};
use url::Url;

use super::stage;

fn client_id(step: &AuthorizeStep) -> String {
    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    let url = Url::parse(url).unwrap();
    url.query_pairs().find(|(name, _)| name == "client_id").unwrap().1.into_owned()
}

async fn departure<K: Known>(stage: &Stage<Server<K>>) -> AuthorizeStep {
    stage.authorize(&stage.fake.form_values()).await.unwrap().0
}

#[tokio::test]
async fn an_app_is_registered_once_per_server() {
    async fn registers_once<K: Known>() {
        let stage = Stage::<Server<K>>::new().await;
        let first = client_id(&departure(&stage).await);
        assert_eq!(client_id(&departure(&stage).await), first);
        stage.connect().await;
        assert_eq!(client_id(&departure(&stage).await), first);
    }

    registers_once::<Stock>().await;
    registers_once::<OldMastodon>().await;
    registers_once::<GoToSocial>().await;
    registers_once::<Pleroma>().await;
    registers_once::<Pixelfed>().await;
}

#[tokio::test]
async fn removed_app_is_registered_again_before_the_redirect() {
    async fn is_registered_again<K: Known>() {
        let (stage, _) = stage::<K>().await;
        let before = client_id(&departure(&stage).await);

        stage.fake.forget_apps();

        assert_ne!(client_id(&departure(&stage).await), before);
        stage.connect().await;
    }

    is_registered_again::<Stock>().await;
    is_registered_again::<OldMastodon>().await;
    is_registered_again::<Pleroma>().await;
}

#[tokio::test]
async fn refresh_by_unknown_app_ends_the_grant() {
    let (stage, _) = stage::<Pleroma>().await;

    stage.fake.forget_apps();

    let renewed = stage.refresh().await;
    assert!(matches!(renewed, Err(RefreshError::Gone(_))), "{renewed:?}");
}

#[tokio::test]
async fn registration_limit_error_says_what_to_do() {
    let stage = Stage::<Server<Stock>>::new().await;
    for _ in 0..5 {
        departure(&stage).await;
        stage.fake.forget_apps();
    }

    let refusal = stage.authorize(&stage.fake.form_values()).await.unwrap_err();

    let ConnectError::Refused(words) = refusal else { panic!("{refusal:?}") };
    assert!(words.contains("too many") && words.contains("after 10 minutes"), "{words}");
    stage.clock.advance(TimeDelta::minutes(10));
    departure(&stage).await;
}

#[tokio::test]
async fn failed_registration_leaves_no_secret() {
    async fn left<K: Known>() -> usize {
        let (stage, _) = stage::<K>().await;
        for _ in 0..3 {
            departure(&stage).await;
        }
        stage.fake.grant_count()
    }
    assert_eq!(left::<Stock>().await, 1);
    assert_eq!(left::<Pleroma>().await, 1);
    assert_eq!(left::<Snac>().await, 1);
}

#[tokio::test]
async fn server_that_accepts_any_code_is_probed_once() {
    let (stage, _) = stage::<Snac>().await;
    let asked = client_id(&departure(&stage).await);
    let (departure_of_one, departure_of_other) = (departure(&stage).await, departure(&stage).await);

    assert_eq!(client_id(&departure_of_one), asked);
    assert_eq!(client_id(&departure_of_other), asked, "who is on the way there is not cut off");
}

#[tokio::test]
async fn removed_app_is_detected_by_page_or_token_endpoint() {
    let (stage, _) = stage::<Snac>().await;
    let before = client_id(&departure(&stage).await);
    let account = stage.connect().await;
    stage.connector().revoke(&account.credentials, stage.clock.now()).await.unwrap();

    let after = client_id(&departure(&stage).await);

    assert_ne!(after, before, "the app went with its token");
    stage.connect().await;
}

#[tokio::test]
async fn app_removed_during_consent_is_registered_again_with_an_error() {
    let stage = Stage::<Server<Stock>>::new().await;
    let callback = stage.callback_after(Decision::Allow).await;

    stage.fake.forget_apps();
    let Err(ConnectError::Refused(words)) = stage.complete(&callback).await else { panic!() };

    assert!(words.ends_with("connect the account once more"), "{words}");
    stage.connect().await;
}
