//! Accounts that are connected with the user's own app.

use std::sync::Arc;

use egress::AddressPolicy;
use platforms::{AppUnavailable, Connect, MemoryVault, Registry, Setup};
use secrecy::ExposeSecret;

use super::X;
use crate::prelude::*;

fn field_values(id: &str, secret: &str) -> FieldValues {
    [("client_id", id), ("client_secret", secret)].map(|(name, value)| (name.to_owned(), value.into())).into()
}

async fn connect_with(harness: &AdapterHarness<X>, app: &FieldValues) -> Result<Account, ConnectError> {
    let (step, callback) = harness.authorize(app).await?;
    let AuthorizeStep::Redirect { url, memory: Some(_) } = step else { panic!("{step:?}") };
    let back = harness.fake.redirect_url(&url, Decision::Allow).await;
    let account = harness.complete(&callback_at(callback, &back)).await?.remove(0);
    harness.store_credentials(&account.credentials);
    Ok(account)
}

#[tokio::test]
async fn own_app_publishes_refreshes_and_revokes() {
    let harness = AdapterHarness::<X>::new().await;
    let (id, secret) = harness.fake.register_other_app();

    let account = connect_with(&harness, &field_values(&format!(" {id} "), &secret)).await.unwrap();

    assert_eq!(harness.fake.granted_client_ids(), std::slice::from_ref(&id));
    harness.deliver(&mut harness.post(&account, "by my own app", Vec::new())).await.unwrap();
    let before = account.credentials.access_token.expose_secret().to_owned();
    let refreshed = harness.refresh().await.unwrap();
    assert_ne!(refreshed.access_token.expose_secret(), before);
    assert_eq!(refreshed.extra.unwrap().expose_secret(), account.credentials.extra.as_ref().unwrap().expose_secret());
    assert_eq!(harness.fake.granted_client_ids(), [id]);
    harness.disconnect(&account, &[]).await;
    assert_eq!(harness.fake.grant_count(), 0);
}

#[tokio::test]
async fn posts_by_own_app_are_not_billed_to_the_operator() {
    let harness = AdapterHarness::<X>::new().await;
    let ours = harness.connect().await;
    let price = ours.rules.price.unwrap();
    assert_eq!(price.for_text("Hello").to_string(), "$0.015");
    assert_eq!(price.for_text("see example.com").to_string(), "$0.20");

    let (id, secret) = harness.fake.register_other_app();
    let own = connect_with(&harness, &field_values(&id, &secret)).await.unwrap();

    assert_eq!(own.rules.price, None);
    let price_for = async |it: &Account| details(&harness, it).await.unwrap().unwrap().rules.price;
    assert_eq!((price_for(&ours).await, price_for(&own).await), (Some(price), None));
}

#[tokio::test]
async fn incomplete_own_app_is_requested_again() {
    let harness = AdapterHarness::<X>::new().await;
    for (id, secret, field) in [
        ("abc", "", "client_secret"),
        ("", "abc", "client_id"),
        ("a b", "abc", "client_id"),
        ("abc", "ä", "client_secret"),
    ] {
        assert_eq!(field_error(&harness, &field_values(id, secret)).await.0, field);
    }
}

#[tokio::test]
async fn wrong_secret_is_an_error_and_a_changed_one_needs_reconnection() {
    let harness = AdapterHarness::<X>::new().await;
    let (id, secret) = harness.fake.register_other_app();
    assert_matches!(connect_with(&harness, &field_values(&id, "wrong")).await, Err(ConnectError::Refused(_)));

    connect_with(&harness, &field_values(&id, &secret)).await.unwrap();
    harness.fake.change_secrets();

    assert_matches!(harness.refresh().await, Err(RefreshError::Gone(_)));
}

#[tokio::test]
async fn own_app_without_credits_is_reported_to_its_owner() {
    let harness = AdapterHarness::<X>::new().await;
    let (id, secret) = harness.fake.register_other_app();
    let account = connect_with(&harness, &field_values(&id, &secret)).await.unwrap();
    let post = harness.due(&account, "hello", Vec::new()).await;
    harness.fake.refuses("/2/tweets", 402, json!({ "title": "CreditsDepleted", "detail": "It has no credits." }));

    let error = harness.publish(&post).await.unwrap_err();

    let expected =
        "X does not accept calls from your app; check its credits and settings at console.x.com (It has no credits.";
    assert_matches!(&error, AttemptError::RetryLater { reason, .. } if reason.starts_with(expected));
}

#[tokio::test]
async fn own_app_is_required_without_operator_app() {
    let harness = AdapterHarness::<X>::new().await;
    let mut settings = harness.fake.settings();
    settings["app"] = false.into();
    let settings = [("x".to_owned(), settings)].into();
    let policy = AddressPolicy::Also(harness.fake.addresses());
    let setup = Setup::new(settings, |_| Arc::new(AppUnavailable), Arc::new(MemoryVault::default()), policy);
    let registry = Registry::<dyn Connect>::new(&setup).unwrap();

    let (alone, beside) = (registry.get("x").unwrap().fields(), harness.connector().fields());

    assert!(alone.iter().all(|it| it.optional.is_none()) && beside.iter().all(|it| it.optional.is_some()));
    let here = harness.callback_urls();
    for expected in [alone[0].label_for(&here), beside[0].hint_for(&here).unwrap()] {
        let callback = format!("Callback URI {}", here.redirect_uri);
        assert!(expected.contains("console.x.com") && expected.contains(&callback), "{expected}");
    }
}
