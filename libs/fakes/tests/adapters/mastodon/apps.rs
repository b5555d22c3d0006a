//! The service registers itself once per server, and again if its app was removed.

use fakes::mastodon::{FlavorType, GoToSocial, OldMastodon, Pixelfed, Pleroma, Server, Snac, Stock};
use url::Url;

use crate::prelude::*;

async fn client_id<K: FlavorType>(harness: &AdapterHarness<Server<K>>) -> String {
    let (url, _) = page_for(harness, &harness.fake.form_values()).await;
    let url = Url::parse(&url).unwrap();
    url.query_pairs().find(|(name, _)| name == "client_id").unwrap().1.into_owned()
}

#[tokio::test]
async fn app_is_registered_once_per_server() {
    async fn registers_once<K: FlavorType>() {
        let harness = AdapterHarness::<Server<K>>::new().await;
        let first = client_id(&harness).await;
        assert_eq!(client_id(&harness).await, first);
        harness.connect().await;
        assert_eq!(client_id(&harness).await, first);
    }

    registers_once::<Stock>().await;
    registers_once::<OldMastodon>().await;
    registers_once::<GoToSocial>().await;
    registers_once::<Pleroma>().await;
    registers_once::<Pixelfed>().await;
}

#[tokio::test]
async fn removed_app_is_registered_again_before_the_redirect() {
    async fn is_registered_again<K: FlavorType>() {
        let (harness, _) = connected::<Server<K>>().await;
        let before = client_id(&harness).await;

        harness.fake.forget_apps();

        assert_ne!(client_id(&harness).await, before);
        harness.connect().await;
    }

    is_registered_again::<Stock>().await;
    is_registered_again::<OldMastodon>().await;
    is_registered_again::<Pleroma>().await;
}

#[tokio::test]
async fn registration_limit_error_says_what_to_do() {
    let harness = AdapterHarness::<Server<Stock>>::new().await;
    for _ in 0..5 {
        client_id(&harness).await;
        harness.fake.forget_apps();
    }

    let refusal = harness.authorize(&harness.fake.form_values()).await.unwrap_err();

    let words = refusal.to_string();
    assert!(words.contains("too many") && words.contains("after 10 minutes"), "{words}");
    harness.clock.advance(TimeDelta::minutes(10));
    client_id(&harness).await;
}

#[tokio::test]
async fn failed_registration_leaves_no_secret() {
    async fn left<K: FlavorType>() -> usize {
        let (harness, _) = connected::<Server<K>>().await;
        for _ in 0..3 {
            client_id(&harness).await;
        }
        harness.fake.grant_count()
    }
    assert_eq!(left::<Stock>().await, 1);
    assert_eq!(left::<Pleroma>().await, 1);
    assert_eq!(left::<Snac>().await, 1);
}

#[tokio::test]
async fn server_that_accepts_any_code_is_probed_once() {
    let (harness, _) = connected::<Server<Snac>>().await;
    let first = client_id(&harness).await;

    assert_eq!(client_id(&harness).await, first);
    assert_eq!(client_id(&harness).await, first, "another user on the way there keeps the app");
}

#[tokio::test]
async fn removed_app_is_detected_by_page_or_token_endpoint() {
    let (harness, _) = connected::<Server<Snac>>().await;
    let before = client_id(&harness).await;
    let account = harness.connect().await;
    harness.connector().revoke(&account.credentials, harness.clock.now()).await.unwrap();

    let after = client_id(&harness).await;

    assert_ne!(after, before, "the app went with its token");
    harness.connect().await;
}

#[tokio::test]
async fn app_removed_during_consent_is_registered_again_with_an_error() {
    let harness = AdapterHarness::<Server<Stock>>::new().await;
    let callback = harness.callback_after(Decision::Allow).await;

    harness.fake.forget_apps();
    let Err(ConnectError::Refused(words)) = harness.complete(&callback).await else { panic!() };

    assert!(words.ends_with("connect the account once more"), "{words}");
    harness.connect().await;
}
