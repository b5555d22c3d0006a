//! Behavior specific to Threads.

mod containers;

use std::sync::Arc;

use domain::testing::noon;
use domain::token::{Pkce, random_token};
use domain::validation_errors::ValidationErrors;
use egress::AddressPolicy;
use fakes::meta::error::GraphError;
use fakes::threads::{ID, Threads, USERNAME};
use platforms::{
    AppCredentials, AppSource, AuthorizationRequest, CallbackUrls, Connect, MemoryVault, PlatformSettings, Registry,
    Setup,
};

use crate::prelude::*;

#[tokio::test]
async fn account_has_its_names_and_url() {
    let (_, account) = connected::<Threads>().await;

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

    assert_matches!(&step, Err(ConnectError::Unsupported(it)) if it.contains("--origin"));
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
        platforms::vocabulary().check_values("threads", &options(json!({ "topic_tag": topic })), "o", &mut errors);
        assert_eq!(errors.iter().count() == 0, is_accepted, "{topic}");
    }
}

/// A container that is not ready and one that is gone get equal responses.
#[tokio::test]
async fn container_reported_as_missing_is_published_later() {
    let (harness, account) = connected::<Threads>().await;
    let mut post = harness.due(&account, "hello", Vec::new()).await;
    let not_there = GraphError::new(24, "The requested resource does not exist").subcode(4_279_009);
    harness.fake.refuses("threads_publish", not_there);

    assert_matches!(harness.publish(&post).await, Err(AttemptError::RetryLater { .. }));
    harness.deliver(&mut post).await.unwrap();

    assert_eq!((harness.fake.public_posts().len(), harness.fake.containers()), (1, 1), "the same container");
}

#[tokio::test]
async fn lost_post_is_found_despite_trimmed_white_space() {
    let (harness, account) = connected::<Threads>().await;
    let mut post = harness.post(&account, "  in the middle \n", Vec::new());
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);

    let delivered = harness.deliver(&mut post).await.unwrap();

    assert_eq!(delivered.published.platform_post_id, harness.fake.public_posts()[0].id);
    assert!(delivered.published.url.is_some());
    assert_eq!(harness.fake.call_count(Call::Publish), 1);
}

#[tokio::test]
async fn equal_reply_of_another_profile_is_not_ours() {
    let (harness, account) = connected::<Threads>().await;
    let root = publish_text(&harness, &account, "one").await;
    let mut reply = harness.reply(&account, (&root, &root), "two", Vec::new());
    harness.fake.inject_fault(Call::Publish, InjectedFault::LoseResponse, 1);
    harness.fake.add_reply_of_visitor(&root.platform_post_id, "two");

    let found = harness.deliver(&mut reply).await.unwrap().published;

    assert_eq!(harness.fake.public_posts().last().unwrap().id, found.platform_post_id);
    assert_matches!(harness.resolve(&reply, harness.clock.now()).await, Resolution::Found(_));
}

#[tokio::test]
async fn app_without_permissions_for_replies_has_no_threads() {
    let scopes = json!(["threads_basic", "threads_content_publish"]);
    let settings = |fake: &Threads| json!({ "url": fake.base_url(), "scopes": scopes });
    let harness: AdapterHarness<Threads> = AdapterHarness::with_settings(settings).await;

    let account = harness.connect().await;

    assert_eq!((account.scopes.len(), account.rules.max_thread), (2, 0));
}
