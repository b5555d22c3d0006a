//! Instagram and Threads read a quota before each post. The pages of intermediaries at all other calls of a post are in
//! the conformance suite.

use domain::delivery::AttemptError;
use domain::media::MimeType;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::FakePlatform;
use platforms::conformance::samples::sample;

/// `block` makes an intermediary answer the next call for the quota with a page of this status.
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
