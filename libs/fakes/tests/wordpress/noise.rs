//! Output of PHP and plugins around the responses of real sites.

use domain::delivery::AttemptError;
use domain::media::MimeType;
use fakes::wordpress::Wordpress;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::FakePlatform;
use platforms::conformance::samples::sample;

use super::{list, options};

/// Byte-order marks, PHP notices and comments of cache plugins surround every response. The site
/// is found although no page names its API.
#[tokio::test]
async fn output_of_php_and_plugins_around_json_is_ignored() {
    let harness = AdapterHarness::<Wordpress<true>>::new().await;
    harness.fake.make_noisy();

    let account = harness.connect().await;
    let mut post = harness.post(&account, "through the noise", vec![sample(MimeType::Png, 1)]);
    post.options = options([("tags", list(&["boats", "boats"]))]);
    harness.deliver(&mut post).await.unwrap();
    assert_eq!(harness.fake.public_posts().len(), 1);

    harness.fake.revoke();
    let mut post = harness.post(&account, "after the password was deleted", Vec::new());
    let lost = harness.deliver(&mut post).await.unwrap_err();
    assert!(matches!(lost, AttemptError::Unauthorized { .. }), "{lost:?}");
}
