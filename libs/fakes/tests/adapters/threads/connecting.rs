//! Accounts of Threads, and what an operator has to provide.

use std::sync::Arc;

use domain::testing::noon;
use domain::token::{Pkce, random_token};
use domain::validation_errors::ValidationErrors;
use egress::AddressPolicy;
use fakes::threads::{ID, USERNAME};
use platforms::{
    AppCredentials, AppSource, AuthorizationRequest, CallbackUrls, Connect, MemoryVault, PlatformSettings, Registry,
    Setup,
};

use super::harness;
use crate::prelude::*;

#[tokio::test]
async fn account_has_its_names_and_url() {
    let (_, account) = harness().await;

    let profile = &account.profile;
    assert_eq!((profile.account_id.as_str(), profile.username.as_deref()), (ID, Some(USERNAME)));
    assert_eq!(profile.display_name.as_deref(), Some("Ada Keeper"));
    assert_eq!(profile.profile_url, Some(format!("https://www.threads.com/@{USERNAME}")));
    assert!(profile.avatar.as_deref().is_some_and(|it| it.starts_with("https://")));
}

/// Otherwise users would approve and then be redirected to an unreachable URL, and Threads could
/// fetch no file.
#[tokio::test]
async fn real_threads_is_not_connected_from_a_local_deployment() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings = PlatformSettings::from([("threads".to_owned(), json!({}))]);
    let app = |_: &str| -> Arc<dyn AppSource> { Arc::new(AppCredentials::new("id", "secret")) };
    let setup = Setup::new(settings, app, Arc::new(MemoryVault::default()), AddressPolicy::PublicOnly);
    let registry = Registry::<dyn Connect>::new(&setup).unwrap();
    let urls = CallbackUrls::new("http://127.0.0.1:3000", "threads");
    let request = AuthorizationRequest { state: random_token(), urls, challenge: Pkce::random().challenge };

    let step = registry.get("threads").unwrap().authorize(&FieldValues::new(), &request, noon()).await;

    assert!(matches!(&step, Err(ConnectError::Unsupported(it)) if it.contains("--origin")), "{step:?}");
}

#[test]
fn topic_has_the_form_that_threads_accepts() {
    for (topic, is_accepted) in [
        ("Lighthouses at night", true),
        ("#Lighthouses", true),
        ("# ", false),
        ("a.b", false),
        ("a&b", false),
        (&"x".repeat(51), false),
    ] {
        let mut errors = ValidationErrors::new();
        platforms::vocabulary().check_values("threads", &options(&[("topic_tag", text(topic))]), "o", &mut errors);
        assert_eq!(errors.iter().count() == 0, is_accepted, "{topic}");
    }
}
