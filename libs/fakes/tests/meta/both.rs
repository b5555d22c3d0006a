//! What Instagram and Threads have in common.

use chrono::TimeDelta;
use domain::delivery::{AttemptError, Resolution};
use domain::media::MimeType;
use platforms::RefreshError;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::FakePlatform;
use platforms::conformance::samples::sample;

/// Both read a quota before each post. The pages of intermediaries at all other calls of a post are
/// in the conformance suite. `block` makes an intermediary answer the next call for the quota with a page of this status.
pub(crate) async fn page_delays_the_post<N: FakePlatform>(block: impl Fn(&N, u16)) {
    let harness = AdapterHarness::<N>::new().await;
    let account = harness.connect().await;
    for (sent, status) in (1..).zip([400, 401, 403, 404, 408, 413]) {
        let mut post = harness.post(&account, &format!("at {status}"), vec![sample(MimeType::Jpeg, 1)]);
        block(&harness.fake, status);

        let passage = harness.deliver(&mut post).await.unwrap();

        assert!(
            matches!(passage.errors.as_slice(), [AttemptError::RetryLater { .. }]),
            "{status}: {:?}",
            passage.errors
        );
        assert_eq!(harness.fake.public_posts().len(), sent);
    }
}

/// A token of today is not extended, and nothing is lost by the attempt.
pub(crate) async fn young_token_is_not_extended<N: FakePlatform>() {
    let harness = AdapterHarness::<N>::new().await;
    harness.connect().await;

    let refusal = harness.refresh().await.unwrap_err();
    assert!(matches!(&refusal, RefreshError::Unreachable(words) if words.contains("24 hours")), "{refusal:?}");
    harness.clock.advance(TimeDelta::days(1));
    let renewed = harness.refresh().await.unwrap();

    assert_eq!((renewed.expires_at.unwrap() - harness.clock.now()).num_days(), 59);
    let due_at = harness.publisher().refresh_policy().due_at(&renewed, harness.clock.now());
    assert!(harness.clock.now() + TimeDelta::days(1) <= due_at, "not before it is a day old");
}

/// Of two calls with one container, only the first publishes; the look-up finds its post.
pub(crate) async fn second_call_publishes_nothing<N: FakePlatform>() {
    let harness = AdapterHarness::<N>::new().await;
    let account = harness.connect().await;
    let post = harness.due(&account, "hello", vec![sample(MimeType::Jpeg, 1)]).await;
    let since = harness.clock.now();
    let published = harness.publish(&post).await.unwrap();

    let error = harness.publish(&post).await.unwrap_err();

    assert!(matches!(error, AttemptError::Unknown { may_still_run: false, .. }), "{error:?}");
    let found = harness.resolve(&post, since).await;
    assert!(matches!(&found, Resolution::Found(it) if *it == published), "{found:?}");
    assert_eq!(harness.fake.public_posts().len(), 1);
}
