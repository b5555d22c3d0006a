//! What PHP and plugins print around the answers of real sites.

use domain::delivery::AttemptError;
use domain::media::MimeType;
use networks::wordpress::{SiteQuirk, Wordpress};
use platforms::conformance::network::Network;
use platforms::conformance::samples::sample;
use platforms::conformance::stage::Stage;

use super::{list, options};

/// Byte-order marks, notices of PHP and comments of cache plugins around every answer.
#[tokio::test]
async fn output_of_php_and_plugins_around_json_is_ignored() {
    let stage = Stage::<Wordpress<true>>::new().await;
    stage.fake.is_odd(SiteQuirk::PrintsAroundJson);
    stage.fake.is_odd(SiteQuirk::HidesItsApi);

    let account = stage.connect().await;
    let mut post = stage.post(&account, "through the noise", vec![sample(MimeType::Png, 1)]);
    post.options = options([("tags", list(&["boats", "boats"]))]);
    stage.deliver(&mut post).await.unwrap();
    assert_eq!(stage.fake.public_posts().len(), 1);

    stage.fake.revoke();
    let mut post = stage.post(&account, "after the password was deleted", Vec::new());
    let lost = stage.deliver(&mut post).await.unwrap_err();
    assert!(matches!(lost, AttemptError::Unauthorized { .. }), "{lost:?}");
}
