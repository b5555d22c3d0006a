//! The end of application passwords, and what the log shows of a site.

use fakes::conformance::log::Log;
use fakes::wordpress::Wordpress;

use super::refuse;
use crate::prelude::*;

/// In WordPress 5.6, a password cannot be used to read its own id.
#[tokio::test]
async fn oldest_supported_version_deletes_the_right_password() {
    let (harness, first) = connected::<Wordpress>().await;
    let second = harness.connect().await;
    let names = harness.fake.passwords();
    refuse(&harness, (Method::GET, "/introspect"), (404, "rest_application_password_not_found"), 3);

    harness.connector().revoke(&first.credentials, harness.clock.now()).await.unwrap();
    assert_eq!(harness.fake.passwords(), [names[0].clone(), names[2].clone()]);
    harness.connector().revoke(&second.credentials, harness.clock.now()).await.unwrap();
    assert_eq!(harness.fake.passwords(), ["by hand"]);

    // The id of a password that the user created is unknown, so the adapter does not revoke it.
    let by_hand = harness.connect_directly().await.unwrap();
    assert_refused(harness.connector().revoke(&by_hand.credentials, harness.clock.now()).await, "dashboard");
    assert_eq!(harness.fake.passwords(), ["by hand"]);
}

#[tokio::test]
async fn error_page_of_an_intermediary_is_not_a_revocation() {
    let (harness, account) = connected::<Wordpress>().await;
    for status in [401, 403, 404] {
        harness.fake.faults().block(Method::GET, "/introspect", status, 1);
        let revoked = harness.connector().revoke(&account.credentials, harness.clock.now()).await;
        assert_matches!(&revoked, Err(AttemptError::RetryLater { .. }), "{status}");
    }
}

/// A site that a user names may repeat the request in its message. The log contains neither.
#[tokio::test]
async fn log_has_no_text_of_a_site() {
    let (log, _guard) = Log::capture();
    let (harness, account) = connected::<Wordpress>().await;
    refuse(&harness, (Method::DELETE, "/wp/v2/posts/"), (403, "rest_cannot_delete"), 1);
    harness.fake.inject_fault(Call::Upload, InjectedFault::Refused, 1);
    harness.deliver(&mut harness.post(&account, "refused", vec![sample(MimeType::Png, 1)])).await.unwrap_err();

    let harness = AdapterHarness::<Wordpress>::new().await;
    let callback = harness.callback_after(Decision::Allow).await;
    let me = json!({ "id": 2, "username": "keeper", "capabilities": [] });
    harness.fake.faults().respond_with(Method::GET, "/users/me", 200, me, 1);
    harness.fake.faults().block(Method::GET, "/application-passwords", 500, 1);
    harness.complete(&callback).await.unwrap_err();

    let lines = log.text();
    for what in ["a draft", "an application password"] {
        assert!(lines.contains(&format!("{what} could not be deleted")), "{lines}");
    }
    assert!(!lines.contains("not allowed to do that") && !lines.contains("Basic "), "{lines}");
}
