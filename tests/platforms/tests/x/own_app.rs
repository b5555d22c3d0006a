//! Accounts that are connected with an app of their owner's.

use std::sync::Arc;

use domain::delivery::AttemptError;
use egress::AddressPolicy;
use platforms::conformance::network::{Decision, Network};
use platforms::conformance::stage::{Stage, returning};
use platforms::{
    Account, AppUnavailable, AuthorizeStep, Connect, ConnectError, FieldValues, MemoryVault, RefreshError, Registry,
    Setup,
};
use secrecy::ExposeSecret;
use serde_json::json;

use super::X;

fn answers(id: &str, secret: &str) -> FieldValues {
    [("client_id", id), ("client_secret", secret)].map(|(name, value)| (name.to_owned(), value.into())).into()
}

async fn connected(stage: &Stage<X>, app: &FieldValues) -> Result<Account, ConnectError> {
    let (departure, callback) = stage.depart(app).await?;
    let AuthorizeStep::Redirect { url, memory: Some(_) } = departure else { panic!("{departure:?}") };
    let back = stage.network.send_back(&url, Decision::Allow).await;
    let account = stage.complete(&returning(callback, &back)).await?.remove(0);
    stage.keep(&account.credentials);
    Ok(account)
}

#[tokio::test]
async fn its_owners_app_does_all_that_the_operators_does() {
    let stage = Stage::<X>::new().await;
    let (id, secret) = stage.network.another_app();

    let account = connected(&stage, &answers(&format!(" {id} "), &secret)).await.unwrap();

    assert_eq!(stage.network.granted_to(), std::slice::from_ref(&id));
    stage.deliver(&mut stage.post(&account, "by my own app", Vec::new())).await.unwrap();
    let before = account.credentials.access_token.expose_secret().to_owned();
    let renewed = stage.renew().await.unwrap();
    assert_ne!(renewed.access_token.expose_secret(), before);
    assert_eq!(renewed.extra.unwrap().expose_secret(), account.credentials.extra.as_ref().unwrap().expose_secret());
    assert_eq!(stage.network.granted_to(), [id]);
    stage.disconnect(&account, &[]).await;
    assert_eq!(stage.network.grants(), 0);
}

#[tokio::test]
async fn its_posts_cost_the_operator_nothing() {
    let stage = Stage::<X>::new().await;
    let ours = stage.connect().await;
    let price = ours.rules.price.unwrap();
    assert_eq!(price.of("Hello").to_string(), "$0.015");
    assert_eq!(price.of("see example.com").to_string(), "$0.20");

    let (id, secret) = stage.network.another_app();
    let own = connected(&stage, &answers(&id, &secret)).await.unwrap();

    assert_eq!(own.rules.price, None);
    let about = async |it: &Account| {
        let about = stage.publishing().about(&it.profile, &it.credentials, stage.clock.now()).await;
        about.unwrap().unwrap().rules.price
    };
    assert_eq!((about(&ours).await, about(&own).await), (Some(price), None));
}

#[tokio::test]
async fn half_an_app_is_asked_for_again() {
    let stage = Stage::<X>::new().await;
    for (id, secret, field) in [
        ("abc", "", "client_secret"),
        ("", "abc", "client_id"),
        ("a b", "abc", "client_id"),
        ("abc", "ä", "client_secret"),
    ] {
        let refused = stage.depart(&answers(id, secret)).await.unwrap_err();
        assert!(matches!(&refused, ConnectError::Field { name, .. } if *name == field), "{refused:?}");
    }
}

#[tokio::test]
async fn wrong_secret_is_an_error_and_a_changed_one_needs_reconnection() {
    let stage = Stage::<X>::new().await;
    let (id, secret) = stage.network.another_app();
    let refused = connected(&stage, &answers(&id, "wrong")).await.unwrap_err();
    assert!(matches!(&refused, ConnectError::Refused(_)), "{refused:?}");

    connected(&stage, &answers(&id, &secret)).await.unwrap();
    stage.network.changes_secrets();

    let refused = stage.renew().await.unwrap_err();
    assert!(matches!(&refused, RefreshError::Gone(_)), "{refused:?}");
}

#[tokio::test]
async fn an_app_without_credits_is_its_owners_matter() {
    let stage = Stage::<X>::new().await;
    let (id, secret) = stage.network.another_app();
    let account = connected(&stage, &answers(&id, &secret)).await.unwrap();
    let post = stage.due(&account, "hello", Vec::new()).await;
    stage.network.refuses("/2/tweets", 402, json!({ "title": "CreditsDepleted", "detail": "It has no credits." }));

    let setback = stage.publish(&post).await.unwrap_err();

    let told =
        "X does not accept calls from your app; check its credits and settings at console.x.com (It has no credits.";
    let AttemptError::RetryLater { reason, .. } = &setback else { panic!("{setback:?}") };
    assert!(reason.starts_with(told), "{reason}");
}

#[tokio::test]
async fn without_an_app_of_the_operators_people_need_their_own() {
    let stage = Stage::<X>::new().await;
    let mut settings = stage.network.settings();
    settings["app"] = false.into();
    let settings = [("x".to_owned(), settings)].into();
    let policy = AddressPolicy::Also(stage.network.addresses());
    let setup = Setup::new(settings, |_| Arc::new(AppUnavailable), Arc::new(MemoryVault::default()), policy);
    let registry = Registry::<dyn Connect>::new(&setup).unwrap();

    let (alone, beside) = (registry.get("x").unwrap().fields(), stage.connecting().fields());

    assert!(alone.iter().all(|it| it.optional.is_none()) && beside.iter().all(|it| it.optional.is_some()));
    let here = stage.here();
    for told in [alone[0].label_at(&here), beside[0].hint_at(&here).unwrap()] {
        assert!(
            told.contains("console.x.com") && told.contains(&format!("Callback URI {}", here.redirect_uri)),
            "{told}"
        );
    }
}
