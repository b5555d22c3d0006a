//! Pages of a proxy or firewall in place of the site's answers.

use domain::delivery::AttemptError;
use domain::media::MimeType;
use http::Method;
use platforms::conformance::fake_platform::FakePlatform;
use platforms::conformance::samples::sample;

use super::harness;

/// Statuses that a firewall, a CDN or a web server sends without calling WordPress.
const STATUSES: [u16; 6] = [400, 401, 403, 404, 408, 413];

#[tokio::test]
async fn a_page_of_an_intermediary_ends_no_grant() {
    let (harness, account) = harness().await;
    for status in STATUSES {
        let block = |method, path| harness.fake.intermediary().block(method, path, status, 1);
        block(Method::GET, "/users/me");
        let about =
            harness.publisher().account_details(&account.profile, &account.credentials, harness.clock.now()).await;
        assert!(matches!(about, Err(AttemptError::RetryLater { .. })), "{status}: {about:?}");
        block(Method::GET, "/introspect");
        let revoked = harness.connector().revoke(&account.credentials, harness.clock.now()).await;
        assert!(matches!(revoked, Err(AttemptError::RetryLater { .. })), "{status}: {revoked:?}");
        assert_eq!(harness.fake.intermediary().left(), 0);
    }
}

#[tokio::test]
async fn a_page_of_an_intermediary_ends_no_post() {
    let (harness, account) = harness().await;
    let mut sent = 0;
    for status in STATUSES {
        for (method, path) in [
            (Method::GET, "/wp/v2/posts"),
            (Method::POST, "/wp/v2/posts"),
            (Method::GET, "/wp/v2/media"),
            (Method::POST, "/wp/v2/media"),
            // The publish call.
            (Method::POST, "/wp/v2/posts/"),
        ] {
            let mut post = harness.post(&account, &format!("{status} {method} {path}"), vec![sample(MimeType::Png, 1)]);
            if path.ends_with('/') {
                harness.prepare_all(&mut post, &mut Vec::new()).await.unwrap();
            }
            harness.fake.intermediary().block(method, path, status, 1);

            let passage = harness.deliver(&mut post).await;

            sent += 1;
            let errors = passage.unwrap_or_else(|it| panic!("{status} {path}: {it:?}")).errors;
            assert!(
                matches!(&errors[..], [AttemptError::RetryLater { .. } | AttemptError::Unknown { .. }]),
                "{status}: {errors:?}"
            );
            assert_eq!(
                (harness.fake.public_posts().len(), harness.fake.keeps()),
                (sent, (sent, sent)),
                "{status} {path}"
            );
        }
    }
}
