//! The result of a connect flow: an account, its rules and its credentials.

use domain::media::AltText;
use domain::options::Options;
use fakes::mastodon::{FlavorType, GoToSocial, OldMastodon, Pixelfed, Pleroma, Server, Snac, Stock};
use platforms::ConnectError;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Decision, FakePlatform};

use super::{harness, picture};

#[tokio::test]
async fn the_longest_description_of_a_server_is_taken_by_it() {
    async fn is_taken<K: FlavorType>(longest: usize) {
        let (harness, account) = harness::<K>().await;
        for (characters, fits) in [(longest, true), (longest + 1, false)] {
            let Ok(words) = AltText::parse(&"é".repeat(characters)) else { continue };
            let mut files = picture();
            files[0].attachment.alt_text = Some(words);
            let errors = account.rules.breaches(Some("Look"), &[files[0].attachment.clone()], Options::NONE);
            assert_eq!(errors.is_empty(), fits, "{characters}: {errors:?}");
            let delivered = harness.deliver(&mut harness.post(&account, &format!("{characters}"), files)).await;
            assert_eq!(delivered.is_ok(), fits, "{characters}: {delivered:?}");
        }
    }

    is_taken::<Stock>(10_000).await;
    is_taken::<OldMastodon>(1500).await;
    is_taken::<GoToSocial>(1500).await;
    is_taken::<Pleroma>(5000).await;
    is_taken::<Pixelfed>(1000).await;
    is_taken::<Snac>(1500).await;
}

#[tokio::test]
async fn missing_scopes_default_to_the_requested_ones() {
    let (_, account) = harness::<Snac>().await;
    assert_eq!(account.scopes, ["read:accounts", "read:statuses", "write:statuses", "write:media"]);
    assert_eq!(account.rules.title, "snac");
}

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

#[tokio::test]
async fn tokens_that_end_are_renewed_and_others_are_not() {
    let (of_mastodon, of_pleroma) = (harness::<Stock>().await.0, harness::<Pleroma>().await.0);
    assert!(!of_mastodon.can_refresh());
    assert!(of_pleroma.can_refresh());

    of_pleroma.fake.end_access_tokens();
    let new = of_pleroma.refresh().await.unwrap();
    assert!(new.extra.is_some() && new.expires_at.is_some());
    of_pleroma.connector().revoke(&new, of_pleroma.clock.now()).await.unwrap();
    assert_eq!(of_pleroma.fake.grant_count(), 0);
}
