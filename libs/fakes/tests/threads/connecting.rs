//! Connecting, and tokens of 60 days.

use std::sync::Arc;

use domain::testing::noon;
use domain::token::{Pkce, random_token};
use egress::AddressPolicy;
use fakes::threads::{ID, USERNAME};
use platforms::conformance::fake_platform::{Call, FakePlatform};
use platforms::{
    AppCredentials, AppSource, AuthorizationRequest, AuthorizeStep, CallbackUrls, Connect, ConnectError, FieldValues,
    MemoryVault, PlatformSettings, Registry, Setup,
};
use secrecy::ExposeSecret;
use serde_json::json;

use super::harness;

#[tokio::test]
async fn a_profile_is_connected_with_a_token_of_60_days() {
    let (harness, account) = harness().await;

    let profile = &account.profile;
    assert_eq!((profile.account_id.as_str(), profile.username.as_deref()), (ID, Some(USERNAME)));
    assert_eq!(profile.display_name.as_deref(), Some("Ada Keeper"));
    assert_eq!(profile.profile_url, Some(format!("https://www.threads.com/@{USERNAME}")));
    assert!(profile.avatar.as_deref().is_some_and(|it| it.starts_with("https://")));
    assert_eq!(
        account.scopes.join(","),
        "threads_basic,threads_content_publish,threads_manage_replies,threads_read_replies"
    );
    let ends_at = account.credentials.expires_at.unwrap();
    assert_eq!(Some(ends_at.timestamp()), harness.fake.ends_at());
    assert_eq!((ends_at - harness.clock.now()).num_days(), 59, "some seconds less than 60 days");
    assert!(account.credentials.refresh_token.is_none());
}

#[tokio::test]
async fn what_is_asked_for_is_in_the_address_and_the_token_is_in_none_of_our_calls() {
    let (harness, account) = harness().await;
    let mut post = harness.post(&account, "hello", Vec::new());
    harness.deliver(&mut post).await.unwrap();

    let asked = harness.fake.request_log.all();
    let page = asked.iter().find(|it| it.request_line.starts_with("GET /oauth/authorize")).unwrap();
    assert!(page.request_line.contains("scope=threads_basic%2Cthreads_content_publish"), "{}", page.request_line);
    let token = account.credentials.access_token.expose_secret();
    assert!(asked.iter().filter(|it| it.request_line.contains("/v1.0/")).all(|it| !it.request_line.contains(token)));
    assert_eq!(harness.fake.call_count(Call::Exchange), 1);
}

/// Otherwise users would approve and then be redirected to an unreachable URL, and Threads could
/// fetch no file.
#[tokio::test]
async fn on_a_machine_that_nobody_reaches_the_real_threads_is_not_connected() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings = PlatformSettings::from([("threads".to_owned(), json!({}))]);
    let app = |_: &str| -> Arc<dyn AppSource> { Arc::new(AppCredentials::new("id", "secret")) };
    let setup = Setup::new(settings, app, Arc::new(MemoryVault::default()), AddressPolicy::PublicOnly);
    let registry = Registry::<dyn Connect>::new(&setup).unwrap();
    let depart = async |origin: &str| {
        let here = CallbackUrls::new(origin, "threads");
        let request = AuthorizationRequest { state: random_token(), urls: here, challenge: Pkce::random().challenge };
        registry.get("threads").unwrap().authorize(&FieldValues::new(), &request, noon()).await
    };

    let refused = depart("http://127.0.0.1:3000").await.unwrap_err();
    let ConnectError::Unsupported(words) = &refused else { panic!("{refused:?}") };
    for said in ["Threads", "http://127.0.0.1:3000", "--origin"] {
        assert!(words.contains(said), "{words}");
    }
    let departed = depart("https://social.example").await.unwrap();
    assert!(
        matches!(departed, AuthorizeStep::Redirect { url, .. } if url.starts_with("https://www.threads.com/oauth/authorize?"))
    );
}
