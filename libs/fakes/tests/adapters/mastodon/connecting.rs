//! The result of a connect flow: an account, its rules and its credentials.

use fakes::mastodon::{Pleroma, Server, Stock};

use super::harness;
use crate::prelude::*;

#[tokio::test]
async fn promised_issuer_must_be_in_the_callback() {
    let harness = AdapterHarness::<Server<Stock>>::new().await;
    let issuer = format!("{}/", harness.fake.base_url());
    harness.fake.promise_issuer(&issuer);
    for said in [None, Some("https://evil.example/"), Some(harness.fake.base_url())] {
        let mut callback = harness.callback_after(Decision::Allow).await;
        assert_eq!(callback.query.remove("iss").as_ref(), Some(&issuer));
        callback.query.extend(said.map(|it| ("iss".to_owned(), it.to_owned())));
        let refusal = harness.complete(&callback).await.unwrap_err();
        assert!(matches!(refusal, ConnectError::Refused(_)), "{said:?}: {refusal:?}");
    }
    assert_eq!(harness.fake.grant_count(), 0);
    harness.connect().await;
}

#[tokio::test]
async fn unpromised_issuer_must_be_correct_too() {
    let harness = AdapterHarness::<Server<Stock>>::new().await;
    for (said, is_right) in [("https://evil.example", false), (harness.fake.base_url(), true)] {
        let mut callback = harness.callback_after(Decision::Allow).await;
        callback.query.insert("iss".to_owned(), said.to_owned());
        assert_eq!(harness.complete(&callback).await.is_ok(), is_right, "{said}");
    }
}

#[tokio::test]
async fn a_server_that_promises_another_name_than_its_own_is_refused() {
    let harness = AdapterHarness::<Server<Stock>>::new().await;
    harness.fake.promise_issuer("https://honest.example/");

    let Err(ConnectError::Field { message, .. }) = harness.authorize(&harness.fake.form_values()).await else {
        panic!("it may say whose answers are its own")
    };

    assert!(message.contains("another server"), "{message}");
}

/// Otherwise the suite refreshes nothing.
#[tokio::test]
async fn only_tokens_that_end_can_be_refreshed() {
    assert!(!harness::<Stock>().await.0.can_refresh());
    assert!(harness::<Pleroma>().await.0.can_refresh());
}
