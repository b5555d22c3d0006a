//! Issuers, and servers whose accounts are named by another domain than the server's.

use domain::connection::AccountInfo;
use fakes::mastodon::{AccountDiscovery, FlavorType, GoToSocial, Pixelfed, Pleroma, Server, Stock, Website};
use url::Url;

use crate::prelude::*;

const WAYS: [AccountDiscovery; 4] = [
    AccountDiscovery::WebFinger,
    AccountDiscovery::HostMeta,
    AccountDiscovery::WebFingerFile,
    AccountDiscovery::HostMetaFile,
];

async fn with_website<K: FlavorType>() -> (AdapterHarness<Server<K>>, Website) {
    let website = Website::start().await;
    let harness = AdapterHarness::with_other_servers(&[website.address()]).await;
    (harness, website)
}

fn typed(input: impl Into<String>) -> FieldValues {
    FieldValues::from([("server".to_owned(), input.into().into())])
}

/// The URL that this input redirects to, or its error message.
async fn sent<K: FlavorType>(harness: &AdapterHarness<Server<K>>, input: String) -> Result<String, String> {
    match harness.authorize(&typed(input)).await {
        Ok((AuthorizeStep::Redirect { url, .. }, _)) => Ok(Url::parse(&url).unwrap().origin().ascii_serialization()),
        Err(ConnectError::Field { message, .. }) => Err(message),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn server_is_found_by_a_handle_or_its_domain() {
    async fn is_found<K: FlavorType>() {
        let (harness, website) = with_website::<K>().await;
        let here = harness.fake.base_url().to_owned();
        harness.fake.is_named(&website.address().to_string());
        for way in WAYS {
            website.leads_to(way, &here);
            for words in ["", "/", "/@keeper", "/@nobody"] {
                let words = format!("http://{}{words}", website.address());
                assert_eq!(sent(&harness, words.clone()).await, Ok(here.clone()), "{way:?} {words}");
            }
        }
    }

    is_found::<Stock>().await;
    is_found::<GoToSocial>().await;
    is_found::<Pixelfed>().await;
}

#[tokio::test]
async fn domain_redirects_to_no_private_address_and_in_no_circle() {
    let (harness, website) = with_website::<Stock>().await;
    let domain = format!("http://{}", website.address());
    for way in WAYS {
        for elsewhere in ["http://10.0.0.1", "http://127.0.0.1:9", "https://localhost", "ftp://x.example", "", &domain]
        {
            website.leads_to(way, elsewhere);
            let error = sent(&harness, domain.clone()).await.expect_err(elsewhere);
            assert!(error.contains("name of") || error.contains("Check its name"), "{way:?} {elsewhere}: {error}");
        }
    }
}

async fn profile<K: FlavorType>(harness: &AdapterHarness<Server<K>>) -> AccountInfo {
    harness.connect().await.profile
}

#[tokio::test]
async fn account_has_the_handle_of_its_domain() {
    async fn is_named<K: FlavorType>() {
        let (harness, website) = with_website::<K>().await;
        let (domain, here) = (website.address().to_string(), harness.fake.base_url().to_owned());
        let host = here.trim_start_matches("http://");
        harness.fake.is_named(&domain);

        for way in [AccountDiscovery::WebFinger, AccountDiscovery::WebFingerFile] {
            website.leads_to(way, &here);
            let profile = profile(&harness).await;
            assert_eq!(profile.username, Some(format!("keeper@{domain}")), "{way:?}");
            assert!(profile.account_id.starts_with(&format!("{host}/")), "{}", profile.account_id);
        }
    }

    is_named::<Stock>().await;
    is_named::<GoToSocial>().await;
    is_named::<Pixelfed>().await;
}

#[tokio::test]
async fn server_cannot_use_a_domain_that_does_not_confirm_it() {
    let (harness, website) = with_website::<Stock>().await;
    let here = harness.fake.base_url().to_owned();
    let own = Some(format!("keeper@{}", here.trim_start_matches("http://")));
    assert_eq!(profile(&harness).await.username, own);
    for claimed in [website.address().to_string(), "mastodon.invalid".to_owned(), "two words".to_owned()] {
        harness.fake.is_named(&claimed);
        assert_eq!(profile(&harness).await.username, own, "{claimed}");
    }
    harness.fake.is_named(&website.address().to_string());
    website.leads_to(AccountDiscovery::WebFingerFile, "http://other.example");
    assert_eq!(profile(&harness).await.username, own);
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
        assert_matches!(harness.complete(&callback).await, Err(ConnectError::Refused(_)), "{said:?}");
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
async fn server_with_another_issuer_is_refused() {
    let harness = AdapterHarness::<Server<Stock>>::new().await;
    harness.fake.promise_issuer("https://honest.example/");

    let (_, message) = field_error(&harness, &harness.fake.form_values()).await;

    assert!(message.contains("another server"), "{message}");
}

/// Otherwise the suite refreshes nothing.
#[tokio::test]
async fn only_expiring_tokens_can_be_refreshed() {
    assert!(!connected::<Server<Stock>>().await.0.can_refresh());
    assert!(connected::<Server<Pleroma>>().await.0.can_refresh());
}
